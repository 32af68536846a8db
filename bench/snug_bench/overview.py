"""The overview: where each allocator stands over all loads of one kind, in time and in memory, and who leads.

A point is a pair of scores: geometric means of costs in multiples of the virtual best peer's. A mean over fewer rows than
others have, because runs failed, is no match for theirs: it is shown, but leads nothing.
"""

from collections import defaultdict
from dataclasses import dataclass

from snug_bench.ratio import BAND
from snug_bench.verdict import SCORED, Row, Verdict, on_even, virtual_best
from snug_bench.workload import REAL, SYNTHETIC

NAMED = 3


@dataclass(frozen=True)
class Point:
    name: str
    time: float
    memory: float
    rows: int  # that both means were made of
    of: int

    @property
    def complete(self) -> bool:
        return self.rows == self.of


@dataclass(frozen=True)
class Overview:
    kind: str
    rows: int
    points: list[Point]
    notes: list[str]  # what is missing, and why

    def leaders(self, key: str) -> list[Point]:
        """Those with the least, and those within the band of what counts as equal to it, the least first."""
        whole = sorted((point for point in self.points if point.complete), key=lambda point: getattr(point, key))
        return [point for point in whole if getattr(point, key) <= BAND * getattr(whole[0], key)]

    def frontier(self) -> list[Point]:
        """Those that no other undercuts in one without exceeding them in the other, by time."""
        whole = sorted((point for point in self.points if point.complete), key=lambda point: (point.time, point.memory))
        least, found = float("inf"), []
        for point in whole:
            if point.memory < least:
                least = point.memory
                found.append(point)
        return found

    def named(self, key: str) -> str:
        """snug 0.93×, mimalloc2 0.96× and 2 more"""
        leaders = self.leaders(key)
        text = ", ".join(f"{point.name} {getattr(point, key):.2f}×" for point in leaders[:NAMED])
        return text + (f" and {len(leaders) - NAMED} more within 3%" if len(leaders) > NAMED else "")


def overviews(verdict: Verdict) -> list[Overview]:
    """Of the kinds of load that were run, real programs first."""
    return [overview(verdict, kind) for kind in (REAL, SYNTHETIC) if verdict.rows_of(kind)]


def overview(verdict: Verdict, kind: str) -> Overview:
    rows = verdict.rows_of(kind)
    points, missing, hollow = [], defaultdict(list), defaultdict(list)
    for name in verdict.results.names():
        time, memory = (verdict.scores[kind, key, name] for key in SCORED)
        if time.mean is None or memory.mean is None:
            missing[why(rows, name)].append(name)
            continue
        points.append(Point(name, time.mean, memory.mean, min(time.rows, memory.rows), len(rows)))
        if not points[-1].complete:
            hollow[why(rows, name)].append(name)
    notes = [f"Missing: {', '.join(names)} ({reason})." for reason, names in missing.items()]
    notes += [f"Hollow, as the mean leaves out a row or more: {', '.join(names)} ({reason})." for reason, names in hollow.items()]
    return Overview(kind, len(rows), points, notes)


def why(rows: list[Row], name: str) -> str:
    """An allocator has no score, or one that leaves out some of the rows."""
    without = [row.name for row in rows if name not in row.cells or not row.cells[name].samples]
    alone = [row.name for row in rows if row.name not in without and any(virtual_best(row, key) is None for key in SCORED)]
    few = [row.name for row in rows if row.name not in without + alone and any(on_even(row, name, key) is None for key in SCORED)]
    reasons = {"nothing counted in": without, "nobody to compare with in": alone, "too few repetitions of": few}
    return "; ".join(f"{what} {', '.join(those[:NAMED])}" + (f" and {len(those) - NAMED} more" if len(those) > NAMED else "")
                     for what, those in reasons.items() if those)
