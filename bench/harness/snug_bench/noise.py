"""Noise: whether the machine was quiet enough to judge time on. It was not if others took more than a tenth of the
processors while the runs lasted, or if the ratios of time spread by more than a tenth, whatever the cause.
"""

import statistics
from collections.abc import Iterable
from dataclasses import dataclass

from snug_bench.processor_time import ProcessorTime

MOST = 0.10  # of either
WIDEST = 10.0  # half width that is worth a figure: beyond it some runs took next to no time
SHORTEST = 1.0  # second of a processor: a hundred ticks, each 1% of it


@dataclass(frozen=True)
class Noise:
    others_share: float | None  # of the machine's processor time; None: not known, as of results of an older snug-bench
    half_width: float | None  # of the intervals of the ratios of time, in the middle of them; None: there is no interval

    @property
    def too_noisy(self) -> bool:
        """To judge the time of a row."""
        return bool(self.reasons)

    @property
    def disturbed(self) -> bool:
        """By others, so that means over rows are no better known."""
        return self.others_share is not None and self.others_share > MOST

    @property
    def reasons(self) -> str:
        """Empty if it is quiet enough."""
        found = []
        if self.disturbed:
            found.append(f"other programs took {self.others_share:.0%} of the processors")
        if self.half_width is not None and self.half_width > MOST:
            more = "more than " if self.half_width > WIDEST else ""
            found.append(f"ratios spread by {more}±{min(self.half_width, WIDEST):.0%}")
        return ", ".join(found)

    @property
    def sentence(self) -> str:
        """How a verdict begins; empty if it is quiet enough."""
        return f"Too noisy to judge time: {self.reasons}" if self.too_noisy else ""


def noise_of(others_share: float | None, half_widths: list[float]) -> Noise:
    return Noise(others_share, statistics.median(half_widths) if half_widths else None)


def others_share(times: Iterable[ProcessorTime | None]) -> float | None:
    """Of the runs with these times, all taken together."""
    known = [each for each in times if each]
    total = sum(each.total for each in known)
    if total < SHORTEST:
        return None
    return min(max(sum(each.taken - each.own for each in known) / total, 0.0), 1.0)
