"""Where traces come from, and what replays them: scripts/record_programs, s2_traces and s2_drift."""

import gzip
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

SOURCE, BUILD = Path(os.environ["SNUG_SOURCE"]), Path(os.environ["SNUG_BUILD"])
SCRIPT = SOURCE / "scripts" / "record_programs"
TRACES, DRIFT = (BUILD / "bin" / "seeds" / name for name in ("s2_traces", "s2_drift"))
SNUG = BUILD / "bin" / "snug"
HAS_REPLAY = TRACES.exists()

# As on a busy machine: the recorder runs before the script that has started it knows.
SLOW_START = '''
import subprocess, time

usual = subprocess.Popen._execute_child

def slow(self, *given, **named):
    usual(self, *given, **named)
    time.sleep(0.5)

subprocess.Popen._execute_child = slow
'''


def run(*command, **environment):
    return subprocess.run([str(word) for word in command], env={**os.environ, **environment}, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, check=False)


def figures(process):
    return {row["name"]: row["value"] for row in json.loads(process.stdout.splitlines()[-1])["results"]}


class InFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def trace_of(self, text, name="a.trace"):
        path = self.folder / name
        path.write_text(text)
        return path

    def expect_refused(self, process, status, said):
        self.assertEqual((process.returncode, process.stdout, process.stderr.count("\n")), (status, "", 1), process.stderr)
        self.assertRegex(process.stderr, said)


