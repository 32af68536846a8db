"""The ratio of two costs, and the word for it: the one rule by which everything here is compared, and by which
`snug run --compare` and `make demo` compare as well (tests/verdict_cases.json holds both to it).

Where two were measured in the same rounds, side by side in time, their ratio is made round by round, so that what slows
the machine cancels. The word follows from the interval of the ratio alone, never from the ratio itself: what is better or
worse is so by 1% at least, and lies as far beyond that as its own spread demands.
"""

import math
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from snug_bench.statistics import FEWEST_FOR_LEVEL, Interval, Sample, median_interval

BETTER, EQUAL, WORSE, UNCLEAR = "better", "equal", "worse", "unclear"
WORDS = (BETTER, EQUAL, WORSE, UNCLEAR)
WORST_FIRST = (WORSE, UNCLEAR, EQUAL, BETTER)
BAND = 1.03  # equal: nobody chooses an allocator for less, and where code happens to lie in memory moves times as much
LEAST_EFFECT = 1.01  # nobody chooses by less, however surely it is there
# By so many times its own width, in logarithms, what was seen has to clear the least effect, by the number of rounds
# (tools/compare/verdict.cpp says why).
MARGINS = {2: 32, 3: 2, 4: 1, 5: 1}
MARGIN = 0.5  # of six rounds or more


@dataclass(frozen=True)
class Ratio:
    """What one costs in multiples of what the other costs: above 1 is worse."""

    value: float
    interval: Interval | None  # None: a single value says nothing about noise
    word: str

    @property
    def half_width(self) -> float | None:
        """Of the interval, as a part of the ratio."""
        return None if self.interval is None else self.interval.width / (2 * self.value)


def word_of(interval: Interval, seen: Interval, margin: float) -> str:
    """Of a ratio that lies in `interval`, where `seen` has to clear the least effect by `margin` times its own width."""
    if 1 / BAND <= interval.low and interval.high <= BAND:
        return EQUAL
    cleared = math.log(LEAST_EFFECT) + margin * math.log(seen.high / seen.low)
    return BETTER if -math.log(seen.high) >= cleared else WORSE if math.log(seen.low) >= cleared else UNCLEAR


def worst(words: Iterable[str]) -> str:
    """Of the words against all rivals; unclear where there is no rival."""
    return min(words, key=WORST_FIRST.index, default=UNCLEAR)


def of_rounds(ratios: Sequence[float]) -> Ratio | None:
    """From the ratio of each round in which both were measured; None if there is no such round."""
    if not ratios:
        return None
    return judged(statistics.median(ratios), median_interval(ratios), len(ratios), MARGIN)


def of_two_times(own: Sample, other: Sample, cost_ratio: Callable[[float, float], float]) -> Ratio:
    """Of what was measured at two times, without a round in common: the medians' ratio, between the ratios of the far and
    of the near ends of their intervals. This is wider than what rounds give, since nothing cancels, and needs no margin."""
    ends = [cost_ratio(mine, theirs) for mine in (own.interval.low, own.interval.high)
            for theirs in (other.interval.low, other.interval.high)]
    few = min(len(own.values), len(other.values))
    level = own.interval.level and other.interval.level and min(own.interval.level, other.interval.level)
    return judged(cost_ratio(own.median, other.median), Interval(min(ends), max(ends), level), few, 0)


def judged(value: float, seen: Interval, count: int, margin: float) -> Ratio:
    """By the interval of `count` values that was seen; by their range, with a margin of its own, where they are few."""
    if count < 2:
        return Ratio(value, None, UNCLEAR)
    interval = seen if count >= FEWEST_FOR_LEVEL else widened(seen)
    return Ratio(value, interval, word_of(interval, seen, MARGINS.get(count, margin)))


def widened(seen: Interval) -> Interval:
    """Of the range of a few values, which is too narrow to speak for the noise: its own width more at each end."""
    growth = seen.high / seen.low
    return Interval(seen.low / growth, seen.high * growth, None)
