"""The probes of libsnug.so: readelf lists them as docs/probes.md does; GDB stops at them with the arguments that are so."""

import os
import re
import shutil
import subprocess
import unittest
from pathlib import Path

from tool_under_test import LIBRARY, clean_environment

PROBED = os.environ["PROBED"]
GDB = shutil.which("gdb")
PAGE = Path(__file__).resolve().parents[2] / "docs" / "probes.md"


def probes():
    """How many arguments each has, by name; one that stands in several places has as many everywhere."""
    notes = subprocess.run(["readelf", "-nW", LIBRARY], capture_output=True, text=True, check=True).stdout
    found = {}
    for provider, name, base, arguments in re.findall(
            r"Provider: (\S+)\n\s*Name: (\S+)\n\s*Location: \S+ Base: (\S+) Semaphore: 0x0+\n\s*Arguments: (.*)", notes):
        assert provider == "snug" and int(base.rstrip(","), 16) != 0, notes
        words = arguments.split()
        assert all(re.fullmatch(r"8@(%\w+|\$?-?\d+|x\d+)", word) for word in words), arguments
        assert found.setdefault(name, len(words)) == len(words)
    return found


@unittest.skipIf(GDB is None and "CI" not in os.environ, "there is no gdb (apt-get install gdb)")
class GdbProbesTest(unittest.TestCase):
    def setUp(self):
        self.assertIsNotNone(GDB, "there is no gdb (apt-get install gdb)")

    def stop(self, *commands):
        words = [GDB, "-q", "-batch", "-nx", "-iex", "set debuginfod enabled off", "-ex", f"set environment LD_PRELOAD {LIBRARY}",
                 "-ex", "set startup-with-shell off", "-ex", "break main", "-ex", "run"]
        for command in commands:
            words += ["-ex", command]
        return subprocess.run([*words, PROBED], env=clean_environment(), capture_output=True, text=True, stdin=subprocess.DEVNULL,
                              check=False).stdout

    def test_sees_them(self):
        said = self.stop("info probes stap snug")
        self.assertEqual(set(re.findall(r"^stap +snug +(\w+) ", said, re.M)), set(probes()), said)

    def test_stops_with_the_arguments(self):
        said = self.stop("break -probe-stap snug:refill if $_probe_arg0 == 2048", "continue", "print $_probe_argc", "print $_probe_arg0",
                         "print $_probe_arg1 > 0 && $_probe_arg1 < 4000")
        self.assertRegex(said, r"\$1 = 3\n\$2 = 2048\n\$3 = true\n")
        said = self.stop("break -probe-stap snug:large_allocated", "continue", "print $_probe_arg1", "print/x $_probe_arg0",
                         "break -probe-stap snug:large_freed", "continue", "print/x $_probe_arg0")
        size, allocated, freed = re.findall(r"^\$\d = (\S+)$", said, re.M)
        self.assertEqual(size, "3000000")
        self.assertEqual(freed, allocated)
        self.assertEqual(re.search(r"^large (\S+)$", said, re.M)[1], allocated)
        said = self.stop("break -probe-stap snug:flush if $_probe_arg0 == 2048", "continue", "print $_probe_arg1 > 1",
                         "break -probe-stap snug:chunk_taken", "delete 2", "info breakpoints")
        self.assertIn("$1 = true\n", said)
        self.assertIn("-probe-stap snug:chunk_taken", said)

    def test_chunks(self):
        said = self.stop("break -probe-stap snug:chunk_taken", "continue", "print $_probe_arg1", "print/x $_probe_arg0 % 0x200000")
        self.assertRegex(said, r"\$1 = 2097152\n\$2 = 0x0\n")


class ProbesTest(unittest.TestCase):
    def test_the_page_has_each_with_its_arguments(self):
        rows = re.findall(r"^\| `(\w+)` \| ([^|]+) \|", PAGE.read_text(encoding="utf-8"), re.M)
        self.assertEqual({name: arguments.count(",") + 1 for name, arguments in rows}, probes())


if __name__ == "__main__":
    unittest.main()
