"""snug record --stacks: each allocation's stack is the program's, and all else is as without."""

import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from recorded import SUBJECT, TOOL, Recorded, clean_environment, told

LIBRARY_TO_COPY = os.environ["RECORD_STORM_LIBRARY"]
MOST_FRAMES = 64


def with_stacks(*subject, **options):
    return Recorded(*subject, options=("--stacks",), **options)


def names_of(frames):
    """Of the subject's functions; of others nothing."""
    addresses = [hex(address) for module, address in frames if module == SUBJECT]
    if not addresses:
        return []
    answer = subprocess.run(["addr2line", "-f", "-e", SUBJECT, *addresses], stdout=subprocess.PIPE, text=True, check=True)
    return answer.stdout.splitlines()[::2]


def fields(message):
    """Of a message of protobuf: numbers, and bytes."""
    at, found = 0, []

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(message):
        key = varint()
        value = varint()
        if key & 7 == 2:
            value, at = message[at : at + value], at + value
        found.append((key >> 3, value))
    return found


def numbers(message):
    """Of a packed field."""
    values, value, shift = [], 0, 0
    for byte in message:
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            values.append(value)
            value = shift = 0
    return values


def untold(recorded):
    """What the allocator has counted in all processes beyond what is in the traces."""
    beyond = {}
    for counts, sign in ((recorded.counts.values(), 1), (map(told, recorded.traces()), -1)):
        for sums in counts:
            for kind, (calls, size) in sums.items():
                before = beyond.get(kind, (0, 0))
                beyond[kind] = (before[0] + sign * calls, before[1] + sign * size)
    return beyond


class StacksTest(unittest.TestCase):
    def assert_whole(self, recorded):
        self.assertIsNotNone(recorded.main, recorded.run.stderr)
        beyond = untold(recorded)
        self.assertEqual(set(beyond.values()), {(0, 0)}, beyond)
        for trace in recorded.traces():
            trace.check()
            trace.stacks()

    def test_who_called(self):
        recorded = with_stacks("stacks", "200")
        self.assert_whole(recorded)
        stacks = recorded.main.stacks()
        of_size = {event.size: event.stack for event in recorded.main.events if 6001 <= event.size <= 6007 and event.allocates()}
        self.assertEqual(len({event.stack for event in recorded.main.events if event.size == 6001}), 1)
        names = {size: names_of(stacks[stack]) for size, stack in of_size.items()}
        self.assertEqual(names[6001][:2], ["inner_allocation", "outer_allocation"])
        self.assertIn("main", names[6001])
        self.assertEqual(names[6002][0], "inner_allocation")
        self.assertNotIn("outer_allocation", names[6002])
        self.assertEqual(names[6003][:2], ["inner_allocation", "outer_allocation"])
        for size in (6004, 6006, 6007):
            self.assertNotIn("inner_allocation", names[size])
            self.assertIn("main", names[size])
        self.assertEqual(names[6005], ["inner_allocation"] + ["deep_allocation"] * (MOST_FRAMES - 1))
        [odd] = [event.alignment for event in recorded.main.events if event.size == 6006]
        self.assertEqual(odd, 48)

    def test_modules(self):
        recorded = with_stacks("stacks", "1")
        modules = {event.values[2]: event.values[1] for event in recorded.main.events if event.operation == "module"}
        notes = subprocess.run(["readelf", "-n", SUBJECT], stdout=subprocess.PIPE, text=True, check=True).stdout
        [build_id] = [line.split()[-1] for line in notes.splitlines() if "Build ID" in line] or [""]
        self.assertEqual(modules[SUBJECT].encode("latin-1").hex(), build_id)
        self.assertTrue(any("/libc.so" in path for path in modules), modules)
        self.assertFalse(any("snug_recorder" in path for path in modules), modules)

    def test_nothing_is_lost(self):
        self.assert_whole(with_stacks("family"))
        self.assert_whole(with_stacks("threads", "7", HANDS_ON="1"))
        self.assert_whole(with_stacks("churn", "60000"))
        self.assert_whole(with_stacks("short-threads", "50"))
        self.assert_whole(with_stacks("exec", "3"))

    def test_each_child_of_a_fork_tells_its_own(self):
        recorded = with_stacks("storm", "20")
        self.assertEqual(len(recorded.others), 20)
        self.assert_whole(recorded)
        recorded = with_stacks("stacks-in-child")
        for trace in (recorded.main, *recorded.others):
            stacks = trace.stacks()
            names = [names_of(stacks[event.stack])[:2] for event in trace.events if event.size == 6001]
            self.assertEqual(names, [["inner_allocation", "outer_allocation"]] * 3)
        self.assertEqual(len(recorded.others), 1)

    def test_under_the_dynamic_linkers_lock_too(self):
        recorded = with_stacks("stacks-in-listing")
        self.assert_whole(recorded)
        stack_of = {event.size: event.stack for event in recorded.main.events if event.size in (6008, 6009) and event.allocates()}
        names = {size: names_of(recorded.main.stacks()[stack]) for size, stack in stack_of.items()}
        self.assertEqual(names[6008][:2], ["inner_allocation", "outer_allocation"])
        self.assertEqual(names[6009][0], "inner_allocation")
        self.assertIn("main", names[6009])

    def test_code_that_comes_to_the_place_of_other_code(self):
        with tempfile.TemporaryDirectory() as folder:
            one, other = [str(shutil.copy(LIBRARY_TO_COPY, Path(folder, name))) for name in ("one.so", "other.so")]
            recorded = with_stacks("stacks-in-libraries", one, other, one)
        self.assert_whole(recorded)
        stacks = recorded.main.stacks()
        allocated = [stacks[event.stack][0] for event in recorded.main.events if event.size == 901 and event.allocates()]
        self.assertEqual([module for module, _ in allocated], [one, other, one])
        self.assertEqual(len({address for _, address in allocated}), 1)

    def test_a_program_that_is_killed(self):
        recorded = with_stacks("killed", "2000")
        self.assertEqual(recorded.run.returncode, -signal.SIGKILL)
        recorded.main.check()
        recorded.main.stacks()

    def test_not_unless_asked_for(self):
        recorded = Recorded("stacks", "1")
        self.assertEqual(recorded.main.count("frame", "module"), 0)


class ExportTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.file = str(Path(cls.folder.name, "job.trace"))
        subprocess.run([TOOL, "record", "--stacks", "-o", cls.file, "--", SUBJECT, "stacks", "10"], env=clean_environment(),
                       stderr=subprocess.DEVNULL, check=True)

    def trace(self, *arguments, text=True):
        return subprocess.run([TOOL, "trace", *arguments], env=clean_environment(), stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=text, check=True).stdout

    def lines(self, *arguments):
        lines = self.trace("export", self.file, "--to", "collapsed", *arguments).splitlines()
        return {line.rpartition(" ")[0]: int(line.rpartition(" ")[2]) for line in lines}

    def ending(self, functions, *arguments):
        """The sum of all stacks that end so."""
        return sum(value for stack, value in self.lines(*arguments).items() if stack.endswith(functions))

    def test_collapsed(self):
        whole = ";outer_allocation;inner_allocation"
        self.assertEqual(self.ending(whole), 3 * 6001 + 6003)
        self.assertEqual(self.ending(whole, "--weight", "blocks"), 4)
        self.assertEqual(self.ending(whole, "--weight", "live-blocks"), 0)
        self.assertTrue(any(";main;" in stack for stack in self.lines()))
        self.assertEqual(self.ending(";deep_allocation" * 11 + ";inner_allocation"), 6005)

    def test_pprof(self):
        profile = fields(self.trace("export", self.file, "--to", "pprof", text=False))
        texts = [value.decode() for field, value in profile if field == 6]
        self.assertEqual(texts[0], "")
        types = [texts[dict(fields(value))[1]] for field, value in profile if field == 1]
        self.assertEqual(types, ["alloc_objects", "alloc_space", "inuse_objects", "inuse_space"])
        functions = {row[1]: texts[row[2]] for row in (dict(fields(value)) for field, value in profile if field == 5)}
        locations = {}
        for row in (fields(value) for field, value in profile if field == 4):
            locations[dict(row)[1]] = [functions[dict(fields(line))[1]] for field, line in row if field == 4]
        modules = {texts[dict(fields(value))[5]] for field, value in profile if field == 3}
        self.assertIn(SUBJECT, modules)

        found = []
        for row in (dict(fields(value)) for field, value in profile if field == 2):
            names = [name for location in numbers(row.get(1, b"")) for name in locations[location]]
            found.append((names[:2], numbers(row[2])))
        values = [value for names, value in found if names == ["inner_allocation", "outer_allocation"]]
        self.assertEqual([sum(column) for column in zip(*values)], [4, 3 * 6001 + 6003, 0, 0])

    def test_info_counts_them(self):
        info = json.loads(self.trace("info", self.file, "--json"))
        self.assertGreater(info["stacks"]["frames"], 10)
        self.assertGreaterEqual(info["stacks"]["modules"], 2)
        self.assertGreaterEqual(info["stacks"]["allocations"], 8)
        self.assertIn("stacks ", self.trace("info", self.file))

    def test_head_shows_them(self):
        text = self.trace("head", self.file, "-n", "100000", "--stacks")
        self.assertRegex(text, rf"malloc size=6001 .*\n +at {Path(SUBJECT).name}\+0x[0-9a-f]+\n")
        self.assertNotIn("frame stack=", text)
        events = [json.loads(line) for line in self.trace("head", self.file, "-n", "100000", "--stacks", "--json").splitlines()]
        [frames] = {tuple(event["frames"]) for event in events if event.get("size") == 6003}
        self.assertRegex(frames[0], rf"^{Path(SUBJECT).name}\+0x[0-9a-f]+$")
        self.assertFalse([event for event in events if event["operation"] in ("frame", "module")])

    def test_names_come_only_of_the_build_that_was_recorded(self):
        """An anonymised trace has neither paths nor build-ids: whatever is called 2 here is none of its files."""
        gift = str(Path(self.folder.name, "gift.trace"))
        self.trace("anonymise", self.file, "-o", gift)
        for number in range(1, 10):
            shutil.copy(SUBJECT, Path(self.folder.name, str(number)))
        run = subprocess.run([TOOL, "trace", "export", gift, "--to", "collapsed"], env=clean_environment(),
                             cwd=self.folder.name, capture_output=True, text=True, check=True)
        [loses] = [line for line in run.stderr.splitlines() if ": its build-id is not known" not in line]
        self.assertIn(" loses: ", loses)
        self.assertIn("no names of '2': ", run.stderr)

    def test_a_signal_during_the_look_up_leaves_nothing(self):
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "bin").mkdir()
            Path(folder, "tmp").mkdir()
            program = Path(folder, "bin", "llvm-symbolizer")
            held = Path(folder, "held")  # the program waits at it, and ends with the test whatever happens
            os.mkfifo(held)
            program.write_text(f"#!/bin/sh\nexec <{held}\necho > {folder}/begun\nexec cat\n")
            program.chmod(0o755)
            variables = clean_environment(PATH=f"{folder}/bin:/usr/bin:/bin", TMPDIR=f"{folder}/tmp")
            with subprocess.Popen([TOOL, "trace", "export", self.file, "--to", "collapsed"], env=variables,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as tool, \
                    open(held, "r+b", buffering=0):
                while tool.poll() is None and not Path(folder, "begun").exists():
                    time.sleep(0.01)
                self.assertTrue(list(Path(folder, "tmp").iterdir()))
                tool.send_signal(signal.SIGTERM)
                self.assertEqual(tool.wait(), -signal.SIGTERM)
            self.assertEqual(list(Path(folder, "tmp").iterdir()), [])


if __name__ == "__main__":
    unittest.main()
