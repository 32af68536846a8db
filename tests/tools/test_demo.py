"""What scripts/demo prints, on made-up comparisons of its two loads: the loads themselves take minutes."""

import copy
import importlib.machinery
import importlib.util
import unittest
from pathlib import Path

from golden import WIDTHS, assert_fits, assert_golden
from made_up import as_json, described

ROOT = Path(__file__).resolve().parents[2]


def load_demo():
    loader = importlib.machinery.SourceFileLoader("demo", str(ROOT / "scripts" / "demo"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("demo", loader))
    loader.exec_module(module)
    return module


demo = load_demo()


def both(description):
    comparison = as_json(description)
    return {load.name: comparison for load in demo.LOADS}


def rows_of(comparisons):
    return demo.merged([row for load in demo.LOADS if load.name in comparisons for row in load.rows], comparisons)


def sentence(comparisons):
    return demo.verdict(rows_of(comparisons), comparisons)


def printed(comparisons, width):
    return demo.report(rows_of(comparisons), comparisons, sentence(comparisons), width) + "\n"


class TableTest(unittest.TestCase):
    def test_tables_fit(self):
        comparisons = both(described("four"))
        for width in WIDTHS:
            text = printed(comparisons, width)
            assert_fits(self, width, text)
            assert_golden(self, f"demo-{width}", text)

    def test_where_columns_do_not_fit_each_allocator_has_a_line(self):
        description = described("four")
        for allocator in description["allocators"]:
            allocator["figures"]["mixed sizes"]["values"] = [1_000_000_000] * 6
        text = printed(both(description), 80)
        assert_fits(self, 80, text)
        lines = text.splitlines()
        self.assertIn("Redis: mixed sizes", lines)
        self.assertEqual(lines[lines.index("Redis: mixed sizes") + 2].split(),
                         ["glibc", "1,000,000", "kop/CPU", "s*", "1.00×", "equal"])

    def test_memory_that_is_the_same_in_each_column_is_one_row(self):
        titles = [row.title for row in rows_of(both(described("four")))]
        self.assertIn("peak RSS = RSS after delete = settled RSS", titles)
        self.assertEqual(len(titles), 8)

    def test_memory_that_one_allocator_gives_back_is_a_row_of_its_own(self):
        description = described("four")
        description["allocators"][2]["figures"]["settled RSS"]["values"] = [50_000_000] * 6
        titles = [row.title for row in rows_of(both(description))]
        self.assertIn("peak RSS = RSS after delete", titles)
        self.assertIn("settled RSS", titles)

    def test_an_allocator_that_failed_has_no_figures(self):
        description = described("four")
        description["allocators"][3]["objections"] = ["exit status 1"] * 6
        comparisons = both(description)
        self.assertIn("failed", printed(comparisons, 100))
        self.assertIn("; not measured: mimalloc on Redis, mimalloc on Python.", sentence(comparisons))
        self.assertIn("peak RSS = RSS after delete = settled RSS", [row.title for row in rows_of(comparisons)])

    def test_no_star_where_it_is_unclear(self):
        row = next(line for line in printed(both(described("four")), 100).splitlines() if line.startswith("GET throughput"))
        self.assertNotIn("*", row)


class SentenceTest(unittest.TestCase):
    def test_all_four_words_are_counted_and_each_loss_named(self):
        self.assertEqual(sentence(both(described("four"))),
                         "Verdict: snug is better in 3 rows, equal in 3, worse in 1, unclear in 1; it is 9% larger than glibc "
                         "in Redis's peak RSS = RSS after delete = settled RSS.")

    def test_a_noisy_load_has_no_verdict_of_time(self):
        comparisons = both(described("four"))
        comparisons["Redis"] = copy.deepcopy(comparisons["Redis"])
        comparisons["Redis"]["noise"] = {"too_noisy": True, "reasons": "other programs took 23% of the processors"}
        self.assertRegex(sentence(comparisons), "^Too noisy to judge time: on Redis, other programs took 23% of the "
                                                "processors; apart from that, snug is better in 2 rows, equal in 1, worse in "
                                                "1, unclear in 0; it is 9% larger than glibc in Redis's peak RSS")

    def test_noise_takes_the_words_of_time(self):
        description = described("four")
        for allocator in description["allocators"]:
            allocator["figures"]["SET throughput"]["values"] = [900_000 if allocator["name"] == "snug" else 1_000_000] * 6
        comparisons = both(description)
        comparisons["Redis"] = {**comparisons["Redis"], "noise": {"too_noisy": True, "reasons": "noise"}}
        self.assertIn("11% slower than glibc in Redis's SET throughput", sentence(both(description)))
        self.assertNotIn("slower", sentence(comparisons))
        text = printed(comparisons, 100)
        redis, python = text.split("Python:")[:2]
        self.assertNotRegex(redis.split("peak RSS")[0], r"\*|better|worse|equal")
        self.assertRegex(redis.split("peak RSS")[0], "unclear")
        self.assertRegex(redis.split("peak RSS")[1], "worse")
        self.assertIn("*", python.split("Medians;")[0])

    def test_the_tools_own_null_words_are_no_missing_measurement(self):
        noisy = described("four")
        noisy["others_share"] = 0.5
        said = sentence(both(noisy))
        self.assertRegex(said, "^Too noisy to judge time: on Redis, other programs took 50% of the processors; on Python, ")
        self.assertNotIn("not measured", said)
        self.assertRegex(printed(both(noisy), 100).split("Medians;")[0], "unclear")

    def test_what_is_missing_is_said(self):
        comparisons = both(described("four"))
        del comparisons["Python"]
        self.assertIn("; snug was not measured on Python.", sentence(comparisons))
        self.assertEqual(demo.verdict([], {}), "Verdict: nothing was compared; snug was not measured on Redis and Python.")

    def test_a_loss_is_named_with_the_best_that_is_better_beyond_doubt(self):
        standing = {"snug": {"word": "worse", "against_snug": None},
                    "glibc": {"against_snug": {"ratio": 0.8, "word": "better"}},
                    "jemalloc": {"against_snug": {"ratio": 0.5, "word": "unclear"}},
                    "mimalloc": None}
        row = demo.Row("Redis", "SET throughput", "figures", "SET throughput", demo.SLOWER)
        self.assertEqual(demo.loss(row, standing), "25% slower than glibc in Redis's SET throughput")


class AnnouncementTest(unittest.TestCase):
    def test_it_says_how_long_and_until_when(self):
        now = 1_700_000_000
        clock = demo.time.strftime("%H:%M", demo.time.localtime(now + 60 * round(7 * demo.SECONDS_PER_ROUND / 60)))
        self.assertIn(f"one warm-up and 6 rounds each:\nabout {round(7 * demo.SECONDS_PER_ROUND / 60)} minutes, until {clock} ",
                      demo.announcement(6, now))
        self.assertIn("1 round each", demo.announcement(1, now))


if __name__ == "__main__":
    unittest.main()
