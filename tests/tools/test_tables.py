"""What snug run --compare prints of a comparison, on made-up ones: words, stars, the sentence, and tables that fit."""

import unittest

from golden import WIDTHS, assert_fits, assert_golden
from made_up import as_json, described, of_figures, table

HUNDRED = [100, 101, 99, 100, 102, 100]


def sentence(description):
    return as_json(description)["verdict"]


class GoldenTest(unittest.TestCase):
    def test_tables_fit(self):
        for name in ("four", "nine"):
            for width in WIDTHS:
                text = table(described(name), width)
                assert_fits(self, width, text)
                assert_golden(self, f"{name}-{width}", text)

    def test_where_columns_do_not_fit_each_allocator_has_a_row(self):
        narrow, wide = (table(described("nine"), width).splitlines() for width in (80, 200))
        self.assertTrue(any(line.split()[:3] == ["snug", "glibc", "jemalloc"] for line in wide))
        self.assertFalse(any("snug" in line and "jemalloc" in line for line in narrow))


class WordTest(unittest.TestCase):
    def of(self, snug, **rivals):
        """The figure's standings, by allocator."""
        result = as_json(of_figures(snug=snug, **rivals))
        return {allocator["name"]: allocator["figures"]["load"] for allocator in result["allocators"]}

    def test_each_word(self):
        for snug, word, opposite in (([80, 81, 79, 80, 82, 80], "better", "worse"), (HUNDRED, "equal", "equal"),
                                     ([120, 121, 119, 122, 120, 121], "worse", "better"),
                                     ([80, 120, 95, 110, 70, 130], "unclear", "unclear")):
            all_standings = self.of(snug, glibc=HUNDRED)
            self.assertEqual(all_standings["snug"]["word"], word)
            self.assertIsNone(all_standings["snug"]["against_snug"])
            self.assertEqual(all_standings["glibc"]["against_snug"]["word"], opposite)

    def test_a_word_needs_one_percent_and_more_where_rounds_spread(self):
        for snug, word in (([101.5, 102, 103, 102, 103, 103.5], "unclear"), ([104] * 6, "worse"), ([105, 106, 105, 107, 105, 109], "worse"),
                           ([102, 104, 110, 108, 106, 112], "unclear")):
            self.assertEqual(self.of(snug, glibc=[100] * 6)["snug"]["word"], word, snug)

    def test_a_ratio_is_that_of_the_rounds_with_its_interval(self):
        against = self.of([100, 200, 100, 400, 100, 100], glibc=[150, 300, 160, 600, 150, 140])["glibc"]["against_snug"]
        self.assertEqual((against["ratio"], against["low"], against["high"]), (1.5, 1.4, 1.6))
        self.assertEqual((against["rounds"], against["range"]), (6, "95% interval of the median"))
        against = self.of([100, 100], glibc=[200, 400])["glibc"]["against_snug"]
        self.assertEqual((against["ratio"], against["low"], against["high"]), (3, 1, 8))
        self.assertEqual((against["rounds"], against["range"]), (2, "min to max, widened"))

    def test_one_round_proves_nothing(self):
        against = self.of([100], glibc=[200])["glibc"]["against_snug"]
        self.assertEqual((against["ratio"], against["low"], against["high"], against["word"]), (2, None, None, "unclear"))

    def test_a_word_against_all_is_the_worst(self):
        better, worse = [80] * 6, [120] * 6
        self.assertEqual(self.of(HUNDRED, one=worse, two=better)["snug"]["word"], "worse")
        self.assertEqual(self.of(HUNDRED, one=worse, two=HUNDRED)["snug"]["word"], "equal")
        self.assertEqual(self.of(HUNDRED, one=worse, two=[80, 120, 95, 110, 70, 130])["snug"]["word"], "unclear")

    def test_snugs_variants_are_no_rivals(self):
        standings = self.of(HUNDRED, **{"snug-nothp": [50] * 6, "glibc": [90] * 6})
        self.assertEqual(standings["snug-nothp"]["word"], "better")
        self.assertEqual(standings["snug-nothp"]["against_snug"]["word"], "better")
        self.assertEqual(standings["snug"]["word"], "worse")
        self.assertIsNone(self.of(HUNDRED, **{"snug-nothp": [50] * 6})["snug"]["word"])

    def test_rounds_that_do_not_count_are_left_out(self):
        description = of_figures(snug=[100] * 7, glibc=[200] * 7)
        description["allocators"][1]["objections"] = [None, "exit status 1"]
        figure = as_json(description)["allocators"][1]["figures"]["load"]
        self.assertEqual(figure["against_snug"]["rounds"], 6)

    def test_no_star_where_it_is_unclear_or_worse(self):
        for snug, star in (([80] * 6, True), (HUNDRED, True), ([120] * 6, False), ([80, 120, 95, 110, 70, 130], False)):
            grid = table(of_figures(snug=snug, glibc=HUNDRED)).splitlines()
            row = next(line for line in grid if line.startswith("load"))
            self.assertEqual("*" in row.split("µs")[1], star, row)
            rows = table(of_figures(snug=snug, glibc=HUNDRED), 20).splitlines()
            row = rows[rows.index("load") + 1]
            self.assertEqual("*" in row, star, row)


