"""The statistics: intervals cover what they claim to."""

import itertools
import random
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st
from snug_bench.statistics import LEVEL, coverage, geometric_mean, median_interval

values = st.lists(st.floats(1e-3, 1e12), min_size=1, max_size=30)


@given(values)
def test_the_interval_contains_the_median_and_lies_within_the_range(sample):
    bounds = median_interval(sample)
    assert min(sample) <= bounds.low <= statistics.median(sample) <= bounds.high <= max(sample)
    assert (bounds.level is None) == (len(sample) < 6)
    assert bounds.level is None or LEVEL <= bounds.level < 1


@pytest.mark.parametrize("count", range(1, 11))
def test_coverage_is_what_counting_every_case_gives(count):
    """Each value is below the median or above it: all 2^n cases."""
    for rank in range(1, count // 2 + 1):
        inside = sum(rank <= sum(below) <= count - rank for below in itertools.product((0, 1), repeat=count))
        assert coverage(count, rank) == pytest.approx(inside / 2**count)


@pytest.mark.parametrize("count", [6, 7, 9, 12, 20])
@pytest.mark.parametrize("draw", [lambda source: source.lognormvariate(0, 1), lambda source: source.gauss(100, 1),
                                  lambda source: source.paretovariate(1.5)], ids=["lognormal", "normal", "pareto"])
def test_intervals_cover_the_true_median_at_their_stated_rate(count, draw):
    source = random.Random(f"{count}")
    true = statistics.median(draw(random.Random(seed)) for seed in range(8001))
    trials = [median_interval([draw(source) for _ in range(count)]) for _ in range(1500)]
    covered = sum(bounds.low <= true <= bounds.high for bounds in trials) / len(trials)
    # Four standard deviations of 1500 trials are 0.018; the true median is an estimate, too.
    assert covered == pytest.approx(trials[0].level, abs=0.025)
    assert trials[0].level >= LEVEL


def test_with_five_values_no_level_is_claimed():
    assert median_interval([3, 1, 2, 5, 4]).level is None
    assert (median_interval([3, 1, 2]).low, median_interval([3, 1, 2]).high) == (1, 3)


@given(st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=20))
def test_the_geometric_mean_lies_within_and_turns_with_its_reciprocals(ratios):
    mean = geometric_mean(ratios)
    assert min(ratios) * 0.999 <= mean <= max(ratios) * 1.001
    assert mean * geometric_mean([1 / ratio for ratio in ratios]) == pytest.approx(1)
    assert geometric_mean([]) is None
