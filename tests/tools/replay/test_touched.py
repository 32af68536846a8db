"""snug replay writes of large blocks what the program wrote, which snug record has seen."""

import statistics
import unittest

from test_replay import GROWING, ReplayTest
from tool_under_test import LIBRARY, snug, wait_for


class TouchedTest(ReplayTest):
    def off(self, file, *options):
        """By how many bytes the heap of the replay is off, and how often both are known. At half of these times, the better ones: a
        recorder that was kept from the processor between what it saw and what it wrote down tells of another moment."""
        result = self.replay(file, *options)
        both = [(one["recorded_heap_rss_bytes"], one["heap_rss_bytes"]) for one in self.of(result)["checkpoints"]
                if "recorded_heap_rss_bytes" in one]
        off_by = statistics.median_low(abs(now - was) for was, now in both) if both else None
        return result["replay"]["touch"], len(both), off_by

    def looked_at(self, mode, more_than):
        """A recording, and what off() says of it. A recorder that is kept from the processor in a look has the next one
        late, or none: then the program is recorded again."""
        def recorded():
            file = self.recorded(GROWING, mode)
            touch, checkpoints, off_by = self.off(file)
            return (file, touch, off_by) if checkpoints > more_than else None
        return wait_for(recorded, f"a recording with more than {more_than} looks")

    def test_of_large_blocks_the_pages_are_written_that_the_program_wrote(self):
        file, touch, off_by = self.looked_at("parts", more_than=5)
        self.assertEqual(touch, "recorded")
        self.assertLess(off_by, 400 << 10)  # the program writes 100 KiB between two pauses
        touch, _, off_by = self.off(file, "--touch=all")
        self.assertEqual(touch, "all")
        self.assertGreater(off_by, 100 << 20)
        # Parts of a trace know it, too.
        for command in (("cut", "--from", "0.4"), ("filter", "--least", "8192"), ("anonymise", "--round", "16"), ("pack",)):
            with self.subTest(command[0]):
                part = self.folder / f"{command[0]}.trace"
                made = snug("trace", command[0], str(file), *command[1:], "-o", str(part))
                self.assertEqual(made.returncode, 0, made.stderr)
                self.assertEqual(snug("trace", "check", str(part)).returncode, 0)
                touch, checkpoints, off_by = self.off(part)
                self.assertEqual(touch, "recorded")
                self.assertGreater(checkpoints, 1)
                self.assertLess(off_by, 400 << 10)

    def test_a_page_that_two_blocks_share_is_one_in_the_replay(self):
        _, touch, off_by = self.looked_at("ends", more_than=1)
        self.assertEqual(touch, "recorded")
        self.assertLess(off_by, 4 << 20)  # 16 MiB are touched, a page between two blocks

    def test_what_was_touched_has_to_fit(self):
        process = snug("replay", str(self.made_up("outgrown")), "--library", LIBRARY)
        self.assertEqual((process.returncode, process.stderr.count("\n")), (1, 1), process.stderr)
        self.assertIn(" of heap were in memory when it was recorded, more than the ", process.stderr)


if __name__ == "__main__":
    unittest.main()
