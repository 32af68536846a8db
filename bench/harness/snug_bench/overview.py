"""The overview: where each allocator stands over all loads of one kind, in time and in memory, and which leads.

A point is a pair of overall costs (overall.py), in multiples of the subject's. A mean over fewer rows than others have,
because runs failed, is no match for theirs: it is shown, but leads nothing.
"""

from collections import defaultdict
from dataclasses import dataclass

from snug_bench.quantity import count_of
from snug_bench.ratio import BAND, BETTER, EQUAL, UNCLEAR, WORSE
from snug_bench.statistics import Interval
from snug_bench.verdict import SCORED, Row, Verdict
from snug_bench.workload import REAL, SYNTHETIC

NAMED = 3
KIND_NAMES = {REAL: "real programs", SYNTHETIC: "synthetic workloads"}
SAID = {"time": {BETTER: "faster than", EQUAL: "as fast as", WORSE: "slower than"},
        "memory": {BETTER: "smaller than", EQUAL: "as large as", WORSE: "larger than"}}


@dataclass(frozen=True)
class Point:
    name: str
    time: float
    memory: float
    rows: int  # that both means were made of
    of: int
    time_interval: Interval | None = None
    memory_interval: Interval | None = None

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
    for name in verdict.results.names() if verdict.peers() else []:
        time, memory = (verdict.overall[kind, key, name] for key in SCORED)
        if time.ratio is None or memory.ratio is None:
            missing[why(rows, name, verdict.subject)].append(name)
            continue
        points.append(Point(name, time.ratio.value, memory.ratio.value, min(time.rows, memory.rows), len(rows),
                            time.ratio.interval, memory.ratio.interval))
        if not points[-1].complete:
            hollow[why(rows, name, verdict.subject)].append(name)
    notes = [f"Missing: {', '.join(names)} ({reason})." for reason, names in missing.items()]
    notes += [f"Hollow, as the mean leaves out a row or more: {', '.join(names)} ({reason})." for reason, names in hollow.items()]
    return Overview(kind, len(rows), points, notes)


def why(rows: list[Row], name: str, subject: str) -> str:
    """An allocator has no overall cost, or one that leaves out some of the rows."""
    without = [row.name for row in rows if name not in row.cells or not row.cells[name].samples]
    alone = [row.name for row in rows if row.name not in without
             and any(not row.round_ratios(name, key, subject) for key in SCORED)]
    reasons = {"nothing counted in": without, f"no repetition beside {subject} in": alone}
    return "; ".join(f"{what} {', '.join(those[:NAMED])}" + (f" and {len(those) - NAMED} more" if len(those) > NAMED else "")
                     for what, those in reasons.items() if those)


def overview_sentence(verdict: Verdict, kind: str) -> str:
    """Over 11 rows of real programs, snug is faster than 9 of 16 others, as fast as 2 (b, c), slower than 1 (a); it is smaller
    than 16 of 16 others. Empty if it has no peer."""
    if not verdict.peers() or not verdict.rows_of(kind):
        return ""
    partly = [name for name in verdict.peers() if not all(verdict.overall[kind, key, name].complete for key in SCORED)]
    return (f"Over {count_of(len(verdict.rows_of(kind)), 'row')} of {KIND_NAMES[kind]}, {verdict.subject} is "
            f"{words_clause(verdict, kind, 'time')}; it is {words_clause(verdict, kind, 'memory')}"
            + (f"; not counted, as they failed in a row: {', '.join(partly)}" if partly else ""))


def words_clause(verdict: Verdict, kind: str, key: str) -> str:
    """How many have each word, and which where the subject is not better; a word that none has is left out."""
    by_word = verdict.by_word(key, {name: verdict.overall[kind, key, name] for name in verdict.peers()})
    better, *others = (SAID[key] | {UNCLEAR: "not to be told from"}).items()
    whole = sum(map(len, by_word.values()))
    return ", ".join([f"{better[1]} {len(by_word.get(BETTER, []))} of {count_of(whole, 'other')}",
                      *(f"{said} {len(names)} ({', '.join(names)})" for word, said in others if (names := by_word.get(word)))])
