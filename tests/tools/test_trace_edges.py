"""snug trace: sizes near 2^64, files that hold nothing, filters that keep nothing."""

import json
import sys
import tempfile
import unittest
from pathlib import Path

from tool_under_test import snug

HUGE = 2**63 + 5


class Edges(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.whole = self.folder / "whole.trace"
        self.expect(0, "synth", "hummingbird", "--events", "1000", "-o", self.whole)

    def expect(self, status, *arguments, command=("trace",)):
        process = snug(*command, *map(str, arguments))
        self.assertEqual(process.returncode, status, process.stderr)
        return process

    def test_a_size_beyond_two_to_the_63rd_is_no_negative_one(self):
        file = self.folder / "huge.trace"
        code = f"import ctypes; ctypes.CDLL(None).malloc(ctypes.c_size_t({HUGE}))"
        self.expect(0, "-o", file, sys.executable, "-c", code, command=("record",))
        self.assertIn(f" size={HUGE} refused", self.expect(0, "head", "-n", 10**9, file).stdout)
        lines = map(json.loads, self.expect(0, "head", "--json", "-n", 10**9, file).stdout.splitlines())
        self.assertEqual([event["size"] for event in lines if event.get("size", 0) >= 2**62 or event.get("size", 0) < 0], [HUGE])

    def test_check_says_1_of_what_is_empty_or_cut_as_of_all_that_is_damaged(self):
        for name, content in (("empty", b""), ("cut", self.whole.read_bytes()[:20])):
            file = self.folder / name
            file.write_bytes(content)
            self.assertEqual(self.expect(1, "check", file).stderr.count("\n"), 1)
            self.expect(3, "info", file)
        self.expect(2, "check", self.folder / "none")

    def test_what_needs_blocks_ends_with_3_of_a_trace_without_events(self):
        empty = self.folder / "without"
        kept = self.expect(0, "filter", self.whole, "--thread", "99", "-o", empty)
        self.assertIn(f"snug: {self.whole}: no block is as asked for: none is kept\n", kept.stderr)
        for command in (("classes", "fit"), ("replay",)):
            self.assertEqual(self.expect(3, empty, command=command).stderr, f"snug: {empty}: no event is in it\n")
        self.expect(3, empty, command=("report",))
        for name in ("info", "head", "check"):
            self.expect(0, name, empty)

    def test_a_filter_that_keeps_some_blocks_says_nothing_of_it(self):
        kept = self.expect(0, "filter", self.whole, "--least", "1", "-o", self.folder / "some")
        self.assertNotIn("none is kept", kept.stderr)


if __name__ == "__main__":
    unittest.main()
