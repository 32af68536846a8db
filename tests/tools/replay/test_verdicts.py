"""snug replay: nobody is judged on a trace that is too short; what calls took; and what files are replayed."""

import subprocess
import unittest

from test_replay import ReplayTest
from tool_under_test import TOOL, snug


class VerdictTest(ReplayTest):
    def words_of(self, result):
        """All that is judged, against each other and of snug."""
        standings = [standing for one in result["allocators"] for standing in (*one["summary"].values(), *one["figures"].values())]
        against = [standing["against_snug"]["word"] for standing in standings if standing["against_snug"]]
        return {*against, *(standing["word"] for standing in standings)} - {None}

    def test_nobody_is_judged_on_a_trace_that_is_too_short(self):
        result = self.replay(self.made_up("hand_over"), rounds=6)
        self.assertTrue(result["replay"]["too_short"])
        self.assertRegex(result["verdict"], r"^The trace is too short to judge anybody: its calls take [0-9.]+ .s on (snug|glibc), "
                                            r"and 50\.0 ms is the least\.$")
        self.assertIn(result["verdict"], self.said)
        self.assertNotRegex(self.said.split("Medians;")[0], r"\*|better|worse|equal")
        self.assertEqual(self.words_of(result), {"unclear"})

    def test_one_that_is_long_enough_is_judged(self):
        file = self.folder / "long.trace"
        subprocess.run([TOOL, "trace", "synth", "hummingbird", "--events", "6000000", "--live", "20000000", "--table", "4000000",
                        "-o", file], stderr=subprocess.DEVNULL, check=True)
        result = self.replay(file)
        self.assertFalse(result["replay"]["too_short"])
        self.assertNotIn("too short", result["verdict"])
        self.assertGreater(self.of(result)["seconds_in_calls"], 0.05)


class TicksTest(ReplayTest):
    def test_what_calls_took_is_shown_by_operation_if_asked_for(self):
        file = self.made_up("hand_over")
        self.replay(file)
        self.assertNotIn("ticks of", self.said)
        result = self.replay(file, "--ticks")
        on_snug, on_glibc = (sum(row["calls"] for row in self.of(result, name)["ticks"] if row["operation"] == "malloc")
                             for name in ("snug", "glibc"))
        self.assertGreater(on_snug, 100)
        self.assertRegex(self.said, r"ticks of calls mean p50 p99 p99\.9 max "
                                    rf"snug .*malloc {on_snug} .* glibc .*malloc {on_glibc} ")
        self.assertNotIn("malloc to", self.said)


class InputTest(ReplayTest):
    def test_an_empty_file_is_named_as_such(self):
        file = self.folder / "empty.trace"
        file.write_bytes(b"")
        process = snug("replay", str(file))
        self.assertEqual((process.returncode, process.stderr),
                         (3, f"snug: '{file}' is empty: nothing has been written into it, or all of it is lost\n"))

    def test_lines_are_replayed_as_what_they_are_imported_to(self):
        lines = self.folder / "program.lines"
        lines.write_text("# a few\na\t1\t24\na\t2\t1000\nr\t1\t3\t48\nf\t2\n")
        self.assertEqual(self.of(self.replay(lines))["calls"], 4)


if __name__ == "__main__":
    unittest.main()
