"""snug replay writes of large blocks what the program wrote, which snug record has seen."""

import statistics
import unittest

from test_replay import GROWING, ReplayTest
from tool_under_test import snug


class TouchedTest(ReplayTest):
    def off(self, file, *options):
        """By how many bytes the heap of the replay is off, and how often both are known. At half of these times, the better ones: a
        recorder that was kept from the processor between what it saw and what it wrote down tells of another moment."""
        result = self.replay(file, *options)
        both = [(one["recorded_heap_rss_bytes"], one["heap_rss_bytes"]) for one in self.of(result)["checkpoints"]
                if "recorded_heap_rss_bytes" in one]
        return result["replay"]["touch"], len(both), statistics.median_low(abs(now - was) for was, now in both)

    def test_of_large_blocks_the_pages_are_written_that_the_program_wrote(self):
        for _ in range(5):  # a recorder that is kept from the processor in a look has the next one late
            file = self.recorded(GROWING, "parts")
            touch, checkpoints, off_by = self.off(file)
            if checkpoints > 5:
                break
        self.assertEqual(touch, "recorded")
        self.assertGreater(checkpoints, 3)
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
        touch, checkpoints, off_by = self.off(self.recorded(GROWING, "ends"))
        self.assertEqual(touch, "recorded")
        self.assertGreater(checkpoints, 1)
        self.assertLess(off_by, 4 << 20)  # 16 MiB are touched, a page between two blocks


if __name__ == "__main__":
    unittest.main()
