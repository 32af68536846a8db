"""The study: every load on every variant, beside the same library as it is.

Each cell is run twice. Where these two are no further from the library as it is than that is from itself, nor than 3%, in time and
in memory, it is left at that; all others are run until there are six. What is "as it is" is run several times a round: their median
is what a variant is held against, and what each of them is worth against the others tells the noise.
"""

import math
import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from snug_bench.contender import SNUG, Contender
from snug_bench.grid import Cell, Grid, PlannedRun
from snug_bench.measurement import WARM_UP, Measurement
from snug_bench.ratio import BAND, Ratio, of_rounds
from snug_bench.results import Results
from snug_bench.runner import Runner, run_grid, whole_rounds
from snug_bench.verdict import Row, rows_of
from snug_sensitivity.variants import Variant

AS_IT_IS = tuple(f"as it is {number}" for number in range(1, 5))
FIRST, ALL = 2, 6
JUDGED = ("time", "memory")

Key = tuple[str, int, str]


@dataclass(frozen=True)
class Part(Grid):
    """Of a grid, without warm-ups: so many repetitions of the cells that are asked for."""

    cells: frozenset[Key] | None = field(default=None, hash=False)  # None: of all

    def runs(self) -> Iterator[PlannedRun]:
        for planned in super().runs():
            if planned.repetition != WARM_UP and (self.cells is None or key_of(planned.cell) in self.cells):
                yield planned


def key_of(cell: Cell) -> Key:
    return *cell.row, cell.contender.name


def contenders_of(library: Path, variants: list[Variant]) -> list[Contender]:
    """All are snug: none is a peer of another."""
    return [*(Contender(name, name, SNUG, library) for name in AS_IT_IS),
            *(Contender(each.name, each.name, SNUG, each.library, configuration=each.configuration) for each in variants)]


def against_as_it_is(row: Row, name: str, key: str) -> Ratio | None:
    """What the contender costs in multiples of what the library costs as it is, round by round."""
    own = row.cells[name].repetitions.get(key, {}) if name in row.cells else {}
    others = [row.cells[each].repetitions.get(key, {}) for each in AS_IT_IS if each != name and each in row.cells]
    metric = row.metric(key)
    ratios = []
    for repetition, value in own.items():
        if beside := [each[repetition] for each in others if repetition in each]:
            ratios.append(metric.cost_ratio(value, statistics.median(beside)))
    return of_rounds(ratios)


def open_cells(rows: list[Row]) -> frozenset[Key]:
    """Those that are to be run more often, and what they are held against."""
    cells: set[Key] = set()
    for row in rows:
        apart = [name for name in row.cells if name not in AS_IT_IS and is_apart(row, name)]
        cells.update((row.load["name"], row.threads, name) for name in (*apart, *(AS_IT_IS if apart else ())))
    return frozenset(cells)


def is_apart(row: Row, name: str) -> bool:
    return any(stands_out(row, name, key) for key in JUDGED)


def stands_out(row: Row, name: str, key: str) -> bool:
    return distance(row, name, key) > max(BAND, *(distance(row, each, key) for each in AS_IT_IS))


def distance(row: Row, name: str, key: str) -> float:
    """From the library as it is, as a factor above 1, whether better or worse; infinite if that is not known."""
    ratio = against_as_it_is(row, name, key)
    return math.inf if ratio is None else max(ratio.value, 1 / ratio.value)


def first_rows(results: Results) -> list[Row]:
    """What each cell was run for at first: whether it is run more often must not depend on those runs."""
    return rows_of(replace(results, runs=[run for run in results.runs if run.repetition <= FIRST]))


def carry_out(make_runner: Callable[[Grid], Runner], part: Part, results: Results, keep: Callable[[Measurement], None],
              write: Callable[[Results], None], progress: Callable[[Grid, list[Measurement]], object]) -> None:
    """Makes what `results` does not have yet, after it was written without the rounds that have to be made anew. `progress`
    is the context that tells of a part, given what is done."""
    for repetitions, only in ((FIRST, False), (ALL, True)):
        cells = open_cells(first_rows(results)) if only else None
        grid = Part(part.loads, part.contenders, part.threads, repetitions, part.seed, part.shrink, part.name, cells)
        results.runs, _ = whole_rounds((each.key for each in grid.runs()), results.runs)
        write(results)
        with progress(grid, results.runs) as told:
            results.runs += run_grid(make_runner(grid), results.runs, keep, told.tell)
