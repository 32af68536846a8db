"""The ratio of two costs, and the word for it: the one rule by which everything here is compared, and by which
`snug run --compare` and `make demo` compare as well (tests/verdict_cases.json holds both to it).

Where two were measured in the same rounds, side by side in time, their ratio is made round by round, so that what slows
the machine cancels. The word follows from the interval of the ratio alone, never from the ratio itself.
"""

import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from snug_bench.statistics import FEWEST_FOR_LEVEL, Interval, Sample, median_interval

BETTER, EQUAL, WORSE, UNCLEAR = "better", "equal", "worse", "unclear"
WORDS = (BETTER, EQUAL, WORSE, UNCLEAR)
WORST_FIRST = (WORSE, UNCLEAR, EQUAL, BETTER)
BAND = 1.03  # equal: nobody chooses an allocator for less, and where code happens to lie in memory moves times as much


@dataclass(frozen=True)
class Ratio:
    """What one costs in multiples of what the other costs: above 1 is worse."""

    value: float
    interval: Interval | None  # None: a single value says nothing about noise

    @property
    def word(self) -> str:
        return UNCLEAR if self.interval is None else word_of(self.interval.low, self.interval.high)

    @property
    def half_width(self) -> float | None:
        """Of the interval, as a part of the ratio."""
        return None if self.interval is None else self.interval.width / (2 * self.value)


def word_of(low: float, high: float) -> str:
    """Of a ratio that lies in [low, high]."""
    if 1 / BAND <= low and high <= BAND:
        return EQUAL
    return BETTER if high < 1 else WORSE if low > 1 else UNCLEAR


def worst(words: Iterable[str]) -> str:
    """Of the words against all rivals; unclear where there is no rival."""
    return min(words, key=WORST_FIRST.index, default=UNCLEAR)


def of_rounds(ratios: Sequence[float]) -> Ratio | None:
    """From the ratio of each round in which both were measured; None if there is no such round."""
    if not ratios:
        return None
    bounds = median_interval(ratios)
    return Ratio(statistics.median(ratios), bounds if bounds.level else widened(bounds, len(ratios)))


def of_two_times(own: Sample, other: Sample, cost_ratio: Callable[[float, float], float]) -> Ratio:
    """Of what was measured at two times, without a round in common: the medians' ratio, between the ratios of the far and
    of the near ends of their intervals. This is wider than what rounds give, since nothing cancels."""
    ends = [cost_ratio(mine, theirs) for mine in (own.interval.low, own.interval.high)
            for theirs in (other.interval.low, other.interval.high)]
    few = min(len(own.values), len(other.values))
    level = own.interval.level and other.interval.level and min(own.interval.level, other.interval.level)
    bounds = Interval(min(ends), max(ends), level)
    return Ratio(cost_ratio(own.median, other.median), bounds if few >= FEWEST_FOR_LEVEL else widened(bounds, few))


def widened(seen: Interval, count: int) -> Interval | None:
    """Of the range of a few values, which is too narrow to speak for the noise: its own width more at each end."""
    if count < 2:
        return None
    growth = seen.high / seen.low
    return Interval(seen.low / growth, seen.high * growth, None)
