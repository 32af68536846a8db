"""snug replay: what files are replayed."""

import unittest

from test_replay import ReplayTest
from tool_under_test import snug


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
