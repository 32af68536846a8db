"""Comparison of two results, two commits of snug for instance: what became faster, slower, smaller or larger.

Only what stands in both is held against each other; what stands in one alone is said. The words are those of the one rule
(ratio.py); as two results have no repetition in common, the interval of a ratio is that of two times.
"""

from dataclasses import dataclass
from fnmatch import fnmatchcase

from snug_bench.host import differences
from snug_bench.metric import Metric
from snug_bench.problem import Problem
from snug_bench.ratio import BETTER, EQUAL, UNCLEAR, WORSE, of_two_times
from snug_bench.results import Results
from snug_bench.statistics import Sample
from snug_bench.verdict import Cell, Row, rows_of

BROKEN, MENDED, STILL_BROKEN = "fails now", "works now", "fails in both"
WORK = ("command", "scale", "work_of", "environment")  # of a load: what its runs do
COMPARED = ("time", "memory", "figure")  # groups of metrics


@dataclass(frozen=True)
class Change:
    row: str
    allocator: str
    metric: Metric
    old: Sample | None
    new: Sample | None
    ratio: float  # of the new cost to the old
    outcome: str
    note: str = ""

    @property
    def is_worse(self) -> bool:
        return self.outcome in (WORSE, BROKEN)

    @property
    def is_better(self) -> bool:
        return self.outcome in (BETTER, MENDED)


@dataclass(frozen=True)
class Comparison:
    changes: list[Change]
    warnings: list[str]  # what keeps the two from being quite comparable

    @property
    def worse(self) -> list[Change]:
        return [change for change in self.changes if change.is_worse]

    @property
    def better(self) -> list[Change]:
        return [change for change in self.changes if change.is_better]

    @property
    def equal(self) -> list[Change]:
        return [change for change in self.changes if change.outcome in (EQUAL, STILL_BROKEN)]

    @property
    def unclear(self) -> list[Change]:
        return [change for change in self.changes if change.outcome == UNCLEAR]

    @property
    def changed(self) -> list[Change]:
        return [change for change in self.changes if change.is_worse or change.is_better]


def compare_results(old: Results, new: Results, patterns: list[str]) -> Comparison:
    """Raises Problem if there is nothing that both have."""
    before = {(row.load["name"], row.threads): row for row in rows_of(old)}
    after = {(row.load["name"], row.threads): row for row in rows_of(new)}
    warnings = [f"another machine: {each}" for each in differences(old.host, new.host)]
    if old.grid.get("shrink") != new.grid.get("shrink"):
        raise Problem(f"one was run with --scale {old.grid.get('shrink')}, the other with {new.grid.get('shrink')}")
    for key in [*before, *(key for key in after if key not in before)]:
        if key not in before or key not in after:
            warnings.append(f"{key[0]} ×{key[1]}: only in the {'old' if key in before else 'new'} results")
    warnings += changed_loads(old, new)
    changes: list[Change] = []
    for key, row in before.items():
        if key in after:
            changes += row_changes(row, after[key], patterns, warnings)
    if not changes:
        raise Problem(f"the two have nothing in common that '{','.join(patterns)}' matches")
    return Comparison(sorted(changes, key=lambda change: -change.ratio), warnings)


def changed_loads(old: Results, new: Results) -> list[str]:
    """Those that do something else than they did, as far as their declarations tell."""
    before = {load["name"]: load for load in old.loads}
    return [f"{load['name']}: another {' and '.join(changed)}" for load in new.loads if load["name"] in before
            and (changed := [key for key in WORK if load.get(key) != before[load["name"]].get(key)])]


def row_changes(old: Row, new: Row, patterns: list[str], warnings: list[str]) -> list[Change]:
    changes = []
    unlike = unlike_metrics(old, new)
    warnings += [f"{old.name}: {why}" for why in unlike.values()]
    for name in dict.fromkeys([*old.cells, *new.cells]):
        if not any(fnmatchcase(name, pattern) for pattern in patterns):
            continue
        if name not in old.cells or name not in new.cells:
            warnings.append(f"{old.name} on {name}: only in the {'old' if name in old.cells else 'new'} results")
            continue
        changes += [each for each in cell_changes(old, old.cells[name], new.cells[name])
                    if each.new is None or each.metric.key not in unlike]
    return changes


def unlike_metrics(old: Row, new: Row) -> dict[str, str]:
    """Those with one key that are not the same thing, and why: a mean of other figures says nothing of what became slower."""
    found = {}
    for metric in old.metrics:
        now = next((each for each in new.metrics if each.key == metric.key), metric)
        if metric.figures != now.figures:
            others = sorted(set(metric.figures) ^ set(now.figures))
            found[metric.key] = f"{metric.key} is not compared, since only one has {', '.join(others)}"
        elif metric.unit != now.unit:
            found[metric.key] = f"{metric.title} is not compared, since its unit was {metric.unit} and is {now.unit}"
    return found


def cell_changes(row: Row, before: Cell, after: Cell) -> list[Change]:
    name, time = before.allocator, row.metrics[0]
    if before.failed or after.failed:
        if before.failed == after.failed:
            return [Change(row.name, name, time, None, None, 1.0, STILL_BROKEN)]
        outcome, ratio = (BROKEN, float("inf")) if after.failed else (MENDED, 0.0)
        return [Change(row.name, name, time, None, None, ratio, outcome,
                       "; ".join(after.failures or before.failures))]
    changes = []
    for metric in row.metrics:
        if metric.group not in COMPARED or metric.key not in before.samples or metric.key not in after.samples:
            continue
        changes.append(change_of(row.name, name, metric, before.samples[metric.key], after.samples[metric.key]))
    if len(after.failures) > len(before.failures):
        changes.append(Change(row.name, name, time, None, None, float("inf"), BROKEN,
                              "some runs: " + "; ".join(after.failures)))
    return changes


def change_of(row: str, allocator: str, metric: Metric, old: Sample, new: Sample) -> Change:
    ratio = of_two_times(new, old, metric.cost_ratio)
    return Change(row, allocator, metric, old, new, ratio.value, ratio.word)