class SentenceTest(unittest.TestCase):
    def test_all_four_words_are_counted(self):
        self.assertRegex(sentence(described("four")),
                         r"^Verdict: snug is better in 3 rows, equal in 3, worse in 3, unclear in 1; it is ")

    def test_each_loss_names_the_best_of_those_that_are_better(self):
        description = of_figures(snug=[120] * 6, one=[100] * 6, two=[110] * 6, three=[40, 300, 20, 200, 10, 100])
        for allocator in description["allocators"]:
            allocator["figures"]["load"]["unit"] = "widgets"
        self.assertIn("; it is 20% worse than one in load.", sentence(description))

    def test_too_noisy_to_judge(self):
        noisy = described("four")
        noisy["others_share"] = 0.23
        self.assertRegex(sentence(noisy), "^Too noisy to judge time: other programs took 23% of the processors; apart from "
                                          "time, snug is better in 0 rows, equal in 1, worse in 3, unclear in 0; it is 9% larger than glibc in peak RSS")
        self.assertNotIn("slower", sentence(noisy))
        noise = as_json(noisy)["noise"]
        self.assertEqual((noise["others_share"], noise["too_noisy"]), (0.23, True))
        self.assertIn("Too noisy to judge time", table(noisy))

    def test_noise_takes_the_words_of_time_and_no_loss_is_told_of_what_it_has_ruled_out(self):
        """The verdict uses nothing that it has ruled out, and neither does JSON."""
        for snug in ([120] * 6, [80] * 6):
            noisy = of_figures(others_share=0.5, snug=snug, glibc=HUNDRED[:1] * 6)
            self.assertEqual(sentence(noisy), "Too noisy to judge time: other programs took 50% of the processors; apart from "
                                              "time, snug is better in 0 rows, equal in 1, worse in 0, unclear in 0.")
            for allocator in as_json(noisy)["allocators"]:
                figure, memory = allocator["figures"]["load"], allocator["summary"]["peak_rss_bytes"]
                self.assertEqual((figure["word"], memory["word"]), (None, "equal"))
                if figure["against_snug"]:
                    self.assertEqual((figure["against_snug"]["word"], memory["against_snug"]["word"]), (None, "equal"))
                    self.assertIsNotNone(figure["against_snug"]["ratio"])
            for width in (100, 20):
                lines = table(noisy, width).splitlines()
                at = next(at for at, line in enumerate(lines) if line.startswith("load"))
                self.assertRegex(" ".join(lines[at:at + 3]), r"unclear .*unclear")
                self.assertNotRegex(" ".join(lines[at:at + 3]), r"\*|better|worse|equal")
                self.assertIn("Time was too noisy to judge: its rows are unclear.", " ".join(" ".join(lines).split()))

    def test_ratios_that_spread_are_noise(self):
        wild = [60, 140, 100, 90, 80, 120]
        description = described("four")
        for allocator in description["allocators"]:
            if allocator["name"] != "snug":
                for values in ("wall_seconds", "user_seconds"):
                    allocator["measured"][values] = wild
                for figure in allocator["figures"].values():
                    figure["values"] = wild
        self.assertRegex(sentence(description), r"^Too noisy to judge time: ratios spread by ±4\d%; apart from time")

    def test_memory_that_spreads_is_no_noise(self):
        description = described("four")
        for allocator in description["allocators"]:
            for figure in allocator["figures"].values():
                figure["unit"] = "B"
                if allocator["name"] != "snug":
                    figure["values"] = [60_000, 140_000, 100_000, 90_000, 80_000, 120_000]
        noise = as_json(description)["noise"]
        self.assertTrue(noise["half_width"] < 0.02 and not noise["too_noisy"], noise)

    def test_what_is_not_known_is_no_noise(self):
        quiet = described("four")
        del quiet["others_share"]
        noise = as_json(quiet)["noise"]
        self.assertEqual((noise["others_share"], noise["too_noisy"], noise["reasons"]), (None, False, ""))

    def test_who_was_not_measured_is_named(self):
        self.assertIn("; not measured: tcmalloc, tbbmalloc.", sentence(described("nine")))
        failed = of_figures(snug=[1] * 6, glibc=[1] * 6)
        failed["allocators"][0]["objections"] = ["exit status 1"] * 6
        self.assertEqual(sentence(failed), "Verdict: nothing was compared; not measured: snug.")


if __name__ == "__main__":
    unittest.main()
