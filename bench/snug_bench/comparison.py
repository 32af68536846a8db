"""Comparison of two results, two commits of snug for instance: what became faster, slower, smaller or larger.

Only what stands in both is held against each other; what stands in one alone is said. A difference inside the noise is
none, by the same rule that ties two allocators.
"""

from dataclasses import dataclass
from fnmatch import fnmatchcase

from snug_bench.host import differences
from snug_bench.metric import Metric
from snug_bench.problem import Problem
from snug_bench.results import Results
from snug_bench.statistics import Sample, tied
from snug_bench.verdict import Cell, Row, rows_of

SAME, BROKEN, MENDED = "same", "fails now", "works now"
WORDS = {  # better, worse
    "time": ("faster", "slower"),
    "memory": ("smaller", "larger"),
    "figure": ("better", "worse"),
}


@dataclass(frozen=True)
class Change:
    row: str
    allocator: str
    metric: Metric
    old: Sample | None
    new: Sample | None
    ratio: float  # of the new cost to the old
    outcome: str
    is_worse: bool = False
    note: str = ""


@dataclass(frozen=True)
class Comparison:
    changes: list[Change]
    warnings: list[str]  # what keeps the two from being quite comparable

    @property
    def worse(self) -> list[Change]:
        return [change for change in self.changes if change.is_worse]

    @property
    def changed(self) -> list[Change]:
        return [change for change in self.changes if change.outcome != SAME]


def compare_results(old: Results, new: Results, patterns: list[str], threshold: float) -> Comparison:
    """Raises Problem if there is nothing that both have."""
    before = {(row.load["name"], row.threads): row for row in rows_of(old)}
    after = {(row.load["name"], row.threads): row for row in rows_of(new)}
    warnings = [f"another machine: {each}" for each in differences(old.host, new.host)]
    if old.grid.get("shrink") != new.grid.get("shrink"):
        raise Problem(f"one was run with --scale {old.grid.get('shrink')}, the other with {new.grid.get('shrink')}")
    for key in [*before, *(key for key in after if key not in before)]:
        if key not in before or key not in after:
            warnings.append(f"{key[0]} ×{key[1]}: only in the {'old' if key in before else 'new'} results")
    changes: list[Change] = []
    for key, row in before.items():
        if key in after:
            changes += row_changes(row, after[key], patterns, threshold, warnings)
    if not changes:
        raise Problem(f"the two have nothing in common that '{','.join(patterns)}' matches")
    return Comparison(sorted(changes, key=lambda change: -change.ratio), warnings)


def row_changes(old: Row, new: Row, patterns: list[str], threshold: float, warnings: list[str]) -> list[Change]:
    changes = []
    for name, cell in old.cells.items():
        if not any(fnmatchcase(name, pattern) for pattern in patterns):
            continue
        if name not in new.cells:
            warnings.append(f"{old.name} on {name}: only in the old results")
            continue
        changes += cell_changes(old, cell, new.cells[name], threshold)
    return changes


def cell_changes(row: Row, before: Cell, after: Cell, threshold: float) -> list[Change]:
    name, time = before.allocator, row.metrics[0]
    if before.failed or after.failed:
        if before.failed == after.failed:
            return [Change(row.name, name, time, None, None, 1.0, SAME, note="fails in both")]
        outcome, ratio = (BROKEN, float("inf")) if after.failed else (MENDED, 0.0)
        return [Change(row.name, name, time, None, None, ratio, outcome, after.failed,
                       "; ".join(after.failures or before.failures))]
    changes = []
    for metric in row.metrics:
        if metric.group not in WORDS or metric.key not in before.samples or metric.key not in after.samples:
            continue
        changes.append(change_of(row.name, name, metric, before.samples[metric.key], after.samples[metric.key],
                                 threshold))
    if len(after.failures) > len(before.failures):
        changes.append(Change(row.name, name, time, None, None, float("inf"), BROKEN, True,
                              "some runs: " + "; ".join(after.failures)))
    return changes


def change_of(row: str, allocator: str, metric: Metric, old: Sample, new: Sample, threshold: float) -> Change:
    ratio = metric.cost_ratio(new.median, old.median)
    if tied(old, new, threshold) or ratio == 1:
        return Change(row, allocator, metric, old, new, ratio, SAME)
    better, worse = WORDS[metric.group]
    return Change(row, allocator, metric, old, new, ratio, worse if ratio > 1 else better, ratio > 1)
