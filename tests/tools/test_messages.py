"""What the snug command says leads to the fault: exact numbers, the word that is missing, before the work and not after it."""

import json
import tempfile
import unittest
from pathlib import Path

import made_up
from tool_under_test import ALLOCATING, LIBRARY, snug


class MessagesTest(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.trace = str(self.folder / "x.trace")
        self.assertEqual(snug("trace", "synth", "hummingbird", "--events", "1000", "-o", self.trace).returncode, 0)

    def test_a_limit_that_is_missed_by_a_hair_shows_the_number(self):
        peak = json.loads(snug("trace", "info", self.trace, "--json").stdout)["peak"]["bytes"]
        for limit, exact in ((peak // 2, ""), (peak - 1, f" \\({peak}\\)")):
            process = snug("report", self.trace, "--check", f"peak<={limit}")
            self.assertRegex(process.stdout, rf"^FAILED: peak is [\d.]+ MiB{exact}, asked: peak<={limit}")

    def test_a_value_that_may_be_left_out_is_asked_for_behind_its_sign(self):
        for option in ("--compare=glibc", "--report"):
            process = snug("run", "--library", LIBRARY, option, "--json", "no-such.json", ALLOCATING)
            self.assertEqual((process.returncode, process.stderr),
                             (127, "snug: cannot run 'no-such.json': there is no such program; the value of --json stands behind "
                                   "'=': --json=no-such.json\n"))
        self.assertIn("--json [=FILE]", snug("run", "--help").stdout)

    def test_a_picture_that_cannot_be_written_is_told_before_the_rounds(self):
        process = snug("replay", self.trace, "--library", LIBRARY, "--plot", "/nonexistent/x.svg")
        self.assertEqual(process.stdout, "")
        self.assertNotIn("run 1/", process.stderr)
        self.assertIn("/nonexistent/x.svg", process.stderr)
        self.assertNotEqual(process.returncode, 0)

    def test_two_results_are_not_written_to_one_file(self):
        file = self.folder / "same.svg"
        for call in (("classes", "fit", self.trace), ("classes", "dense")):
            process = snug(*call, "-o", str(file), "--plot", str(self.folder / "." / "same.svg"))
            self.assertEqual((process.returncode, process.stderr.count("\n")), (2, 1))
            self.assertIn("-o and --plot name one file", process.stderr)
            self.assertFalse(file.exists())

    def test_the_end_of_a_trace_has_no_digits_of_rounding(self):
        process = snug("trace", "cut", self.trace, "--from", "1e6", "-o", str(self.folder / "part"))
        self.assertRegex(process.stderr, r"its last event is at [\d.e+-]{1,12} s\n")

    def test_names_from_programs_are_fit_for_a_terminal(self):
        made = made_up.of_figures(snug=[1.0] * 6, glibc=[2.0] * 6)
        made["program"] = ["job", "\x1b[31m"]
        for allocator in made["allocators"]:
            allocator["figures"] = {"\x1b]0;title\x07": allocator["figures"]["load"]}
        for width in (20, 100):
            self.assertNotRegex(made_up.table(made, width), "[\x07\x1b]")


if __name__ == "__main__":
    unittest.main()
