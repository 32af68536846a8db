"""What a measured program leaves running is ended before the next run, and said."""

import json
import os
import unittest

from tool_under_test import ALLOCATING, LIBRARY, SHELL, compare, contender, snug, wait_for


def leaving(count, name):
    """Ends by itself, with that many processes behind it; each has the name in its command line."""
    begin = "".join(f"sleep {name} >/dev/null 2>&1 & " for _ in range(count))
    return (SHELL, "-c", f"{begin} {ALLOCATING} 10 >/dev/null; exit 0")


def running(name):
    found = 0
    for process in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{process}/cmdline", "rb") as file:
                found += file.read().startswith(b"sleep\0" + name.encode())
        except OSError:
            continue  # gone meanwhile
    return found


class LeftRunningTest(unittest.TestCase):
    def test_a_comparison_ends_it_and_says_so(self):
        process, result = compare("glibc", "-n", "2", "--warmup", "0", "--", *leaving(2, "3641.21"))
        self.assertEqual(process.returncode, 0, process.stderr + process.stdout)
        for one in result["allocators"]:
            self.assertEqual([run["left_running"] for run in one["runs"]], [2, 2])
        self.assertEqual(process.stdout.count("2 of 2 runs left 2 processes running, which snug ended"), 2)
        wait_for(lambda: running("3641.21") == 0, "their end")

    def test_so_does_a_measurement(self):
        process = snug("measure", "--on", "glibc", "--library", LIBRARY, "--", *leaving(1, "3641.22"))
        self.assertEqual(json.loads(process.stdout)["left_running"], 1)
        wait_for(lambda: running("3641.22") == 0, "its end")

    def test_a_program_that_waits_for_its_own_leaves_nothing(self):
        process, result = compare("glibc", "-n", "2", "--warmup", "0", "--", SHELL, "-c", f"ls >/dev/null & wait; {ALLOCATING} 10")
        self.assertEqual([run["left_running"] for run in contender(result, "snug")["runs"]], [0, 0])
        self.assertNotIn("running, which", process.stdout)


if __name__ == "__main__":
    unittest.main()
