"""The one rule: every case that the C++ judge has to pass as well, and what the rule claims of noise."""

import json
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from snug_bench.metric import Metric
from snug_bench.ratio import BETTER, EQUAL, UNCLEAR, WORSE, of_rounds, of_two_times, word_of, worst
from snug_bench.statistics import Interval, Sample
from snug_bench.verdict import Cell, Row
from synthetic import load

CASES = json.loads((Path(__file__).resolve().parents[2] / "verdict_cases.json").read_text())
costs = st.lists(st.floats(1e-3, 1e9), min_size=1, max_size=12)


def row_of(case):
    metric = Metric("m", "m", case["unit"], lambda run: None, case["better"] == "higher")
    cells = {name: Cell(name, {}, {"m": {number: value for number, value in enumerate(case[name], 1) if value is not None}},
                        [], 0, 0) for name in ("a", "b")}
    return Row(load("load"), 1, [metric], cells, frozenset(), len(case["a"]))


@pytest.mark.parametrize("case", CASES["samples"], ids=lambda case: case["name"])
def test_the_ratio_its_interval_and_the_word(case):
    row = row_of(case)
    found = row.ratio("a", "m", "b")
    assert row.word("a", "m", "b") == case["word"]
    assert (found and found.value) == (case["ratio"] and pytest.approx(case["ratio"], rel=1e-9))
    bounds = found and found.interval and [found.interval.low, found.interval.high]
    assert bounds == (case["interval"] and pytest.approx(case["interval"], rel=1e-9))


@pytest.mark.parametrize("case", CASES["rows"], ids=lambda case: case["word"])
def test_the_word_of_a_row_is_the_worst(case):
    assert worst(case["words"]) == case["word"]


def test_without_a_rival_nothing_is_clear():
    assert worst([]) == UNCLEAR


@given(st.integers(1, 12).flatmap(lambda count: st.tuples(*[st.lists(st.floats(1e-3, 1e9), min_size=count, max_size=count)] * 2)))
def test_the_word_the_other_way_round_is_the_opposite(both):
    there, back = (of_rounds([mine / theirs for mine, theirs in zip(*each, strict=True)]) for each in (both, both[::-1]))
    assert (there.word, back.word) in {(BETTER, WORSE), (WORSE, BETTER), (EQUAL, EQUAL), (UNCLEAR, UNCLEAR)}


@pytest.mark.parametrize(("count", "most"), [(2, 0.02), (3, 0.02), (4, 0.012), (6, 0.004), (9, 0.004)])
def test_two_of_one_source_are_rarely_told_apart(count, most):
    source = random.Random(count)
    ratios = ([source.lognormvariate(0, 0.1) / source.lognormvariate(0, 0.1) for _ in range(count)] for _ in range(2000))
    assert sum(of_rounds(each).word in (BETTER, WORSE) for each in ratios) / 2000 <= most


@pytest.mark.parametrize(("count", "factor"), [(3, 1.5), (6, 1.2)])
def test_a_clear_difference_is_seen(count, factor):
    source = random.Random(count)
    ratios = ([source.gauss(100 * factor, 3) / source.gauss(100, 3) for _ in range(count)] for _ in range(1000))
    assert sum(of_rounds(each).word == WORSE for each in ratios) > 950


@pytest.mark.parametrize(("low", "high", "margin", "word"), [
    (0.98, 1.02, 1, EQUAL), (1 / 1.03, 1.03, 1, EQUAL), (0.9, 0.99, 0, BETTER), (1.01, 1.1, 0, WORSE), (0.9, 0.995, 0, UNCLEAR),
    (1.005, 1.1, 0, UNCLEAR), (0.99, 1.04, 0, UNCLEAR), (0.9, 0.94, 1, BETTER), (0.9, 0.95, 1, UNCLEAR), (1.06, 1.1, 1, WORSE),
    (1.05, 1.1, 1, UNCLEAR)])
def test_the_word_of_an_interval(low, high, margin, word):
    bounds = Interval(low, high, 0.95)
    assert word_of(bounds, bounds, margin) == word


def two_times(own, other, higher=False):
    cost = Metric("m", "m", "op/s" if higher else "ns", lambda run: None, higher)
    return of_two_times(Sample(tuple(own)), Sample(tuple(other)), cost.cost_ratio)


def test_two_times_are_compared_by_the_far_and_the_near_ends():
    found = two_times([90, 91, 92, 93, 94, 95], [100, 101, 102, 103, 104, 105])
    assert (found.value, found.interval.low, found.interval.high) == (92.5 / 102.5, 90 / 105, 95 / 100)
    assert found.word == BETTER and two_times([100] * 6, [101] * 6).word == EQUAL
    assert two_times([90, 91, 92, 93, 94, 101], [100, 101, 102, 103, 104, 105]).word == UNCLEAR
    assert two_times([90] * 6, [100] * 6, higher=True).word == WORSE


def test_few_of_two_times_are_widened_and_one_has_no_interval():
    few = two_times([90, 91, 92, 93, 94, 95], [100, 101, 102])
    assert few.interval.low == pytest.approx(90 / 102 / (95 / 100 * 102 / 90)) and few.word == UNCLEAR
    assert two_times([90, 91, 90], [100] * 6).word == BETTER
    assert two_times([90], [100] * 6).interval is None and two_times([90], [100] * 6).word == UNCLEAR
