"""`snug inspect CORE ADDRESS...`, the same of a stopped process, and GDB's snug-inspect: as the process itself says it."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

from test_inspect import ADDRESSES, ask, process
from tool_under_test import LIBRARY, TOOL, clean_environment, snug

GDB = shutil.which("gdb")
SCRIPT = os.environ["GDB_SCRIPT"]
MAGIC = b"snug allocator\0\0"
# What only a process that runs and numbers its threads can say.
OF_RUNNING = ("age_ms", "threads", "cached_by", "allocated_by")


def gdb(*commands, of=(), **variables):
    words = [GDB, "-q", "-batch", "-nx", "-iex", "set debuginfod enabled off"]
    for command in commands:
        words += ["-ex", command]
    return subprocess.run([*words, *map(str, of)], env=clean_environment(SNUG_TOOL=TOOL, **variables), capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, check=False)


def dump(pid, path, *before):
    """GDB's core of a process."""
    done = gdb(*before, f"generate-core-file {path}", of=("-p", pid))
    assert path.exists(), done.stderr


def inspected(target, *addresses, status=0):
    asked = snug("inspect", "--json", str(target), *[hex(address) for address in addresses])
    assert asked.returncode == status, asked
    if status != 0:
        assert asked.stdout == "" and asked.stderr.count("\n") == 1, asked
        return asked.stderr
    return [json.loads(line) for line in asked.stdout.splitlines()]


def lasting(answers):
    return [{name: value for name, value in one.items() if name not in OF_RUNNING} for one in answers]


def stop(child):
    child.send_signal(signal.SIGSTOP)
    while any("State:\tT" not in status.read_text() for status in Path(f"/proc/{child.pid}/task").glob("*/status")):
        time.sleep(0.01)


class InspectCoreTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = Path(cls.temporary.name)
        cls.core = cls.folder / "plain.core"
        with process() as child:
            cls.at = child.at
            dump(child.pid, cls.core)

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def addresses(self, child):
        return [address + offset for places in child.at.values() for address, size in places if address > 1 << 20
                for offset in {0, max(size - 1, 0)}]

    def test_says_what_the_process_said(self):
        for conf in ("", "profile:8K", "check:on,quarantine:64M", "classes:dense"):
            with self.subTest(conf), process(conf) as child:
                core = self.folder / "core"
                places = self.addresses(child)
                said = ask(child, *places)
                dump(child.pid, core)
                told = inspected(core, *places)
                stack = child.at["stack"][0][0]
                for one in (*said, *told):
                    if int(one["address"], 16) == stack:
                        one["mapping"] = ""  # a core does not name it
                self.assertEqual(lasting(told), lasting(said))
                self.assertGreater(len({(one["what"], one.get("state"), one.get("in")) for one in told}), 5)
                stop(child)
                self.assertEqual(lasting(inspected(child.pid, *places))[0], lasting(said)[0])
                self.assertEqual([one["what"] for one in inspected(child.pid, *places)], [one["what"] for one in said])

    def test_of_a_stopped_process_that_does_not_publish(self):
        for words in ([], ["busy"]):
            child = subprocess.Popen([ADDRESSES, *words], env=clean_environment(LD_PRELOAD=LIBRARY), stdin=subprocess.PIPE,
                                     stdout=subprocess.PIPE, text=True)
            try:
                live = [line.split()[1] for line in iter(child.stdout.readline, "ready\n") if line.split()[0] in ("live", "busy")]
                stop(child)
                told = inspected(child.pid, *[int(address, 16) for address in live])
                self.assertEqual({(one["what"], one["state"]) for one in told}, {("block", "live")})
                text = snug("inspect", str(child.pid), live[0]).stdout
                self.assertRegex(text, r"^0x\w+: block of malloc: live; 320 bytes\n")
            finally:
                child.kill()
                child.communicate()

    def test_of_a_thread_that_ended_with_a_lock(self):
        with process("", "busy") as child:
            core = self.folder / "locked.core"
            # Under the span store's lock. Where it is inlined there is nothing to stop at.
            dump(child.pid, core, "python at = gdb.Breakpoint('snug::SpanStore::insert_freed'); at.pending or gdb.execute('continue')")
            told = inspected(core, *[address for address, _ in child.at["busy"] + child.at["run"]])
            self.assertEqual({(one["what"], one["state"], one["in"]) for one in told}, {("block", "live", "slab"), ("block", "live", "pages")})

    def test_of_the_archive_in_a_program_that_the_kernel_dumps(self):
        pattern = Path("/proc/sys/kernel/core_pattern").read_text(encoding="ascii").strip()
        if pattern != "core":
            self.skipTest(f"the kernel does not put cores into the folder, but to '{pattern}'")
        source = self.folder / "crash.c"
        source.write_text('#include <snug/snug.h>\n#include <stdio.h>\n#include <stdlib.h>\nint main(void) { void* block = '
                          'snug_malloc(1000); void* freed = snug_malloc(500000); snug_free(freed); printf("%p %p", block, freed);'
                          ' fflush(stdout); abort(); }\n', encoding="ascii")
        program = self.folder / "crash"
        library = Path(LIBRARY).parent / "libsnug.a"
        include = Path(SCRIPT).parents[2] / "include"
        subprocess.run(["cc", f"-I{include}", "-static", source, library, "-o", program], check=True)
        ran = subprocess.run(["sh", "-c", f"ulimit -c unlimited; exec {program}"], cwd=self.folder, env=clean_environment(),
                             stdout=subprocess.PIPE, text=True, check=False)
        cores = list(self.folder.glob("core*"))
        block, freed = [int(word, 16) for word in ran.stdout.split()]
        told = inspected(self.folder / "core" if (self.folder / "core").exists() else cores[0], block + 7, freed, 0x1000)
        self.assertEqual([(one["what"], one.get("state")) for one in told], [("block", "live"), ("free_memory", "kept"), ("none", None)])
        self.assertEqual(told[0]["start"], hex(block))

    def test_refuses_what_it_cannot_read(self):
        live = self.at["live"][0][0]
        content = self.core.read_bytes()
        part = self.folder / "part"
        for length in (0, 10, 100, 1000, 10000, len(content) // 2, len(content) * 9 // 10):
            part.write_bytes(content[:length])
            self.assertRegex(inspected(part, live, status=1), "is no core file|cut off")
        self.assertIn("is no core file", inspected(TOOL, live, status=1))
        self.assertIn("is no core file", inspected("/dev/null", live, status=1))
        self.assertIn("No such file", inspected(self.folder / "none", live, status=2))
        other = bytearray(content)
        other[18] ^= 1  # the machine
        part.write_bytes(other)
        self.assertIn("another kind of machine", inspected(part, live, status=1))

        place = content.index(MAGIC)
        while content[place + len(MAGIC):place + len(MAGIC) + 8] == bytes(8):
            place = content.index(MAGIC, place + 1)
        other = bytearray(content)
        other[place + 32] ^= 1  # the layout
        part.write_bytes(other)
        self.assertIn("its libsnug 0.1.0 is of another build than this tool", inspected(part, live, status=1))

        quiet = subprocess.Popen([sys.executable, "-c", "input()"], env=clean_environment(), stdin=subprocess.PIPE)
        dump(quiet.pid, self.folder / "quiet")
        quiet.communicate()
        self.assertIn("has no heap of snug's: the process ran on another allocator", inspected(self.folder / "quiet", live, status=1))

    def test_refuses_cores_without_the_memory(self):
        for bits, why in (("0x0", "has no data of the program and its libraries"), ("0x4", "has not all memory in it")):
            with process() as child:
                Path(f"/proc/{child.pid}/coredump_filter").write_text(bits, encoding="ascii")
                dump(child.pid, self.folder / bits)
                self.assertIn(why, inspected(self.folder / bits, child.at["live"][0][0], status=1))

    def test_damaged_records(self):
        """Whatever a core says, there is an answer or one line."""
        content = self.core.read_bytes()
        places = [address for name in ("live", "free", "run", "mapping", "heap_live", "heap_cached", "kept", "data") for address, _ in self.at[name]]
        written = [i for i in range(0, len(content), 4096) if content[i:i + 4096].count(0) not in (0, 4096)]
        chance = random.Random(5)
        part = self.folder / "damaged"
        part.write_bytes(content)
        outcomes = set()
        for each in range(40):
            with open(part, "r+b") as file:
                pages = chance.sample(written, min(len(written), 1 + each * 20))
                for page in pages:
                    for _ in range(chance.choice((1, 20))):
                        file.seek(min(page + (chance.randrange(4096) & ~7), len(content) - 1))
                        file.write(bytes([chance.randrange(256)]))
                file.flush()
                asked = snug("inspect", str(part), *map(hex, places))
                for page in pages:
                    file.seek(page)
                    file.write(content[page:page + 4096])
            self.assertIn(asked.returncode, (0, 1), asked)
            self.assertEqual(asked.stderr.count("\n"), asked.returncode, asked)
            outcomes.add(asked.returncode)
        self.assertEqual(outcomes, {0, 1})

    def test_of_one_with_its_addresses_where_ours_are(self):
        """Without randomization the program lies where the tool does."""
        asked = subprocess.run(["setarch", "-R", TOOL, "inspect", self.core, hex(self.at["live"][0][0])], capture_output=True, text=True,
                               check=False)
        self.assertIn("320 bytes", asked.stdout, asked)


class GdbTest(unittest.TestCase):
    def test_of_a_core_where_gdb_loads_it_with_the_library(self):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name).resolve()
            library = folder / Path(LIBRARY).resolve().name
            shutil.copy(LIBRARY, library)
            shutil.copy(SCRIPT, f"{library}-gdb.py")
            child = subprocess.Popen([ADDRESSES], env=clean_environment(LD_PRELOAD=str(library)), stdin=subprocess.PIPE,
                                     stdout=subprocess.PIPE, text=True)
            live = next(line.split()[1] for line in iter(child.stdout.readline, "ready\n") if line.startswith("live"))
            dump(child.pid, folder / "core")
            child.communicate()
            said = subprocess.run([GDB, "-q", "-batch", "-nx", "-iex", f"set auto-load safe-path {folder}", "-ex",
                                   f"snug-inspect {live}+8 '(char*){live} + 320'", ADDRESSES, folder / "core"],
                                  env=clean_environment(SNUG_TOOL=TOOL), capture_output=True, text=True, check=False)
            self.assertIn(f"{int(live, 16) + 8:#x}: byte 8 of a block of malloc: live; 320 bytes from {live} on\n", said.stdout, said)
            self.assertIn(f"{int(live, 16) + 320:#x}: block of malloc", said.stdout, said)

    def test_of_a_process_by_its_memory_and_where_that_is_refused_by_a_core(self):
        with tempfile.TemporaryDirectory() as name:
            refuses = Path(name) / "snug"
            refuses.write_text(f'#!/bin/sh\ncase $2 in *[!0-9]*) exec {TOOL} "$@";; esac\n'
                               'echo "snug: process $2: it is stopped, and its memory cannot be read: Permission denied" >&2\nexit 1\n',
                               encoding="ascii")
            refuses.chmod(0o755)
            for tool in (TOOL, str(refuses)):
                with process() as child:
                    live = child.at["live"][0][0]
                    said = gdb(f"source {SCRIPT}", f"snug-inspect {live}", "snug-inspect", "snug-inspect nothing", of=("-p", child.pid))
                    if tool != TOOL:
                        said = subprocess.run([GDB, "-q", "-batch", "-nx", "-ex", f"source {SCRIPT}", "-ex", f"snug-inspect {live}", "-p",
                                               str(child.pid)], env=clean_environment(SNUG_TOOL=tool), capture_output=True, text=True,
                                              check=False)
                    else:
                        self.assertIn("snug-inspect: name an address", said.stderr)
                        self.assertIn('No symbol "nothing" in current context.', said.stderr)
                    self.assertIn(f"{live:#x}: block of malloc: live; 320 bytes\n", said.stdout, said)

    def test_without_a_process(self):
        said = gdb(f"source {SCRIPT}", "snug-inspect 1")
        self.assertIn("snug-inspect: there is no process, and no core file", said.stderr)


if __name__ == "__main__":
    if GDB is None:
        print("skipped: there is no gdb (apt-get install gdb)")
        sys.exit(77)
    unittest.main()
