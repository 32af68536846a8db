"""What a handful of measurements says: its median, and an interval for it. What two of them say: ratio.py.

No distribution is assumed: times have long tails, and a mean with its deviation would describe none of them. The
interval is that between two of the sorted values. How often it covers the true median is then exact arithmetic: each
value lies below the median with probability 1/2, so the number of those that do is binomial.
"""

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

LEVEL = 0.95
FEWEST_FOR_LEVEL = 6  # with five values even minimum and maximum cover the median 94% of the time only


@dataclass(frozen=True)
class Interval:
    """Where the true median lies: `level` of the time if there are six values or more, else minimum and maximum."""

    low: float
    high: float
    level: float | None  # None: just the range of what was seen

    @property
    def width(self) -> float:
        return self.high - self.low


@dataclass(frozen=True)
class Sample:
    """The values of one metric of one cell, in the order of their repetitions."""

    values: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    @property
    def interval(self) -> Interval:
        return median_interval(self.values)


def coverage(count: int, rank: int) -> float:
    """How often the interval from the `rank`-th smallest to the `rank`-th largest of `count` values has the median."""
    outside = sum(math.comb(count, below) for below in range(rank))
    return 1 - 2 * outside / 2**count


def median_interval(values: Sequence[float]) -> Interval:
    """The narrowest interval between values of the same rank from both ends that keeps LEVEL."""
    ordered = sorted(values)
    count = len(ordered)
    if count < FEWEST_FOR_LEVEL:
        return Interval(ordered[0], ordered[-1], None)
    rank = 1
    while coverage(count, rank + 1) >= LEVEL:
        rank += 1
    return Interval(ordered[rank - 1], ordered[count - rank], coverage(count, rank))


def geometric_mean(values: Iterable[float]) -> float | None:
    """None of nothing."""
    logarithms = [math.log(value) for value in values]
    return math.exp(sum(logarithms) / len(logarithms)) if logarithms else None
