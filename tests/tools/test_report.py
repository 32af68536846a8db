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
        self.assertTrue(1000 < served[0] < 2000 < served[1], served)
        total = next(line for line in process.stderr.splitlines() if line.startswith("all "))
        self.assertGreaterEqual(int(total.split()[2].replace(",", "")), sum(served))

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

    def test_refuses_json_without_anything_to_write(self):
        process = run_on_snug("--json", "--", ALLOCATING, "10")
        self.assertEqual((process.returncode, process.stderr), (2, "snug: --json needs --compare or --report\n"))

    def test_says_how_much_each_process_may_keep(self):
        def column(kibibytes, blocks):
            script = f"ulimit -v {kibibytes}; {ALLOCATING} {blocks}"
            lines = run_on_snug("--report", "--", SHELL, "-c", script).stderr.splitlines()
            start = lines[0].index("at most") + len("at most")
            return next(line for line in lines if "allocating" in line)[:start].split("  ")[-1].strip()

        self.assertEqual(column("unlimited", 1000), "128.0 MiB")
        self.assertEqual(column(1 << 20, 200_000), "64.0 MiB", "a 32nd of a GiB, twice")
        self.assertEqual(column(1 << 20, 1000), "128.0 MiB", "a small process has not looked")

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
        with self.listener("import time; print('ready', flush=True); time.sleep(60)") as process:
            self.assertEqual(process.stdout.readline(), "ready\n")
            process.send_signal(signal.SIGHUP)
            process.communicate()
        self.assertEqual(process.returncode, -signal.SIGHUP)

    def test_says_127_for_no_program(self):
        self.assertEqual(run_on_snug("--report", "--", "no-such-program-of-snug").returncode, 127)


if __name__ == "__main__":
    unittest.main()
