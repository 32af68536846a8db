"""Traces of real programs, kept in tests/golden/traces: what is read of them today is what was read when they were kept."""

import json
import os
import unittest
from pathlib import Path

from test_trace import FolderTest

TRACES = Path(os.environ["SNUG_GOLDEN"]) / "traces"
MOST_BYTES = 200_000


class RecordedTest(FolderTest):
    def setUp(self):
        super().setUp()
        self.files = sorted(TRACES.glob("*.trace"))
        self.assertGreater(len(self.files), 5)

    def test_all_is_well_and_adds_up_to_what_it_did(self):
        for file in self.files:
            with self.subTest(file.name):
                self.trace("check", str(file))
                info = self.info(str(file))
                del info["file"]
                self.assertEqual(info, json.loads(file.with_suffix(".json").read_text()))

    def test_they_are_few_bytes_and_name_nobody(self):
        self.assertLess(sum(file.stat().st_size for file in self.files), MOST_BYTES)
        for file in self.files:
            with self.subTest(file.name):
                self.assertIn("anonymised", [fact["key"] for fact in self.info(str(file))["facts"]])

    def test_several_have_several_threads(self):
        self.assertGreaterEqual(sum(self.info(str(file))["threads"] > 1 for file in self.files), 3)

    def test_parts_and_lines_of_them_are_traces(self):
        for file in self.files:
            with self.subTest(file.name):
                info = self.info(str(file))
                half = info["duration_ns"] / 2e9
                for name, options in (("first", ("--to", f"{half:.9f}")), ("second", ("--from", f"{half:.9f}"))):
                    self.trace("cut", str(file), *options, "-o", self.path(name))
                    self.trace("check", self.path(name))
                self.assertEqual(self.info(self.path("second"))["blocks"]["live_at_end"], info["blocks"]["live_at_end"])
                self.trace("import", self.file("lines", self.trace("export", str(file), "--to", "lines")), "-o", self.path("again"))
                self.assertEqual(self.info(self.path("again"))["peak"]["bytes"], info["peak"]["bytes"])

    def test_anonymised_again_they_stay_as_they_are(self):
        for file in self.files:
            with self.subTest(file.name):
                self.trace("anonymise", str(file), "-o", self.path("again"))
                self.assertEqual(self.info(self.path("again"))["operations"], self.info(str(file))["operations"])


if __name__ == "__main__":
    unittest.main()
