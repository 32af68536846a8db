"""The answer above the fold: which allocator leads, which is missing and why, and a plain sentence for every name."""

from dataclasses import replace
from pathlib import Path

import pytest
from snug_bench.legend import figure_sentence, legends
from snug_bench.overview import overview, overview_sentence, overviews
from snug_bench.processor_time import ProcessorTime
from snug_bench.results import read_results
from snug_bench.verdict import judge, rows_of
from snug_bench.workload import load_loads
from synthetic import load, results, run, series

ROOT = Path(__file__).parents[3]


def judged(*runs, loads=None):
    return judge(results([each for some in runs for each in some], loads))


def test_leaders_are_the_least_and_what_counts_as_equal_to_it():
    verdict = judged(series("snug", 10, 40 << 20, noise=0), series("near", 10.2, 30 << 20, noise=0),
                     series("far", 20, 10 << 20, noise=0))
    view = overview(verdict, "synthetic")
    assert [point.name for point in view.leaders("time")] == ["snug", "near"]
    assert [point.name for point in view.leaders("memory")] == ["far"]
    assert view.named("time") == "snug 1.00×, near 1.02×" and view.notes == []


def test_many_leaders_are_not_all_named():
    verdict = judged(*(series(f"a{number}", 10, 10 << 20, noise=0) for number in range(5)))
    assert overview(verdict, "synthetic").named("time") == "a0 1.00×, a1 1.00×, a2 1.00× and 2 more within 3%"


def test_a_mean_over_fewer_rows_leads_nothing_and_says_why():
    failing = [run("quick", number, 1, 1, on="b", objection="crashed") for number in range(3)]
    verdict = judged(series("snug", 10, 10 << 20, on="a"), series("snug", 10, 10 << 20, on="b"),
                     series("peer", 12, 10 << 20, on="a"),
                     series("peer", 12, 10 << 20, on="b"), series("quick", 1, 1 << 20, on="a"), failing)
    view = overview(verdict, "synthetic")
    assert [point.name for point in view.points if not point.complete] == ["quick"]
    assert "quick" not in [point.name for key in ("time", "memory") for point in view.leaders(key)]
    assert view.notes == ["Hollow, as the mean leaves out a row or more: quick (nothing counted in b)."]


def test_what_has_no_mean_is_said_to_be_missing():
    failing = [run(name, number, 1, 1, objection="crashed") for name in ("one", "two") for number in range(3)]
    verdict = judged(series("snug", 10, 10 << 20), series("peer", 12, 10 << 20), failing)
    assert overview(verdict, "synthetic").notes == ["Missing: one, two (nothing counted in load)."]


def test_repetitions_that_the_subject_has_not_compare_with_nothing():
    late = [run("late", number, 10, 20) for number in range(7, 9)]
    assert overview(judged(series("snug", 10, 10 << 20), late), "synthetic").notes == [
        "Missing: late (no repetition beside snug in load)."]


def noisy(name, time):
    """Of many rows each of which has noise of its own."""
    return [each for row in range(60) for each in series(name, time, 10 << 20, noise=0.3, seed=row, on=f"load{row}")]


def test_the_mean_over_many_rows_is_known_where_no_row_is():
    verdict = judged(noisy("snug", 10), noisy("slow", 13), noisy("quick", 7))
    assert verdict.noise.too_noisy
    words = {name: verdict.overall["synthetic", "time", name].subjects_word for name in verdict.peers()}
    assert (words["slow"], words["quick"]) == ("better", "worse")
    said = overview_sentence(verdict, "synthetic")
    assert said.startswith("Over 60 rows of synthetic workloads, snug is faster than 1 of 2 others, ") and "slower than 1 (quick)" in said


def test_a_lost_repetition_leaves_the_mean_of_the_same_rows():
    cheap, dear = series("peer", 10, 10, noise=0, on="a"), series("peer", 1000, 10, noise=0, on="b")
    verdict = judged(series("snug", 10, 10, noise=0, on="a"), series("snug", 10, 10, noise=0, on="b"), cheap, dear[:-1])
    found = verdict.overall["synthetic", "time", "peer"].ratio
    assert found.interval.low == pytest.approx(10) and found.interval.high == pytest.approx(10)


def test_others_that_disturb_leave_no_word_of_time():
    runs = [*series("snug", 10, 20 << 20, noise=0.001), *series("peer", 20, 30 << 20, noise=0.001)]
    verdict = judge(results([replace(each, processors=ProcessorTime(2, 2, 1)) for each in runs]))
    assert overview_sentence(verdict, "synthetic") == (
        "Over 1 row of synthetic workloads, snug is faster than 0 of 1 other, not to be told from 1 (peer); it is smaller than "
        "1 of 1 other")


def test_an_allocators_own_variants_are_no_peers():
    verdict = judged(series("snug", 10, 20), series("snug-other", 5, 10), series("peer", 12, 20))
    assert verdict.peers() == ["peer"]


def test_only_kinds_that_were_run_are_viewed():
    verdict = judged(series("snug", 10, 10, on="redis"), series("peer", 10, 10, on="redis"), loads=[load("redis", "real")])
    assert [view.kind for view in overviews(verdict)] == ["real"]


def test_every_load_has_a_plain_sentence():
    assert set(load_loads(ROOT / "bench" / "loads")) == set(legends())
    for name, sentences in legends().items():
        assert sentences["load"].endswith((".", "?")), name


@pytest.mark.parametrize("file", sorted((ROOT / "docs" / "results").glob("*.jsonl")), ids=lambda file: file.stem)
def test_every_figure_of_the_committed_results_has_a_plain_sentence(file):
    for row in rows_of(read_results(file)):
        for metric in row.metrics:
            assert metric.group != "figure" or figure_sentence(row.load["name"], metric.title), (row.name, metric.title)


def test_a_sentence_tells_what_the_stars_stood_for():
    assert figure_sentence("large_cycles", "64K/1") == "time to take, touch and free a block of 64 KiB, one alive at a time"
    assert figure_sentence("producer_consumer", "mixed").startswith("time a block over all threads, sizes from 16")
    assert figure_sentence("large_cycles", "unheard of") is None and figure_sentence("mine", "64K/1") is None
