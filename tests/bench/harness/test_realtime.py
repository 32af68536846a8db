"""snug-realtime: the program is compiled and run on the C library's malloc, and what it tells fits together."""

import io

import pytest
from rich.console import Console
from snug_bench.problem import Problem
from snug_realtime.cli import FIGURES, compiled, environment_of, measured, run, table

BRIEF = ["--operations", "20000", "--load", "1", "--others", "4"]


def test_a_run_tells_every_figure_and_longer_ones_are_no_less(tmp_path):
    result = measured("glibc", [str(compiled()), *BRIEF], environment_of("glibc", tmp_path))
    for call in ("malloc", "free", "empty"):
        row = [result[figure] for figure in FIGURES if figure.startswith(call + "/")]
        assert row == sorted(row) and row[0] > 0
    assert result["refused"] == 0 and not result["announced"]
    text = io.StringIO()
    Console(file=text, width=100).print(table({"glibc": [result, result | {"malloc/max": 7e9}]}))
    assert "7000000000" in text.getvalue()


def test_snug_that_does_not_announce_is_no_result(tmp_path):
    with pytest.raises(Problem, match="could not announce"):
        measured("snug", [str(compiled()), *BRIEF], environment_of("glibc", tmp_path))


def test_what_is_not_there_is_named(tmp_path):
    with pytest.raises(Problem, match="no contender 'dlmalloc'"):
        run(contenders="dlmalloc")
    with pytest.raises(Problem, match="build first"):
        environment_of("snug", tmp_path)
