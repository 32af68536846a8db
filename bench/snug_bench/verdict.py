"""The verdict: where each allocator stands in each load, and over all of them.

The cast: a *row* is a load with a number of threads; a *cell* is a row on one allocator, with a sample for each metric;
a *score* is an allocator's geometric mean over rows against the *virtual best peer*, which is in each row the peer that
is best there. Who that is, is chosen on the odd repetitions and its value taken from the even ones: the smallest of
several noisy medians is smaller than any of them truly is, and would flatter nobody but a peer that does not exist.

Snug's own entries are no peers: snug is measured against the others, never against itself.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from snug_bench.contender import SNUG
from snug_bench.measurement import WARM_UP, Measurement
from snug_bench.metric import Metric, metrics_of
from snug_bench.quantity import count_of
from snug_bench.results import Results
from snug_bench.statistics import Sample, geometric_mean, tied
from snug_bench.workload import REAL, SYNTHETIC

FIRST, TIED, LOST, FAILED, NOT_RUN = "first", "tied", "lost", "failed", "not run"
SCORED = ("time", "memory")

DEFINITION = """\
Values are medians over the repetitions. The interval covers the true median 95% of the time or more (between two of the
sorted values, by the binomial distribution); with fewer than six repetitions it is minimum and maximum, shown as such.
A ratio is a cost: above 1 is slower or larger. "tied" means inside the noise: the medians differ by less than 2%, or the
intervals overlap, or, with fewer than six repetitions, the gap between them is no wider than the wider of them.
The virtual best peer is in each row the best peer there, chosen on the odd repetitions and scored on the even ones.
An allocator is on the frontier of a row unless another one is better beyond noise in time or memory and not worse in
the other."""


@dataclass
class Cell:
    """A row on one allocator. Without samples it failed, or an interrupted grid did not come to it."""

    allocator: str
    samples: dict[str, Sample]
    repetitions: dict[str, dict[int, float]]  # of each metric: the values by repetition
    failures: list[str]  # one sentence for each kind of failure, with how many runs it struck
    tried: int  # runs after the warm-up, whatever came of them
    counted: int  # those of them that count
    timeline: tuple[tuple[float, float], ...] = ()  # of the run with the median time

    @property
    def failed(self) -> bool:
        return self.counted == 0 and bool(self.failures)


@dataclass
class Row:
    load: dict
    threads: int
    metrics: list[Metric]
    cells: dict[str, Cell]  # by allocator, in the order of the grid
    snugs: frozenset[str]  # the allocators that are no peers
    repetitions: int

    @property
    def name(self) -> str:
        """A load that ran with several numbers of threads has several rows."""
        threaded = self.threads > 1 or self.load["scales"]
        return f"{self.load['name']} ×{self.threads}" if threaded else self.load["name"]

    def metric(self, key: str) -> Metric:
        return next(metric for metric in self.metrics if metric.key == key)

    def sample(self, allocator: str, key: str) -> Sample | None:
        return self.cells[allocator].samples.get(key) if allocator in self.cells else None

    def best_peer(self, key: str) -> str | None:
        """The peer with the best median; None if no peer has one."""
        return self.best_of((name for name in self.cells if name not in self.snugs), key)

    def best_of(self, names: Iterable[str], key: str) -> str | None:
        ran = [name for name in names if self.sample(name, key)]
        pick = max if self.metric(key).higher_is_better else min
        return pick(ran, key=lambda name: self.sample(name, key).median) if ran else None

    def best_rival(self, allocator: str, key: str) -> str | None:
        """The best of all others; snug's entries are no rivals of each other."""
        if allocator in self.snugs:
            return self.best_peer(key)
        return self.best_of((name for name in self.cells if name != allocator), key)

    def standing(self, allocator: str, key: str) -> str:
        """Against the best rival."""
        own, rival = self.sample(allocator, key), self.best_rival(allocator, key)
        if own is None:
            return FAILED if allocator in self.cells and self.cells[allocator].failed else NOT_RUN
        if rival is None:
            return FIRST
        return self.against(own, self.sample(rival, key), key)

    def against(self, own: Sample, other: Sample, key: str) -> str:
        if tied(own, other):
            return TIED
        ratio = self.metric(key).cost_ratio(own.median, other.median)
        return TIED if ratio == 1 else FIRST if ratio < 1 else LOST

    def ratio(self, allocator: str, key: str, base: str | None) -> float | None:
        own, other = self.sample(allocator, key), self.sample(base, key) if base else None
        return self.metric(key).cost_ratio(own.median, other.median) if own and other else None

    def frontier(self) -> list[str]:
        """Those whom none beats in time or memory without paying in the other."""
        ran = [name for name in self.cells if all(self.sample(name, key) for key in SCORED)]
        return [name for name in ran if not any(self.dominates(other, name) for other in ran if other != name)]

    def dominates(self, other: str, name: str) -> bool:
        outcomes = [self.against(self.sample(other, key), self.sample(name, key), key) for key in SCORED]
        return FIRST in outcomes and LOST not in outcomes


