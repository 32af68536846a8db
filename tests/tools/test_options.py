"""Numbers that no option can mean are refused."""

import unittest

from tool_under_test import snug


class RefusedTest(unittest.TestCase):
    def refused(self, call, words):
        process = snug(*call)
        self.assertEqual((process.returncode, process.stderr.count("\n")), (2, 1), (call, process.stderr, process.stdout[:200]))
        self.assertIn(words, process.stderr)

    def test_numbers_below_0_do_not_wrap(self):
        for call in ("trace head x -n -1", "trace filter x -o y --thread -1", "trace synth hummingbird -o y --seed -1",
                     "run --compare glibc --seed -1 ls", "run --compare glibc --min-served -1 ls", "replay x --seed -1"):
            self.refused(call.split(), "'-1' is not in range 0 to ")
        for call in ("trace filter x -o y --least -1", "trace filter x -o y --most -1K", "trace anonymise x -o y --round -1",
                     "classes fit x --cached-bytes -1", "classes fit x --cache -1", "replay x --component cell --region -1"):
            self.refused(call.split(), "is less than 0")

    def test_time_limits_are_times(self):
        for command in ("run --compare glibc", "measure", "replay x"):
            for word in ("nan", "inf", "0", "-1", "1e300"):
                self.refused((*command.split(), "--timeout", word, "ls"), f"'{word}' is not in range 0.001 to 1000000000")


if __name__ == "__main__":
    unittest.main()
