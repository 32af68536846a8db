"""The verdict: where each allocator stands in each load, and over all of them.

The cast: a *row* is a load with a number of threads; a *cell* is a row on one allocator, with a sample for each metric;
what an allocator costs over all rows is overall.py's. The *virtual best peer* is in each row the peer that is best there,
and the subject's *distance* from it a geometric mean over rows. Which peer that is, is chosen on the odd repetitions and its
value taken from the even ones: the smallest of several noisy medians is smaller than any of them truly is, and would flatter
nobody but a peer that does not exist.

The word for an allocator in a row is the worst of its words against each rival (ratio.py). Snug's own entries are no
peers: snug is measured against the others, never against itself.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from snug_bench.contender import SNUG
from snug_bench.measurement import WARM_UP, Measurement
from snug_bench.metric import Metric, metrics_of
from snug_bench.noise import Noise, noise_of, others_share
from snug_bench.overall import Overall, overall
from snug_bench.quantity import count_of
from snug_bench.ratio import BETTER, EQUAL, UNCLEAR, WORSE, Ratio, of_rounds, worst
from snug_bench.results import Results
from snug_bench.statistics import Sample, geometric_mean
from snug_bench.workload import REAL, SYNTHETIC

FAILED, NOT_RUN = "failed", "not run"  # the words of a cell without samples
SCORED = ("time", "memory")

DEFINITION = """\
Values are medians over the repetitions. The interval covers the true median 95% of the time or more (between two of the
sorted values, by the binomial distribution); with fewer than six repetitions it is minimum and maximum, shown as such.
A ratio is a cost: above 1 is slower or larger. It is the median of the ratios of the repetitions in which both counted,
which lie side by side in time. Its interval is made as above; with fewer than six repetitions it is minimum to maximum
and its own width more at each end, and of a single one there is none.
Two allocators are "equal" if all of that interval lies within 3% of 1; else one is "better" or "worse" if all of it lies
more than 1% away from 1, by half its width (of fewer than six repetitions by more); else it is "unclear". An allocator's word in a row is the worst of those against all others, in the
order worse, unclear, equal, better.
Over all loads of a kind an allocator's cost is the geometric mean of its ratios to the subject's in each repetition; of
these means it is the median, with an interval and a word by the same rules. The virtual best peer is in each row the best
peer there, chosen on the odd repetitions and scored on the even ones.
An allocator is on the frontier of a row unless another one is better in time or memory and better or equal in the
other.
Time is not judged where other programs took more than a tenth of the processors while the runs lasted; nor, of single rows,
where the intervals of its ratios reach more than a tenth to either side."""


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
    ratios: dict[tuple[str, str, str | None], Ratio | None] = field(default_factory=dict, repr=False)  # found so far

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

    def rivals(self, allocator: str, key: str) -> list[str]:
        """All others that have a value; snug's entries are no rivals of each other."""
        own = self.snugs if allocator in self.snugs else {allocator}
        return [name for name in self.cells if name not in own and self.sample(name, key)]

    def standing(self, allocator: str, key: str) -> str:
        """The worst of its words against all rivals."""
        if self.sample(allocator, key) is None:
            return FAILED if allocator in self.cells and self.cells[allocator].failed else NOT_RUN
        return worst(self.word(allocator, key, rival) for rival in self.rivals(allocator, key))

    def word(self, allocator: str, key: str, base: str) -> str:
        """Of one against another, both of which have a value."""
        ratio = self.ratio(allocator, key, base)
        return ratio.word if ratio else UNCLEAR

    def ratio(self, allocator: str, key: str, base: str | None) -> Ratio | None:
        """None if they have no repetition in common."""
        asked = allocator, key, base
        if asked not in self.ratios:
            self.ratios[asked] = of_rounds(list(self.round_ratios(allocator, key, base).values()))
        return self.ratios[asked]

    def round_ratios(self, allocator: str, key: str, base: str | None) -> dict[int, float]:
        """Of each repetition that both have."""
        own, other = (self.cells[name].repetitions.get(key, {}) if name in self.cells else {} for name in (allocator, base))
        cost_ratio = self.metric(key).cost_ratio
        return {each: cost_ratio(own[each], other[each]) for each in own if each in other}

    def multiple(self, allocator: str, key: str, base: str | None) -> float | None:
        """The ratio's value."""
        ratio = self.ratio(allocator, key, base)
        return ratio.value if ratio else None

    def frontier(self) -> list[str]:
        """The allocators that none beats in time or memory without paying in the other. An unclear one beats none: in noise
        the frontier grows, as the choice does."""
        ran = [name for name in self.cells if all(self.sample(name, key) for key in SCORED)]
        return [name for name in ran if not any(self.dominates(other, name) for other in ran if other != name)]

    def dominates(self, other: str, name: str) -> bool:
        words = [self.word(other, key, name) for key in SCORED]
        return BETTER in words and all(word in (BETTER, EQUAL) for word in words)


@dataclass(frozen=True)
class Loss:
    """A metric of a row in which an allocator is worse than a rival, or failed."""

    ratio: float  # to the cost of the rival that it is farthest behind; infinity: failed
    row: Row
    metric: Metric
    own: Sample | None
    rival: str | None
    best: Sample | None  # the rival's


