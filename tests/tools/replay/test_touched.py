"""snug replay writes of large blocks what the program wrote, which snug record has seen."""

import unittest

from test_replay import GROWING, ReplayTest
from tool_under_test import snug


class TouchedTest(ReplayTest):
    def off(self, file, *options):
        """By how many bytes the heap of the replay is off at most, and how often both are known."""
        result = self.replay(file, *options)
        both = [(one["recorded_heap_rss_bytes"], one["heap_rss_bytes"]) for one in self.of(result)["checkpoints"]
                if "recorded_heap_rss_bytes" in one]
        return result["replay"]["touch"], len(both), max(abs(now - was) for was, now in both)

    def test_of_large_blocks_the_pages_are_written_that_the_program_wrote(self):
        file = self.recorded(GROWING, "parts")
        touch, checkpoints, most = self.off(file)
        self.assertEqual(touch, "recorded")
        self.assertGreater(checkpoints, 3)
        self.assertLess(most, 400 << 10)  # the program writes 100 KiB between two pauses
        touch, _, most = self.off(file, "--touch=all")
        self.assertEqual(touch, "all")
        self.assertGreater(most, 100 << 20)
        # Parts of a trace know it, too.
        for command in (("cut", "--from", "0.4"), ("filter", "--least", "8192"), ("anonymise", "--round", "16"), ("pack",)):
            with self.subTest(command[0]):
                part = self.folder / f"{command[0]}.trace"
                made = snug("trace", command[0], str(file), *command[1:], "-o", str(part))
                self.assertEqual(made.returncode, 0, made.stderr)
                self.assertEqual(snug("trace", "check", str(part)).returncode, 0)
                touch, checkpoints, most = self.off(part)
                self.assertEqual(touch, "recorded")
                self.assertGreater(checkpoints, 1)
                self.assertLess(most, 400 << 10)

    def test_a_page_that_two_blocks_share_is_one_in_the_replay(self):
        touch, checkpoints, most = self.off(self.recorded(GROWING, "ends"))
        self.assertEqual(touch, "recorded")
        self.assertGreater(checkpoints, 1)
        self.assertLess(most, 4 << 20)  # 16 MiB are touched, a page between two blocks


if __name__ == "__main__":
    unittest.main()