@dataclass(frozen=True)
class Score:
    """Of one allocator over the rows of a kind, in one metric."""

    mean: float | None  # None: nothing to compare with
    rows: int  # that it was computed from
    of: int


@dataclass(frozen=True)
class Loss:
    """A metric of a row in which an allocator is worse than its best rival beyond noise, or failed."""

    ratio: float  # to the rival's cost; infinity: failed
    row: Row
    metric: Metric
    own: Sample | None
    rival: str | None
    best: Sample | None  # the rival's


@dataclass
class Verdict:
    results: Results
    rows: list[Row]
    scores: dict[tuple[str, str, str], Score] = field(default_factory=dict)  # kind, metric, allocator
    frontier: Counter = field(default_factory=Counter)

    def rows_of(self, kind: str) -> list[Row]:
        return [row for row in self.rows if row.load["kind"] == kind]

    def held(self, allocator: str, key: str) -> tuple[int, int]:
        """In how many rows it is first or tied, of how many."""
        standings = [row.standing(allocator, key) for row in self.rows if allocator in row.cells]
        standings = [standing for standing in standings if standing != NOT_RUN]
        return sum(standing in (FIRST, TIED) for standing in standings), len(standings)

    def repetitions(self) -> tuple[int, int]:
        """The fewest and the most that a cell has, the warm-up aside."""
        tried = [cell.tried for row in self.rows for cell in row.cells.values()] or [0]
        return min(tried), max(tried)

    def losses(self, allocator: str) -> list[Loss]:
        """The worst first; failures before all."""
        found = []
        for row in self.rows:
            for metric in row.metrics:
                if allocator not in row.cells or metric.group == "cost":
                    continue
                standing = row.standing(allocator, metric.key)
                failed = standing == FAILED and metric.key == "time"
                if failed or standing == LOST:
                    rival = row.best_rival(allocator, metric.key)
                    ratio = float("inf") if failed else row.ratio(allocator, metric.key, rival)
                    found.append(Loss(ratio, row, metric, row.sample(allocator, metric.key), rival,
                                      row.sample(rival, metric.key) if rival else None))
        return sorted(found, key=lambda each: each.ratio, reverse=True)

    def failures(self) -> list[tuple[str, str, str]]:
        """Of each cell: the row's name, the allocator, and what failed."""
        return [(row.name, name, failure) for row in self.rows for name, cell in row.cells.items()
                for failure in cell.failures]


def judge(results: Results) -> Verdict:
    rows = rows_of(results)
    verdict = Verdict(results, rows)
    for kind in (REAL, SYNTHETIC):
        for key in SCORED:
            for name in results.names():
                verdict.scores[kind, key, name] = score(verdict.rows_of(kind), key, name)
    for row in rows:
        verdict.frontier.update(row.frontier())
    return verdict


