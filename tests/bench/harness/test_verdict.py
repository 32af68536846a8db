"""The verdict: it finds the allocator that is planted slow, big, best or broken, and drops none."""

import io

import pytest
from rich.console import Console
from snug_bench.comparison import compare_results
from snug_bench.markdown import markdown
from snug_bench.measurement import Figure
from snug_bench.metric import Metric, operation_ns
from snug_bench.terminal import print_comparison, print_verdict
from snug_bench.verdict import judge
from synthetic import load, results, run, series

MIB = 2**20


def planted():
    return judge(results([*series("snug", 10, 20 * MIB), *series("twin", 10, 20 * MIB), *series("slow", 40, 22 * MIB),
                          *series("hog", 9, 60 * MIB), *series("quick", 8, 30 * MIB)]))


def test_the_slow_one_and_the_hog_stand_where_they_belong():
    verdict = planted()
    row = verdict.rows[0]
    assert max(row.cells, key=lambda name: row.sample(name, "time").median) == "slow"
    assert max(row.cells, key=lambda name: row.sample(name, "memory").median) == "hog"
    assert (row.best_peer("time"), row.best_peer("memory")) == ("quick", "twin")
    assert row.standing("snug", "time") == "worse"
    assert row.standing("snug", "memory") == "equal"
    assert row.standing("quick", "time") == "better"
    assert row.multiple("slow", "time", "snug") == pytest.approx(4, rel=0.05)
    assert [(each.row.name, each.metric.key) for each in verdict.losses("snug")][0] == ("load", "time")


def test_brackets_in_a_name_are_no_markup():
    screen = Console(file=io.StringIO(), width=200)
    runs = results([*series("snug[/b]", 10, 20 * MIB), *series("[red]peer", 30, 20 * MIB)])
    print_verdict(screen, judge(runs))
    print_comparison(screen, compare_results(runs, runs, ["*"]), everything=True)
    said = " ".join(screen.file.getvalue().split())
    assert "snug[/b]'s median" in said and "× [red]peer" in said and "snug[/b] op" in said


def test_the_frontier_has_those_whom_none_dominates():
    assert sorted(planted().rows[0].frontier()) == ["quick", "snug", "twin"]


@pytest.mark.parametrize(("times", "on_it"), [((20, 20, 20, 20, 20, 20), ["hog"]), ((20, 20, 25, 20, 16, 20), ["snug", "hog"]),
                                              ((10, 10, 10, 10, 10, 10), ["snug", "hog"])])
def test_who_is_unclear_in_one_takes_nobody_off_the_frontier(times, on_it):
    runs = [*(run("snug", number, time, 40 * MIB) for number, time in enumerate(times, 1)),
            *(run("hog", number, 20, 20 * MIB) for number in range(1, 7))]  # its memory is better
    assert judge(results(runs)).rows[0].frontier() == on_it


def test_snugs_variants_are_no_peers():
    row = judge(results([*series("snug", 10, 20), *series("snug-other", 5, 10), *series("peer", 12, 20)])).rows[0]
    assert row.best_peer("time") == "peer"
    assert row.standing("snug", "time") == "better"
    assert row.standing("peer", "time") == "worse"


def test_the_virtual_best_peer_is_chosen_on_odd_and_scored_on_even_repetitions():
    # The least of each half, or of all, would say that a peer needs 5.
    runs = [run("snug", number, 10, 10) for number in range(1, 5)]
    runs += [run("a", number, 8 if number % 2 else 20, 10) for number in range(1, 5)]
    runs += [run("b", number, 12 if number % 2 else 5, 10) for number in range(1, 5)]
    verdict = judge(results(runs))
    assert verdict.distance["synthetic", "time"] == pytest.approx(10 / 20)
    assert verdict.distance["real", "time"] is None


def test_one_repetition_serves_as_both_halves():
    verdict = judge(results([run("snug", 1, 10, 10), run("peer", 1, 20, 10)]))
    assert verdict.distance["synthetic", "time"] == pytest.approx(0.5)


def test_who_fails_stays_in_the_row_with_the_reason():
    broken = [run("broken", number, 1, 1, objection="killed by SIGSEGV", ending="signalled") for number in range(4)]
    verdict = judge(results([*series("snug", 10, 20, count=3), *broken]))
    cell = verdict.rows[0].cells["broken"]
    assert cell.failed and cell.failures == ["killed by SIGSEGV (3 of 3 runs, and the warm-up)"]
    assert verdict.rows[0].standing("broken", "time") == "failed"
    assert verdict.rows[0].best_peer("time") is None
    assert "load on broken: killed by SIGSEGV (3 of 3 runs, and the warm-up)" in markdown(verdict)


def test_a_failure_tells_its_share_of_the_counted_runs_and_whether_the_warm_up_failed():
    objections = {"early": ["hung", "", ""], "late": ["", "", "hung"], "both": ["hung", "died", ""], "only": ["hung"]}
    runs = [run(name, number, 1, 1, objection=what) for name, each in objections.items() for number, what in enumerate(each)]
    cells = judge(results(runs)).rows[0].cells
    assert {name: cell.failures for name, cell in cells.items()} == {
        "early": ["hung (the warm-up)"], "late": ["hung (1 of 2 runs)"],
        "both": ["hung (the warm-up)", "died (1 of 2 runs)"], "only": ["hung (the warm-up)"]}