class ScriptTest(InFolder):
    def make(self, *words, **environment):
        return run(SCRIPT, "--build", BUILD, "--out", self.folder / "new", *words, **environment)

    def info(self, name):
        trace = self.folder / "new" / f"{name}.trace"
        self.assertEqual(run(SNUG, "trace", "check", trace).returncode, 0)
        return json.loads(run(SNUG, "trace", "info", "--json", trace).stdout)

    def program(self, name):
        return next(fact["value"] for fact in self.info(name)["facts"] if fact["key"] == "program")

    def test_programs_are_recorded(self):
        here = {name: program for name, program in (("emacs", "emacs"), ("sqlite", "sqlite3"), ("git", "git"), ("perl", "perl"))
                if shutil.which(program)}
        process = self.make("--small", *here)
        self.assertEqual((process.returncode, process.stderr), (0, ""))
        self.assertEqual(process.stdout.count("\n"), len(here))
        self.assertEqual({file.name for file in (self.folder / "new").iterdir()}, {f"{name}.small.trace" for name in here})
        for name, program in here.items():
            self.assertIn(program, self.program(f"{name}.small"))
            self.assertGreater(self.info(f"{name}.small")["events"], 1000)
        if "git" in here:
            self.assertGreater(self.info("git.small")["threads"], 1)

    def test_of_many_processes_the_named_one_is_kept(self):
        process = self.make("--small", "gcc")
        self.assertEqual((process.returncode, process.stderr), (0, ""))
        self.assertRegex(self.program("gcc.small"), "/cc1plus$")

    def test_what_is_there_is_made_again_only_if_that_is_wanted(self):
        trace = self.folder / "new" / "hummingbird.small.trace"
        self.assertEqual(self.make("--small", "hummingbird").returncode, 0)
        self.assertTrue(200000 <= self.info("hummingbird.small")["events"] < 200100)
        trace.write_text("mine")
        self.assertRegex(self.make("--small", "hummingbird").stdout, r"hummingbird\.small\.trace: there already\n$")
        self.assertEqual(trace.read_text(), "mine")
        self.assertEqual(self.make("--small", "--again", "hummingbird").returncode, 0)
        self.info("hummingbird.small")

    def test_a_small_trace_is_not_taken_for_the_whole(self):
        self.assertEqual(self.make("--small", "hummingbird").returncode, 0)
        whole = self.folder / "new" / "hummingbird.trace"
        self.assertFalse(whole.exists())
        whole.write_text("mine")
        self.assertRegex(self.make("hummingbird").stdout, r"hummingbird\.trace: there already\n$")

    def test_what_is_not_installed_is_told_and_passed_over(self):
        python = self.folder / "bin"
        python.mkdir()
        (python / "python3").symlink_to(sys.executable)
        process = self.make("sqlite", "emacs", "hummingbird", "--small", PATH=str(python))
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertEqual(process.stderr.splitlines(), [
            "traces: sqlite is passed over: sqlite3 is not installed (scripts/setup traces)",
            "traces: emacs is passed over: emacs is not installed (scripts/setup traces)"])
        self.assertEqual([file.name for file in (self.folder / "new").iterdir()], ["hummingbird.small.trace"])

    def test_nonsense_and_a_build_without_the_tool(self):
        process = self.make("eagle")
        self.assertEqual((process.returncode, process.stdout), (2, ""))
        self.assertRegex(process.stderr, "unknown name 'eagle'; there are emacs, redis, ")
        self.expect_refused(run(SCRIPT, "--build", self.folder), 1, "^traces: no .*/bin/snug: build first")

    def test_a_program_that_fails_is_told(self):
        folder = self.folder / "bin"
        folder.mkdir()
        (folder / "sqlite3").write_text("#!/bin/sh\n/bin/ls / >/dev/null\necho broken >&2\nexit 3\n")
        (folder / "sqlite3").chmod(0o755)
        process = self.make("sqlite", PATH=f"{folder}:{os.environ['PATH']}")
        self.expect_refused(process, 1, r"^traces: sqlite: ended with 3: broken\n$")

    def test_a_recorder_that_is_stopped_tidies_up(self):
        folder = self.folder / "bin"
        folder.mkdir()
        (folder / "sitecustomize.py").write_text(SLOW_START)
        session = self.folder / "session"
        held = self.folder / "held"  # the program waits at it, and ends with the test whatever happens
        os.mkfifo(held)
        (folder / "sqlite3").write_text(f"#!/bin/sh\nexec <{held}\necho $SNUG_RECORD >{session}\nexec cat\n")
        (folder / "sqlite3").chmod(0o755)
        with subprocess.Popen([SCRIPT, "--build", BUILD, "--out", self.folder / "new", "sqlite"],
                              env=os.environ | {"PATH": f"{folder}:{os.environ['PATH']}", "PYTHONPATH": str(folder)},
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as script, open(held, "r+b", buffering=0):
            while script.poll() is None and not (session.exists() and session.read_text()):
                time.sleep(0.01)
            memory = Path(session.read_text().strip().split(":")[-1])
            self.assertTrue(memory.is_dir(), memory)
            script.send_signal(signal.SIGTERM)
            self.assertEqual(script.wait(), 128 + signal.SIGTERM)
        self.assertFalse(memory.exists(), memory)


@unittest.skipUnless(HAS_REPLAY, "this build has no s2_traces: x86-64 alone")
class ReplayTest(InFolder):
    TEXT = "# a comment\na\t1\t100\n\na\t2\t40000\nr\t1\t3\t200\nf\t2\na\t2\t0\n"

    def test_a_corrupt_trace_is_refused_with_its_line(self):
        for text, said in (("a\t1\t10\nf\t2\n", r":2: key 2 names no live block"), ("a\t1\t10\na\t1\t10\n", ":2: key 1 names a live"),
                           ("a\t1\t10\nb\t1\n", ":2: 'b' is no event"), ("a\tx\t10\n", ":1: 'x' is no hexadecimal key"),
                           ("a\t1\t-1\n", ":1: '-1' is no size"), ("a\t1\t10\nf\t1", ":2: the line has no end"),
                           ("a\t1\t5000000000\n", ":1: a block of 5000000000 bytes cannot be replayed"), ("", "allocates nothing"),
                           ("f\n", ":1: 1 field ")):
            with self.subTest(text):
                self.expect_refused(run(TRACES, self.trace_of(text)), 2, f"^s2_traces: .*{said}")
        self.expect_refused(run(TRACES, self.trace_of("no gzip", "a.trace.gz")), 2, "gzip cannot unpack it")
        self.expect_refused(run(TRACES, self.folder / "none"), 2, "^s2_traces: cannot read .*: No such file or directory\n$")

    def test_nonsense_is_refused(self):
        trace = self.trace_of(self.TEXT)
        for words in ([], ["--nosuch", trace], [trace, "--rounds"], ["--rounds", "0", trace], ["--scale", "2", trace],
                      ["--pool", "TLSF", trace]):
            self.expect_refused(run(TRACES, *words), 2, "^s2_traces: ")
        self.assertTrue(run(TRACES, "--help").stdout.startswith("usage: s2_traces "))

    def test_figures_of_every_heap(self):
        trace = self.trace_of(self.TEXT)
        packed = self.folder / "a.trace.gz"
        packed.write_bytes(gzip.compress(self.TEXT.encode()))
        for path in (trace, packed):
            found = figures(run(TRACES, "--rounds", "1", path))
            heaps = {name.rpartition("/")[0] for name in found}
            self.assertEqual(len(heaps), 20)
            for heap in heaps:
                self.assertEqual(len([name for name in found if name.rpartition("/")[0] == heap]), 19)
                # The peak of a heap that compacts is the first of two, before or after 100 bytes became 200.
                self.assertIn(found[f"{heap}/requested"], (40100, 40200))
                self.assertEqual(found[f"{heap}/requested_at_end"], 200)
            self.assertGreaterEqual(found["a/TLSF/16/peak"], 40200)
        only = figures(run(TRACES, "--rounds", "1", "--only", "a/cells/peak,*/TLSF/8/end", "--pool", "TLSF/8=1M", trace))
        self.assertEqual(only, {"a/cells/peak": 65536, "a/TLSF/8/end": 1 << 20})
        process = run(TRACES, "--only", "*/TLSF/8/end", "--pool", "TLSF/8=64K", self.trace_of("a\t1\t100000\n"))
        self.expect_refused(process, 1, "out of memory in step 1, a block of 100000 bytes")

    def test_damage_is_found(self):
        lines = [f"a\t{key:x}\t{key % 2000 + 8}\n" for key in range(3000)] + [f"f\t{key:x}\n" for key in range(2500)]
        trace = self.trace_of("".join(lines))
        process = run(TRACES, "--verify", trace)
        self.assertEqual((process.returncode, process.stderr), (0, ""))
        self.assertEqual(process.stdout.count(" bytes compared\n"), 20)
        # Blocks that the reading of the trace has none of.
        trace = self.trace_of("".join(f"a\t{key:x}\t100001\n" for key in range(400)) + "f\t1\n")
        damaged = run(TRACES, "--verify", "--only", "*/malloc/*", trace, LD_PRELOAD=os.environ["DAMAGING_LIBRARY"],
                      DAMAGED_FROM="100001")
        self.expect_refused(damaged, 1, r"^s2_traces: the block of \d+ bytes allocated in step \d+ was damaged when ")


@unittest.skipUnless(HAS_REPLAY, "this build has no s2_traces: x86-64 alone")
class DriftTest(InFolder):
    def test_the_store_grows_its_objects_and_keeps_its_bytes(self):
        for heap in ("compact", "malloc"):
            for order in ("sweep", "chance"):
                with self.subTest(heap=heap, order=order):
                    process = run(DRIFT, "--heap", heap, "--order", order, "--bytes", "4M", "--points", "10")
                    self.assertEqual((process.returncode, process.stderr), (0, ""))
                    told = json.loads(process.stdout.splitlines()[-1])
                    self.assertEqual(len(told["series"]), 11)
                    self.assertTrue(all(4 << 20 <= requested < 4.1 * (1 << 20) for _, requested, *_ in told["series"]))
                    means = [float(row.split()[1]) for row in process.stdout.splitlines()[1:-1]]
                    self.assertTrue(240 < means[0] < 272 and 1200 < means[-1] < 2300, means)
                    self.assertGreater(figures(process)["ratio"], 0.9)

    def test_damage_and_nonsense(self):
        damaged = run(DRIFT, "--heap", "malloc", "--bytes", "4M", LD_PRELOAD=os.environ["DAMAGING_LIBRARY"])
        self.expect_refused(damaged, 1, r"^s2_drift: an object of \d+ bytes was damaged")
        for words in (["--heap", "x"], ["--order", "x"], ["--bytes", "1"], ["--bytes"], ["--nosuch", "1"]):
            self.expect_refused(run(DRIFT, *words), 2, "^s2_drift: ")


if __name__ == "__main__":
    unittest.main()