def rows_of(results: Results) -> list[Row]:
    snugs = frozenset(each["name"] for each in results.allocators if each["family"] == SNUG)
    threads = {(run.load, run.threads) for run in results.runs}
    rows = []
    for load in results.loads:
        counts = sorted(count for name, count in threads if name == load["name"])
        for count in counts:
            runs = [run for run in results.runs if (run.load, run.threads) == (load["name"], count)]
            metrics = metrics_of(load, [run for run in runs if run.counts])
            cells = {name: make_cell(name, [run for run in runs if run.allocator == name], metrics)
                     for name in results.names() if any(run.allocator == name for run in runs)}
            rows.append(Row({**load, "scales": len(counts) > 1}, count, metrics, cells, snugs,
                            max(run.repetition for run in runs)))
    return rows


def make_cell(allocator: str, runs: list[Measurement], metrics: list[Metric]) -> Cell:
    counted = sorted((run for run in runs if run.counts and run.repetition != WARM_UP), key=lambda run: run.repetition)
    # A run without the figures that others print has not done what they did.
    complete = [run for run in counted if metrics[0].read(run) is not None]
    repetitions = {metric.key: {run.repetition: value for run in complete if (value := metric.read(run)) is not None}
                   for metric in metrics}
    samples = {key: Sample(tuple(values.values())) for key, values in repetitions.items() if values}
    tried = [run for run in runs if run.repetition != WARM_UP]
    problems = Counter(run.objection for run in tried if not run.counts)
    in_warm_up = {run.objection for run in runs if run.repetition == WARM_UP and not run.counts}
    if len(complete) < len(counted):
        problems["it did not print the figures that others print"] += len(counted) - len(complete)
    failures = [failure(what, what in in_warm_up, problems[what], len(tried))
                for what in [*in_warm_up, *(what for what in problems if what not in in_warm_up)]]
    middle = sorted(complete, key=metrics[0].read)[len(complete) // 2] if complete else None
    return Cell(allocator, samples, repetitions, failures, len(tried), len(complete), middle.rss if middle else ())


def failure(what: str, in_warm_up: bool, number: int, tried: int) -> str:
    """A warm-up is none of the runs that are counted."""
    struck = [f"{number} of {count_of(tried, 'run')}"] if number else []
    return f"{what} ({', and '.join([*struck, *(['the warm-up'] if in_warm_up else [])])})"


def score(rows: list[Row], key: str, allocator: str) -> Score:
    ratios = []
    for row in rows:
        best = virtual_best(row, key)
        own = on_even(row, allocator, key)
        if best is not None and own is not None and best > 0:
            ratios.append(row.metric(key).cost_ratio(own, best))
    return Score(geometric_mean(ratios), len(ratios), len(rows))


def virtual_best(row: Row, key: str) -> float | None:
    """What the peer that is best on the odd repetitions takes on the even ones."""
    peers = [name for name in row.cells if name not in row.snugs and on_odd(row, name, key) is not None
             and on_even(row, name, key) is not None]
    if not peers:
        return None
    pick = max if row.metric(key).higher_is_better else min
    return on_even(row, pick(peers, key=lambda name: on_odd(row, name, key)), key)


def on_odd(row: Row, allocator: str, key: str) -> float | None:
    return half_median(row, allocator, key, 1)


def on_even(row: Row, allocator: str, key: str) -> float | None:
    return half_median(row, allocator, key, 0)


def half_median(row: Row, allocator: str, key: str, parity: int) -> float | None:
    """Of a single repetition there are no two halves: then it serves as both."""
    cell = row.cells.get(allocator)
    values = cell.repetitions.get(key, {}) if cell else {}
    half = tuple(value for repetition, value in values.items() if row.repetitions == 1 or repetition % 2 == parity)
    return Sample(half).median if half else None