@pytest.mark.parametrize(("of_snug", "of_peer", "said"), [
    (6, 6, "6 repetitions after"), (1, 1, "1 repetition of each cell (6 were planned) after"),
    (2, 4, "2 to 4 repetitions of each cell (6 were planned) after")])
def test_the_head_says_how_many_repetitions_there_are(of_snug, of_peer, said):
    runs = [run(name, number, 10, 20) for name, count in (("snug", of_snug), ("peer", of_peer)) for number in range(count + 1)]
    assert f". {said} a warm-up, interleaved" in markdown(judge(results(runs)))


def test_what_an_interrupted_grid_did_not_come_to_has_not_failed():
    row = judge(results([*series("snug", 10, 20, count=3), run("late", 0, 1, 1)])).rows[0]
    assert not row.cells["late"].failed and row.standing("late", "time") == "not run"
    assert row.standing("later", "time") == "not run"


def test_a_failed_snug_is_its_worst_loss():
    broken = [run("snug", number, 1, 1, objection="exit status 1") for number in range(1, 4)]
    verdict = judge(results([*broken, *series("peer", 10, 10, count=3)]))
    assert [each.ratio for each in verdict.losses("snug")] == [float("inf")]
    assert verdict.held("snug", "time") == (0, 1)


def test_a_run_without_the_figures_of_the_others_does_not_count():
    silent = [run("mute", number, 1, 1, figures={}) for number in range(1, 4)]
    cell = judge(results([*series("snug", 10, 10, count=3), *silent])).rows[0].cells["mute"]
    assert cell.failed and "did not print the figures" in cell.failures[0]


def test_a_load_with_several_figures_of_time_is_their_geometric_mean():
    figures = {"a": Figure(2, "ns"), "b": Figure(8, "us"), "c": Figure(3, "KiB"), "d": Figure(5, "M/s", True)}
    row = judge(results([run("snug", 1, 1, 1, figures=figures)], [load("load", figures=["a", "b", "c"])])).rows[0]
    assert row.sample("snug", "time").median == pytest.approx((2 * 8000) ** 0.5)
    assert row.sample("snug", "figure:c").median == 3 * 1024
    assert (row.sample("snug", "figure:b").median, row.metric("figure:b").unit) == (8000, "ns")
    assert "figure:d" not in row.cells["snug"].samples


def test_units_of_time_are_shown_alike_whatever_a_program_writes():
    figures = {"a": Figure(420, "us"), "b": Figure(0.5, "us"), "c": Figure(0.042, "ms"), "d": Figure(7, "ticks")}
    text = markdown(judge(results([run("snug", 1, 1, 1, figures=figures)])))
    assert {"| a | 420 µs |", "| b | 500 ns |", "| c | 42 µs |", "| d | 7 ticks |"} <= set(text.splitlines())


def test_a_program_may_know_its_settled_rss_better_than_the_last_sample():
    figures = {"settled RSS": Figure(7, "MiB")}
    runs = [run("snug", 1, 10, 9 * MIB, figures=figures), run("peer", 1, 10, 9 * MIB, figures={})]
    row = judge(results(runs, [load("load", settles=True)])).rows[0]
    assert (row.sample("snug", "settled").median, row.sample("peer", "settled").median) == (7 * MIB, 9 * MIB)
    assert not any(metric.group == "figure" for metric in row.metrics)


def test_more_a_second_is_better():
    rate = lambda value: {"speed": Figure(value, "M/s", True)}  # noqa: E731
    runs = [run("snug", 1, 1, 1, figures=rate(20)), run("fast", 1, 1, 1, figures=rate(50)),
            run("slow", 1, 1, 1, figures=rate(10))]
    row = judge(results(runs)).rows[0]
    assert row.best_peer("figure:speed") == row.best_peer("time") == "fast"
    assert row.multiple("snug", "figure:speed", "fast") == pytest.approx(2.5)


def test_nothing_is_no_infinitely_good_figure():
    kib = lambda value: {"first": Figure(value, "KiB")}  # noqa: E731
    runs = [run(name, number, 1, 1, figures=kib(size)) for name, size in (("snug", 12), ("page", 3), ("none", 0))
            for number in (1, 2)]
    row = judge(results(runs)).rows[0]
    assert row.best_peer("figure:first") == "none"
    assert row.multiple("snug", "figure:first", "none") == pytest.approx(3)  # pages
    assert row.standing("page", "figure:first") == "equal"
    zero = Metric("m", "m", "op/s", lambda run: None, higher_is_better=True)
    assert zero.cost_ratio(0, 5) > 1 > zero.cost_ratio(5, 0) > 0


@pytest.mark.parametrize(("value", "unit", "nanoseconds"), [
    (5, "ns", 5), (5, "us", 5e3), (2, "s", 2e9), (5, "M/s", 200), (1e6, "op/s", 1e3), (2, "kop/s", 5e5), (1e3, "op/CPU s", 1e6), (3, "op", None),
    (3, "KiB", None), (3, "", None), (0, "M/s", None)])
def test_units_of_time(value, unit, nanoseconds):
    assert operation_ns(Figure(value, unit)) == (nanoseconds if nanoseconds is None else pytest.approx(nanoseconds))