@dataclass
class Verdict:
    results: Results
    rows: list[Row]
    noise: Noise
    overall: dict[tuple[str, str, str], Overall] = field(default_factory=dict)  # kind, metric, allocator: to the subject
    distance: dict[tuple[str, str], float | None] = field(default_factory=dict)  # kind, metric: the subject's
    frontier: Counter = field(default_factory=Counter)

    @property
    def subject(self) -> str:
        return subject_of(self.results)

    def peers(self) -> list[str]:
        """The allocators that the subject is compared with: its own variants are none."""
        own = {each["name"] for each in self.results.allocators if each["family"] == SNUG} | {self.subject}
        return [name for name in self.results.names() if name not in own]

    def overall_word(self, key: str, found: Overall) -> str:
        """How the subject does against an allocator with that overall cost; unclear in time if other programs disturbed the runs."""
        return UNCLEAR if key == "time" and self.noise.disturbed else found.subjects_word

    def by_word(self, key: str, costs: dict[str, Overall]) -> dict[str, list[str]]:
        """The allocators that counted in every row, by how the subject does against each; of each word, the costliest first."""
        found: dict[str, list[str]] = {}
        whole = {name: each for name, each in costs.items() if each.complete}
        for name, each in sorted(whole.items(), key=lambda item: -item[1].mean):
            found.setdefault(self.overall_word(key, each), []).append(name)
        return found

    def rows_of(self, kind: str) -> list[Row]:
        return [row for row in self.rows if row.load["kind"] == kind]

    def standings(self, allocator: str, key: str) -> Counter:
        """In how many rows each word is the allocator's; the rows that it did not come to are left out."""
        return Counter(standing for row in self.rows
                       if (standing := row.standing(allocator, key)) != NOT_RUN)

    def held(self, allocator: str, key: str) -> tuple[int, int]:
        """In how many rows it is better or equal, of how many."""
        counts = self.standings(allocator, key)
        return counts[BETTER] + counts[EQUAL], counts.total()

    def repetitions(self) -> tuple[int, int]:
        """The fewest and the most that a cell has, the warm-up aside."""
        tried = [cell.tried for row in self.rows for cell in row.cells.values()] or [0]
        return min(tried), max(tried)

    def losses(self, allocator: str) -> list[Loss]:
        """The worst first; failures before all."""
        found = []
        for row in self.rows:
            if allocator not in row.cells:
                continue
            if row.cells[allocator].failed:
                best = row.best_of(row.rivals(allocator, "time"), "time")
                found.append(loss(row, "time", allocator, best, float("inf")))
                continue
            for metric in row.metrics:
                if metric.group == "cost":
                    continue
                ahead = {name: row.multiple(allocator, metric.key, name) for name in row.rivals(allocator, metric.key)
                         if row.word(allocator, metric.key, name) == WORSE}
                if ahead:
                    rival = max(ahead, key=ahead.get)
                    found.append(loss(row, metric.key, allocator, rival, ahead[rival]))
        return sorted(found, key=lambda each: each.ratio, reverse=True)

    def failures(self) -> list[tuple[str, str, str]]:
        """Of each cell: the row's name, the allocator, and what failed."""
        return [(row.name, name, failure) for row in self.rows for name, cell in row.cells.items()
                for failure in cell.failures]


def loss(row: Row, key: str, allocator: str, rival: str | None, ratio: float) -> Loss:
    best = row.sample(rival, key) if rival else None
    return Loss(ratio, row, row.metric(key), row.sample(allocator, key), rival, best)


def judge(results: Results) -> Verdict:
    rows = rows_of(results)
    verdict = Verdict(results, rows, noise_among(results, rows))
    for kind in (REAL, SYNTHETIC):
        for key in SCORED:
            verdict.distance[kind, key] = distance(verdict.rows_of(kind), key, verdict.subject)
            for name in results.names():
                verdict.overall[kind, key, name] = overall(verdict.rows_of(kind), key, name, verdict.subject)
    for row in rows:
        verdict.frontier.update(row.frontier())
    return verdict


def noise_among(results: Results, rows: list[Row]) -> Noise:
    """Of all counted runs, and of the subject's ratios of time."""
    subject = subject_of(results)
    ratios = [row.ratio(subject, "time", rival) for row in rows for rival in row.rivals(subject, "time")]
    share = others_share(run.processors for run in results.runs if run.counts and run.repetition != WARM_UP)
    return noise_of(share, [ratio.half_width for ratio in ratios if ratio and ratio.interval])


def subject_of(results: Results) -> str:
    """The allocator that the verdict judges: snug if it takes part, else the first one."""
    snugs = [each["name"] for each in results.allocators if each["family"] == SNUG]
    return (snugs or results.names())[0]


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


def distance(rows: list[Row], key: str, allocator: str) -> float | None:
    """From the virtual best peer; None if there is no peer."""
    ratios = []
    for row in rows:
        best, own = virtual_best(row, key), on_even(row, allocator, key)
        if best is not None and own is not None and best > 0:
            ratios.append(row.metric(key).cost_ratio(own, best))
    return geometric_mean(ratios)


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
