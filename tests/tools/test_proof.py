"""What it costs a program to prove which allocator served it: instructions, counted one by one by valgrind's callgrind.

Under a comparison and without one the same program on the same library may differ by what is done at start and exit, and by
that alone: as much in a program of ten times the length.
"""

import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from tool_under_test import ALLOCATING, LIBRARY, clean_environment, compare, contender, snug

CALLGRIND = ["valgrind", "--tool=callgrind"]
LENGTHS = (2_000, 20_000)  # beyond some MiB the heap asks the clock and the kernel what huge pages cost, which is never the same
# The clock decides when empty memory goes back: not within these runs.
SETTINGS = {"SNUG_CONF": "purge_after:86400000", "PYTHONHASHSEED": "0"}
AT_START_AND_EXIT = 120_000  # instructions: that of libsnug takes 2,000, and creating a file some of libc's
# By which two runs that do the same differ: addresses decide how far a table is searched, and the clock whether a huge page
# is asked for; on a busy machine 78,000 were seen. An armed peak adds 250,000 and 2,070,000.
APART = 120_000
GROWING = """b = bytearray()
for i in range({}): b += bytes(100)"""


def counted(folder):
    """The instructions of each run that has a file in the folder, in the order of the runs."""
    files = sorted(Path(folder).glob("out.*"), key=lambda file: file.stat().st_mtime_ns)
    return [int(re.search(r"^(?:summary|totals): (\d+)", file.read_text(errors="replace"), re.M)[1]) for file in files]


def under_callgrind(folder, program):
    return [*CALLGRIND, f"--callgrind-out-file={folder}/out.%p", *program]


def alone(program, further_settings=""):
    """On the library, without the tool."""
    with tempfile.TemporaryDirectory() as folder:
        environment = clean_environment(LD_PRELOAD=LIBRARY, **SETTINGS)
        environment["SNUG_CONF"] += further_settings.format(folder=folder)
        subprocess.run(under_callgrind(folder, program), env=environment, stdin=subprocess.DEVNULL,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
        return counted(folder)[0]


class ProofTest(unittest.TestCase):
    def extra(self, program):
        """What a comparison with itself adds: to snug, and to the other."""
        with tempfile.TemporaryDirectory() as folder:
            process, result = compare(f"other={LIBRARY}", "-n", "1", "--warmup", "0", "--", *under_callgrind(folder, program),
                                      **SETTINGS)
            self.assertEqual(process.returncode, 0, process.stderr + process.stdout)
            counts = counted(folder)
        places = [contender(result, name)["runs"][0]["position"] for name in ("snug", "other")]
        bare = alone(program)
        return [counts[place - 1] - bare for place in places]

    def test_a_comparison_adds_a_constant_and_the_same_to_all(self):
        for programs in ([[ALLOCATING, str(length)] for length in LENGTHS],
                         [[sys.executable, "-S", "-c", GROWING.format(length)] for length in LENGTHS]):
            extras = [self.extra(program) for program in programs]
            for extra in extras:
                self.assertLess(max(map(abs, extra)), AT_START_AND_EXIT, extras)
                self.assertLess(abs(extra[0] - extra[1]), APART, extras)
            self.assertLess(abs(extras[0][0] - extras[1][0]), APART, extras)

    def test_so_does_snug_measure(self):
        extras = []
        for length in LENGTHS:
            program = [ALLOCATING, str(length)]
            with tempfile.TemporaryDirectory() as folder:
                process = snug("measure", "--library", LIBRARY, "--", *under_callgrind(folder, program), **SETTINGS)
                self.assertEqual(process.returncode, 0, process.stderr)
                self.assertIn('"objection":""', process.stdout)
                extras.append(counted(folder)[0] - alone(program))
        self.assertLess(max(map(abs, extras)), AT_START_AND_EXIT, extras)
        self.assertLess(abs(extras[0] - extras[1]), APART, extras)

    def test_what_grows_with_the_program_is_seen(self):
        """The report of the peak does, which was once the proof."""
        extras = [alone(program, ",report:{folder}/report") - alone(program)
                  for program in ([ALLOCATING, str(length)] for length in LENGTHS)]
        self.assertGreater(min(extras), AT_START_AND_EXIT)
        self.assertGreater(extras[1] - extras[0], APART)


if __name__ == "__main__":
    if shutil.which("valgrind") is None:
        print("valgrind is not here: skipped", file=sys.stderr)
        sys.exit(77)
    unittest.main()
