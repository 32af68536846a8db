"""snug run --compare with snug itself as the other: both are proven and judged alike. compare_with_itself.py has the figures."""

import unittest

from tool_under_test import ALLOCATING, LIBRARY, PLANTED_POSER, SHELL, compare


class ItselfTest(unittest.TestCase):
    """An allocator in comparison with itself."""

    def test_both_are_proven_and_judged_alike(self):
        process, result = compare(f"other={LIBRARY}", "-n", "2", "--", ALLOCATING, "5000")
        self.assertEqual(process.returncode, 0, process.stderr + process.stdout)
        snug, other = result["allocators"]
        for mine, theirs in zip(snug["runs"], other["runs"], strict=True):
            self.assertGreaterEqual(mine["served"]["allocations"], 5000)
            self.assertEqual(mine["served"], theirs["served"])
        self.assertEqual(snug["malloc_bindings"], other["malloc_bindings"])
        self.assertRegex(other["proof"], "^served [0-9]")
        for one in (snug, other):
            self.assertIn(one["summary"]["peak_rss_bytes"]["word"], ("equal", "unclear"))  # a rival, so that there is a word

    def test_settings_reach_snug_alone(self):
        """So that a setting can be held against the library as it is."""
        script = f'case "$SNUG_CONF" in retain:1K,served:*|served:*) {ALLOCATING} 10; echo "$SNUG_CONF" >&2;; *) exit 9;; esac'
        process, _ = compare(f"other={LIBRARY}", "-n", "1", "--warmup", "0", "--show-output", "--conf", "retain:1K", "--",
                             SHELL, "-c", script)
        self.assertEqual(process.returncode, 0, process.stderr + process.stdout)
        self.assertEqual(process.stderr.count("retain:1K,served:"), 1)

    def test_what_does_not_know_how_to_count_is_not_asked(self):
        script = f'case "$LD_PRELOAD,$SNUG_CONF" in */libsnug.so*,served:*|*planted*,) ;; *) exit 9;; esac; {ALLOCATING} 10'
        process, _ = compare(f"poser={PLANTED_POSER}", "-n", "1", "--warmup", "0", "--", SHELL, "-c", script)
        self.assertEqual(process.returncode, 0, process.stderr + process.stdout)


if __name__ == "__main__":
    unittest.main()
