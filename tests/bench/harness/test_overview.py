"""The answer above the fold: who leads, who is missing and why, and a plain sentence for every name."""

from pathlib import Path

import pytest
from snug_bench.legend import figure_sentence, legends
from snug_bench.overview import overview, overviews
from snug_bench.results import read_results
from snug_bench.verdict import judge, rows_of
from snug_bench.workload import load_loads
from synthetic import load, results, run, series

ROOT = Path(__file__).parents[3]


def judged(*runs, loads=None):
    return judge(results([each for some in runs for each in some], loads))


def test_leaders_are_the_least_and_who_counts_as_equal_to_it():
    verdict = judged(series("snug", 10, 40 << 20, noise=0), series("near", 10.2, 30 << 20, noise=0),
                     series("far", 20, 10 << 20, noise=0))
    view = overview(verdict, "synthetic")
    assert [point.name for point in view.leaders("time")] == ["snug", "near"]
    assert [point.name for point in view.leaders("memory")] == ["far"]
    assert view.named("time") == "snug 0.98×, near 1.00×" and view.notes == []


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


def test_who_has_no_mean_is_said_to_be_missing():
    failing = [run(name, number, 1, 1, objection="crashed") for name in ("one", "two") for number in range(3)]
    verdict = judged(series("snug", 10, 10 << 20), series("peer", 12, 10 << 20), failing)
    assert overview(verdict, "synthetic").notes == ["Missing: one, two (nothing counted in load)."]


def test_who_is_alone_is_said_to_be():
    failing = [run("peer", number, 1, 1, objection="crashed") for number in range(3)]
    assert overview(judged(series("snug", 10, 10 << 20), failing), "synthetic").notes == [
        "Missing: snug (nobody to compare with in load).", "Missing: peer (nothing counted in load)."]


def test_only_kinds_that_were_run_are_viewed():
    verdict = judged(series("snug", 10, 10, on="redis"), series("peer", 10, 10, on="redis"), loads=[load("redis", "real")])
    assert [view.kind for view in overviews(verdict)] == ["real"]


def test_every_load_has_a_plain_sentence():
    assert set(load_loads(ROOT / "bench")) == set(legends())
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
