"""snug run --report: the program's end, its signals, and snug's statistics behind it."""

import json
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest

from tool_under_test import ALLOCATING, LIBRARY, SHELL, TOOL, clean_environment, run_on_snug

# Says when it is ready, ends with status 5 on SIGTERM, and counts SIGUSR1. A handler must not print: the signal may come
# before the print that said 'ready' has returned, and Python refuses the second one.
LISTENER = """
import os, signal, sys
def hear(number, frame):
    if number == signal.SIGTERM: sys.exit(5)
    os.write(1, b'heard %d\\n' % number)
signal.signal(signal.SIGTERM, hear); signal.signal(signal.SIGUSR1, hear)
os.write(1, b'ready\\n')
while True: signal.pause()
"""


class ReportTest(unittest.TestCase):
    def listener(self, code):
        command = [TOOL, "run", "--library", LIBRARY, "--report", "--", sys.executable, "-c", code]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                env=clean_environment())

    def test_prints_the_statistics_of_each_process(self):
        process = run_on_snug("--report", "--", SHELL, "-c", f"{ALLOCATING} 1000; {ALLOCATING} 2000; exit 3")
        self.assertEqual((process.returncode, process.stdout), (3, "1000\n2000\n"))
        lines = [line for line in process.stderr.splitlines() if line.startswith("snug_tools_allocating")]
        self.assertEqual(len(lines), 2, process.stderr)
        served = [int(line.split()[2].replace(",", "")) for line in lines]
        self.assertTrue(1000 < served[1] < 2000 < served[0], served)
        total = next(line for line in process.stderr.splitlines() if line.startswith("all "))
        self.assertGreaterEqual(int(total.split()[2].replace(",", "")), sum(served))

    def report(self, *options_and_command):
        """The lines of the report, and its JSON."""
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "report.json")
            process = run_on_snug("--report", f"--json={path}", *options_and_command)
            return process.stderr.splitlines(), json.loads(path.read_text())

    def test_what_allocated_most_comes_first_and_what_did_next_to_nothing_shares_a_row(self):
        script = f"for i in 1 2 3 4 5 6; do {ALLOCATING} 1; done; {ALLOCATING} 50000; {ALLOCATING} 20000; {ALLOCATING} 2; :"
        program = pathlib.Path(ALLOCATING).name
        lines, processes = self.report("--", SHELL, "-c", script)
        counts = [process["allocations"] for process in processes]
        self.assertEqual((len(counts), counts), (9, sorted(counts, reverse=True)))
        rows = lines[1:lines.index("small: what allocated next to nothing; --all has a row for each")]
        self.assertEqual([row.split("  ")[0] for row in rows], [program, program, f"7 small: {program}", "all 9"])
        self.assertRegex(rows[2], rf"^7 small: {program} +{sum(counts[2:]):,} ")
        self.assertIn(f"snug: {program}, process {processes[0]['pid']}, allocated most: {100 * counts[0] / sum(counts):.0f}% of all",
                      "\n".join(lines))
        lines, _ = self.report("--all", "--", SHELL, "-c", script)
        self.assertEqual(sum(line.startswith(program) for line in lines), 9)
        self.assertFalse([line for line in lines if "small" in line])

    def test_a_few_small_processes_have_rows_of_their_own(self):
        lines, _ = self.report("--", SHELL, "-c", f"{ALLOCATING} 1; {ALLOCATING} 50000; {ALLOCATING} 2; {ALLOCATING} 3; :")
        self.assertEqual(sum(line.startswith(pathlib.Path(ALLOCATING).name) for line in lines), 4)

    def test_one_that_took_much_memory_comes_before_one_with_more_blocks(self):
        code = "import ctypes as c; m = c.CDLL(None); m.malloc.restype = c.c_void_p; c.memset(m.malloc(64 << 20), 1, 64 << 20)"
        lines, processes = self.report("--", SHELL, "-c", f"{sys.executable} -S -c '{code}'; {ALLOCATING} 2500; :")
        self.assertLess(processes[0]["allocations"], processes[1]["allocations"])
        self.assertTrue(lines[1].startswith("python"), lines)

    def test_a_process_has_one_row_of_the_program_that_it_became(self):
        command = [TOOL, "run", "--library", LIBRARY, "--report", "--", SHELL, "-c",
                   f"echo $$; {ALLOCATING} 7; exec {SHELL} -c 'exec {ALLOCATING} 9'"]
        process = subprocess.run(command, env=clean_environment(), capture_output=True, text=True, check=True)
        pid = process.stdout.split()[0]
        rows = [line.split()[:2] for line in process.stderr.splitlines() if line.startswith(("sh", "dash", "bash", "snug_tools"))]
        self.assertEqual([row[1] for row in rows].count(pid), 1, process.stderr)
        self.assertIn([pathlib.Path(ALLOCATING).name, pid], rows)
        self.assertNotIn("did not report", process.stderr)

    def peak(self, *command):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "report.json")
            process = run_on_snug("--report", f"--json={path}", "--", *command)
            return process, [one["peak"] for one in json.loads(path.read_text())]

    def test_says_where_memory_lay_at_the_peak_and_not_at_the_end(self):
        # 120 MB of blocks, each written to and all freed; then a few small ones.
        code = "import ctypes as c; m = c.CDLL(None); m.malloc.restype = c.c_void_p; m.free.argtypes = [c.c_void_p]\n" \
               "b = [c.memset(m.malloc(6000), 1, 6000) for i in range(20000)]\n" \
               "[m.free(p) for p in b]; b = [m.malloc(100) for i in range(5000)]"
        process, (peak,) = self.peak(sys.executable, "-c", code)
        parts = ("requested", "rounding", "cached", "on_their_way", "free_in_slabs", "empty_slabs", "free_pages",
                 "kept_large", "records", "other")
        self.assertEqual(sum(peak[part] for part in parts), peak["rss"])
        self.assertGreater(peak["requested"] + peak["rounding"], 0.94 * 120_000_000)
        self.assertGreater(peak["looks"], 5)
        self.assertLess(peak["looks"], 250)
        self.assertRegex(process.stderr, r"at the peak of python3?\S*, process \d+")
        self.assertRegex(process.stderr, r"\nin memory +[\d.]+ MiB +100.0%\n")

    def added(self, code, count):
        """What code that takes a count adds at the peak: bytes of rounding, and bytes asked for."""
        code = "import ctypes as c; m = c.CDLL(None); m.free.argtypes = [c.c_void_p]\n" \
               "for call in (m.malloc, m.calloc, m.aligned_alloc): call.restype = c.c_void_p\n" \
               "import sys\n" + code
        (many,), (none,) = (self.peak(sys.executable, "-S", "-c", code, str(rounds))[1] for rounds in (count, 0))
        return tuple(many[part] - none[part] for part in ("rounding", "requested"))

    def rounded_part(self, code, count):
        """What part of the memory that so many rounds of the code add at the peak is rounding."""
        rounding, requested = self.added("for i in range(int(sys.argv[1])): " + code, count)
        return rounding / (rounding + requested)

    def test_tells_rounding_to_the_byte_whatever_short_lives_are_asked_for(self):
        # Blocks of 17 bytes take 32; among them come and go others of the same class, which ask for all of it.
        part = self.rounded_part("c.memset(m.malloc(17), 1, 17); m.free(m.malloc(32))", 300000)
        self.assertAlmostEqual(part / (15 / 32), 1, delta=0.05)

    def test_tells_rounding_of_blocks_that_took_the_place_of_others(self):
        # 400,000 blocks of 17 bytes come and go, and others take their place. Of their class are 40,000 that then come
        # and stay while the program grows: a quarter of 17 bytes, the others of 32.
        code = "n = int(sys.argv[1]); take = lambda size: c.memset(m.malloc(size), 1, size)\n" \
               "def generation():\n  for block in [take(17) for i in range(10 * n)]: m.free(block)\n" \
               "generation(); m.malloc_trim(0)\nfor i in range(n // 2): take(1024)\n" \
               "for i in range(n): take(32 if i % 4 else 17)\nfor i in range(40): take(4 << 20)"
        rounding, _ = self.added(code, 40000)
        self.assertAlmostEqual(rounding / (40000 * 15 / 4), 1, delta=0.3)

    def test_tells_rounding_of_each_call(self):
        for block, call in ((112, "m.malloc({})"), (112, "m.calloc(1, {})"), (1280, "m.calloc(1, 1000 + {})"),
                            (128, "m.aligned_alloc(64, {})")):
            part = self.rounded_part(f"c.memset({call.format('97 + i % 7')}, 1, 4)", 60000 if block < 1000 else 10000)
            mean = 1100 if block == 1280 else 100
            self.assertAlmostEqual(part / ((block - mean) / block), 1, delta=0.08, msg=call)

    def test_refuses_json_without_anything_to_write(self):
        process = run_on_snug("--json", "--", ALLOCATING, "10")
        self.assertEqual((process.returncode, process.stderr), (2, "snug: --json needs --compare or --report\n"))
        process = run_on_snug("--all", "--", ALLOCATING, "10")
        self.assertEqual((process.returncode, process.stderr), (2, "snug: --all needs --report\n"))

    def test_says_how_much_each_process_may_keep(self):
        def column(kibibytes, blocks):
            script = f"ulimit -v {kibibytes}; {ALLOCATING} {blocks}"
            lines = run_on_snug("--report", "--", SHELL, "-c", script).stderr.splitlines()
            start = lines[0].index("at most") + len("at most")
            return next(line for line in lines if "allocating" in line)[:start].split("  ")[-1].strip()

        self.assertEqual(column("unlimited", 1000), "128.0 MiB")
        self.assertEqual(column(1 << 20, 200_000), "128.0 MiB", "a 16th of a GiB, twice")
        self.assertEqual(column(1 << 20, 1000), "128.0 MiB", "a small process has looked at its start as well")

    def test_says_if_the_program_itself_did_not_report(self):
        script = f"import os, subprocess; subprocess.run([{ALLOCATING!r}, '10']); os._exit(0)"
        process = run_on_snug("--report", "--", sys.executable, "-c", script, PYTHONMALLOC="malloc")
        self.assertRegex(process.stderr, r"the program itself, process \d+, did not report")
        self.assertNotIn("did not report", run_on_snug("--report", "--", ALLOCATING, "10").stderr)

    def test_says_if_no_process_reported(self):
        process = run_on_snug("--report", "--", SHELL, "-c", "kill -9 $$")
        self.assertEqual(process.returncode, -signal.SIGKILL)
        self.assertIn("no process reported", process.stderr)

    def test_passes_signals_on_and_ends_with_the_programs_status(self):
        with self.listener(LISTENER) as process:
            self.assertEqual(process.stdout.readline(), "ready\n")
            process.send_signal(signal.SIGUSR1)
            self.assertEqual(process.stdout.readline(), f"heard {int(signal.SIGUSR1)}\n")
            process.send_signal(signal.SIGTERM)
            _, errors = process.communicate()
        self.assertEqual(process.returncode, 5)
        self.assertIn("snug served", errors)

    def test_ends_by_the_signal_that_ended_the_program(self):
        with self.listener("import time; print('ready', flush=True); time.sleep(3600)") as process:
            self.assertEqual(process.stdout.readline(), "ready\n")
            process.send_signal(signal.SIGHUP)
            process.communicate()
        self.assertEqual(process.returncode, -signal.SIGHUP)

    def test_says_127_for_no_program(self):
        self.assertEqual(run_on_snug("--report", "--", "no-such-program-of-snug").returncode, 127)


if __name__ == "__main__":
    unittest.main()
