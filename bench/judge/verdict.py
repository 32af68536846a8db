"""The verdict on one figure: where snug stands among its peers, from the values of a few runs of each.

The cast: a *series* holds one allocator's values of one figure; a *standing* is snug's place in it against the best
peer.
"""

import math
import statistics
from dataclasses import asdict, dataclass
from typing import Any

TIE = 0.03  # medians closer than this are tied whatever the spread

DEFINITION = f"""\
Every value is a median over the rounds; [low–high] is the middle half of them, between the quartiles. The best peer is
the one with the best median. The ratio is snug's cost in units of that peer's: above 1, snug is slower or larger.
  tied    the medians differ by less than {TIE:.0%}, or the middle halves of snug and of the best peer overlap
  first   not tied, and snug's median is the better one
  lost    not tied, and it is the worse one; or snug's runs failed"""


@dataclass(frozen=True)
class Series:
    """One allocator's values of one figure."""

    values: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    @property
    def low(self) -> float:
        return self._quartile(1)

    @property
    def high(self) -> float:
        return self._quartile(3)

    def _quartile(self, number: int) -> float:
        if len(self.values) < 2:
            return self.values[0]
        return statistics.quantiles(self.values, n=4, method="inclusive")[number - 1]

    def as_json(self) -> dict[str, Any]:
        return {"median": self.median, "low": self.low, "high": self.high, "values": self.values}


@dataclass(frozen=True)
class Figure:
    """What a series is of."""

    load: str
    name: str
    unit: str
    higher_is_better: bool = False


@dataclass(frozen=True)
class Standing:
    """Snug's place in one figure. Allocators whose runs failed are not among the series."""

    figure: Figure
    series: dict[str, Series]
    best_peer: str | None
    ratio: float
    verdict: str  # first, tied or lost

    def as_json(self) -> dict[str, Any]:
        # JSON knows no infinity: where the best peer's cost is 0, there is no ratio.
        ratio = self.ratio if math.isfinite(self.ratio) else None
        return {**asdict(self.figure), "verdict": self.verdict, "best_peer": self.best_peer, "ratio": ratio,
                "allocators": {name: series.as_json() for name, series in self.series.items()}}


def judge(figure: Figure, series: dict[str, Series]) -> Standing:
    """The standing of the series called "snug" among the others."""
    snug = series.get("snug")
    peers = {name: each for name, each in series.items() if not is_snug(name)}
    if not peers:
        return Standing(figure, series, None, 1.0, "first" if snug else "lost")
    pick = max if figure.higher_is_better else min
    best_peer = pick(peers, key=lambda name: peers[name].median)
    if snug is None:
        return Standing(figure, series, best_peer, math.inf, "lost")
    ratio = cost_ratio(figure, snug.median, peers[best_peer].median)
    outcome = "first" if ratio < 1 else "lost"
    return Standing(figure, series, best_peer, ratio, "tied" if tied(snug, peers[best_peer], ratio) else outcome)


def is_snug(name: str) -> bool:
    """Snug without huge pages is no peer of snug."""
    return name in ("snug", "snug-nothp")


def cost_ratio(figure: Figure, snug: float, peer: float) -> float:
    """Snug's cost in units of the peer's."""
    cost, base = (peer, snug) if figure.higher_is_better else (snug, peer)
    if base == 0:
        return 1.0 if cost == 0 else math.inf
    return cost / base


def tied(a: Series, b: Series, ratio: float) -> bool:
    """Whether the difference means nothing."""
    return abs(ratio - 1) < TIE or (a.low <= b.high and b.low <= a.high)
