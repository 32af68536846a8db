"""compare: planted changes are found, noise is not, and the exit status says which."""

import pytest
from snug_bench import cli
from snug_bench.comparison import compare_results
from snug_bench.measurement import Figure
from snug_bench.problem import Problem
from snug_bench.results import write_header
from synthetic import load, results, run, series

MIB = 2**20


def write(folder, name, *runs, **grid):
    file = folder / f"{name}.jsonl"
    write_header(file, results(list(runs), **grid))
    return str(file)


def outcomes(old, new):
    comparison = compare_results(results(old), results(new), ["snug"])
    return {(change.row, change.metric.key): change.outcome for change in comparison.changed}


def test_what_became_slower_and_smaller_is_said():
    found = outcomes(series("snug", 10, 20 * MIB), series("snug", 13, 10 * MIB, seed=2))
    assert found == {("load", "time"): "worse", ("load", "memory"): "better", ("load", "figure:op"): "worse"}


def test_the_same_within_noise_is_no_change():
    assert outcomes(series("snug", 10, 20 * MIB, noise=0.1), series("snug", 10, 20 * MIB, noise=0.1, seed=2)) == {}
    found = compare_results(results(series("snug", 10, 20 * MIB, noise=0.1)), results(series("snug", 10, 20 * MIB, noise=0.1, seed=2)),
                            ["snug"])
    assert {each.metric.key for each in found.unclear} == {"time", "figure:op"}
    assert {each.metric.key for each in found.equal} == {"memory"}


def test_what_fails_now_is_worse():
    broken = [run("snug", number, 1, 1, objection="exit status 1") for number in range(1, 4)]
    comparison = compare_results(results(series("snug", 10, 20)), results(broken), ["snug"])
    assert [change.outcome for change in comparison.worse] == ["fails now"]
    comparison = compare_results(results(broken), results(series("snug", 10, 20)), ["snug"])
    assert [change.outcome for change in comparison.changed] == ["works now"] and not comparison.worse


def test_what_only_one_has_is_said():
    old = results([*series("snug", 10, 20), *series("snug", 10, 20, on="other")])
    comparison = compare_results(old, results(series("snug", 10, 20)), ["snug"])
    assert comparison.warnings == ["other ×1: only in the old results"]


def test_an_allocator_that_only_the_new_one_has_is_said():
    old, new = results(series("snug", 10, 20)), results([*series("snug", 10, 20), *series("snug-small", 10, 20)])
    assert compare_results(old, new, ["snug*"]).warnings == ["load on snug-small: only in the new results"]


def test_a_mean_of_other_figures_is_not_compared():
    def figures(**values):
        return [run("snug", number, 10, 20, figures={name: Figure(value, "ns") for name, value in values.items()})
                for number in range(1, 7)]

    comparison = compare_results(results(figures(fast=10)), results(figures(fast=10, slow=1000)), ["snug"])
    assert comparison.changed == [] and {each.metric.key for each in comparison.equal} == {"memory", "figure:fast"}
    assert comparison.warnings == ["load: time is not compared, since only one has slow"]


def test_a_figure_with_another_unit_is_not_compared():
    def rate(value, unit):
        return [run("snug", number, 10, 20, figures={"rate": Figure(value, unit, True)}) for number in range(1, 7)]

    comparison = compare_results(results(rate(5000, "k/s")), results(rate(5, "M/s")), ["snug"])
    assert comparison.changed == [] and {each.metric.key for each in comparison.equal} == {"time", "memory"}
    assert comparison.warnings == ["load: rate is not compared, since its unit was k/s and is M/s"]


def test_a_load_that_does_something_else_is_said():
    one, other = ({**load("load"), "command": ["true"], "scale": scale} for scale in (1.0, 2.0))
    comparison = compare_results(results(series("snug", 10, 20), [one]), results(series("snug", 10, 20), [other]), ["snug"])
    assert comparison.warnings == ["load: another scale"]


def test_nothing_in_common_is_a_problem():
    with pytest.raises(Problem, match="nothing in common"):
        compare_results(results(series("snug", 10, 20)), results(series("peer", 10, 20)), ["snug"])
    with pytest.raises(Problem, match="--scale"):
        compare_results(results(series("snug", 1, 2)), results(series("snug", 1, 2), shrink=0.1), ["snug"])


@pytest.mark.parametrize(("time", "status"), [(10, 0), (13, 1), (7, 0)])
def test_the_exit_status_is_for_a_ci(tmp_path, capsys, monkeypatch, time, status):
    old, new = write(tmp_path, "old", *series("snug", 10, 20)), write(tmp_path, "new", *series("snug", time, 20, seed=2))
    assert called(monkeypatch, "compare", old, new) == status
    assert f"worse in {2 if status else 0} (" in capsys.readouterr().out


def test_names_may_stand_apart(tmp_path, capsys, monkeypatch):
    runs = [*series("snug", 10, 20), *series("peer", 10, 20)]
    old, new = write(tmp_path, "old", *runs), write(tmp_path, "new", *runs)
    assert called(monkeypatch, "compare", old, new, "--allocators", "snug, peer", "--all") == 0
    out = capsys.readouterr().out
    assert " snug " in out and " peer " in out


@pytest.mark.parametrize("arguments", [[], ["nowhere.jsonl", "nowhere.jsonl"], ["--nosuch"]])
def test_wrong_usage_is_status_2(monkeypatch, capsys, arguments):
    assert called(monkeypatch, "compare", *arguments) == 2
    assert capsys.readouterr().err


def called(monkeypatch, *arguments):
    """The exit status of the command line."""
    monkeypatch.setattr("sys.argv", ["snug-bench", *arguments])
    with pytest.raises(SystemExit) as ending:
        cli.main()
    return ending.value.code
