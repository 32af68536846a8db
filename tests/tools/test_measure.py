"""snug measure: one run, what it cost, which allocator served it, and how it ended."""

import json
import signal
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from tool_under_test import ALLOCATING, BYSTANDER, LIBRARY, PLANTED_HOG, PLANTED_NONE, SHELL, TOOL, clean_environment, snug

# Seconds that a program stands still to be looked at. On a busy machine no look may come in the first.
PAUSES = (0.3, 1, 3, 9)


def measure(*arguments, **changes):
    """The process, and the JSON that it wrote to standard output."""
    process = snug("measure", "--library", LIBRARY, *arguments, **changes)
    return process, json.loads(process.stdout) if process.stdout else None


class MeasureTest(unittest.TestCase):
    def test_a_run_on_snug_is_proven_by_its_own_count(self):
        process, run = measure("--", ALLOCATING)
        self.assertEqual((process.returncode, process.stderr), (0, ""))
        self.assertEqual((run["schema"], run["ending"], run["code"], run["objection"]), ("snug.run/1", "exited", 0, ""))
        self.assertGreater(run["served"]["allocations"], 0)
        for name in ("wall_seconds", "peak_rss_bytes", "minor_faults"):
            self.assertGreater(run["cost"][name], 0, name)
        self.assertLessEqual({"voluntary_switches", "involuntary_switches", "instructions"}, set(run["cost"]))

    def test_a_library_that_counts_does_so_under_any_name(self):
        counts = [measure("--on", name, "--", ALLOCATING)[1]["served"] for name in ("snug", LIBRARY, f"mine={LIBRARY}")]
        self.assertEqual(counts, [counts[0]] * 3)

    def test_a_peer_is_proven_by_the_linker(self):
        _, run = measure("--on", PLANTED_NONE, "--prove", "--", ALLOCATING)
        self.assertEqual((run["objection"], run["malloc_bindings"]), ("", {"programs": 1, "bound": 1}))
        _, run = measure("--on", BYSTANDER, "--prove", "--", ALLOCATING)
        self.assertIn("not run on", run["objection"])
        # The allocator would serve, but the program escapes it.
        _, run = measure("--on", PLANTED_NONE, "--prove", "--", "env", "-u", "LD_PRELOAD", ALLOCATING)
        self.assertEqual(run["malloc_bindings"], {"programs": 2, "bound": 1})
        self.assertIn("not run on", run["objection"])

    def test_memory_is_warmed_and_counts_for_nobody(self):
        for warm in ("0", "256"):
            _, run = measure("--on", PLANTED_NONE, "--warm", warm, "--", ALLOCATING)
            self.assertEqual(run["objection"], "")
            self.assertLess(run["cost"]["peak_rss_bytes"], 128 << 20)
        process = subprocess.run(["prlimit", "--as=1000000000", TOOL, "measure", "--on", PLANTED_NONE, "--warm", "2000", "--",
                                  ALLOCATING], env=clean_environment(), capture_output=True, text=True)
        self.assertEqual(process.returncode, 2)
        self.assertEqual(process.stderr, "snug: --warm 2000: the system does not give that much memory\n")

    def test_what_goes_wrong_is_an_objection(self):
        for script, ending, what in (("echo alas >&2; exit 3", "exited", "exit status 3: alas"),
                                     ("kill -SEGV $$", "signalled", "killed by SIGSEGV")):
            process, run = measure("--on", PLANTED_NONE, "--", SHELL, "-c", script)
            self.assertEqual((process.returncode, run["ending"], run["objection"]), (0, ending, what))
        _, run = measure("--on", PLANTED_NONE, "--timeout", "0.2", "--", SHELL, "-c", "sleep 3600")
        self.assertEqual(run["ending"], "timed out")
        self.assertIn("stopped at the time limit", run["objection"])
        _, run = measure("--", SHELL, "-c", "kill -KILL $$")
        self.assertEqual(run["ending"], "signalled")

    def test_rss_over_time_is_that_of_the_largest_process(self):
        script = "sleep {0}; python3 -c 'x = bytearray(64 << 20); import time; time.sleep({0})'; sleep {0}"
        for pause in PAUSES:
            _, run = measure("--on", PLANTED_NONE, "--sample", "10", "--", SHELL, "-c", script.format(pause))
            sizes = [size for _, size in run["rss"]]
            if sizes and max(sizes) > 64 << 20 and sizes[0] < 16 << 20 and run["cost"]["last_rss_bytes"] < 16 << 20:
                break
        self.assertGreater(max(sizes), 64 << 20)
        self.assertLess(sizes[0], 16 << 20)
        self.assertLess(run["cost"]["last_rss_bytes"], 16 << 20)
        self.assertGreaterEqual(run["cost"]["peak_rss_bytes"] * 1.05, max(sizes))
        self.assertLessEqual(len(sizes), 128)

    def test_what_does_not_run_on_the_allocator_is_not_in_rss_over_time(self):
        # A script that frees itself of the allocator is larger than the program that it drives.
        for pause in PAUSES:
            large, small = (f"import time; x = bytearray({size} << 20); time.sleep({pause})" for size in (96, 32))
            driver = f"""import os, subprocess, time
{large}
subprocess.run(["python3", "-c", {small!r}], env={{**os.environ, "LD_PRELOAD": {str(PLANTED_NONE)!r}}})
time.sleep({pause})"""
            _, run = measure("--on", PLANTED_NONE, "--sample", "10", "--", "env", "-u", "LD_PRELOAD", "python3", "-c", driver)
            self.assertEqual(run["objection"], "")
            sizes = [size for _, size in run["rss"]]
            if sizes and max(sizes) > 32 << 20:
                break
        self.assertGreater(max(sizes), 32 << 20)
        self.assertLess(max(sizes), 90 << 20)
        self.assertLess(run["cost"]["last_rss_bytes"], 90 << 20)

    def test_figures_that_are_none_are_left_out(self):
        script = """echo '{"a": {"value": 1, "unit": 5, "better": []}, "b": {"value": "2"}, "c": 3}' > "$SNUG_FIGURES" """
        process, run = measure("--on", PLANTED_NONE, "--", SHELL, "-c", script)
        self.assertEqual((process.returncode, process.stderr), (0, ""))
        self.assertEqual(run["figures"], {"a": {"value": 1.0, "unit": "", "better": "lower"}})

    def test_a_hog_is_seen(self):
        peaks = [measure("--on", library, "--", ALLOCATING)[1]["cost"]["peak_rss_bytes"]
                 for library in (PLANTED_NONE, PLANTED_HOG)]
        self.assertGreater(peaks[1], peaks[0])

    def test_figures_come_with_unit_and_direction(self):
        script = """echo '{"load": {"value": 2.5, "unit": "op/s", "better": "higher"}}' > "$SNUG_FIGURES" """
        _, run = measure("--on", PLANTED_NONE, "--", SHELL, "-c", script)
        self.assertEqual(run["figures"], {"load": {"value": 2.5, "unit": "op/s", "better": "higher"}})

    def test_it_can_be_interrupted(self):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "run.json"
            process = subprocess.Popen([TOOL, "measure", "--library", LIBRARY, "--json", file, "--", SHELL, "-c",
                                        f"touch {folder}/begun; sleep 3600"], env=clean_environment())
            while not (Path(folder) / "begun").exists() and process.poll() is None:
                time.sleep(0.01)
            process.send_signal(signal.SIGTERM)
            self.assertEqual(process.wait(), 128 + signal.SIGTERM)
            self.assertEqual(json.loads(file.read_text())["ending"], "interrupted")

    def test_wrong_usage_is_one_line(self):
        for arguments, status in ((["measure"], 2), (["measure", "--", "/nowhere"], 127),
                                  (["measure", "--on", "nosuch", "--", "true"], 2),
                                  (["measure", "--library", LIBRARY, "--json", "/nowhere/x", "--", "true"], 1)):
            process = snug(*arguments)
            self.assertEqual((process.returncode, process.stderr.count("\n")), (status, 1), arguments)


if __name__ == "__main__":
    unittest.main()
