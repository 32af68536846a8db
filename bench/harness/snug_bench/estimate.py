"""The estimate: how long planned runs will take, by what their loads declare and by what was measured since.

A row that has run is taken at the mean of its runs. One that has not is taken at what its load declares, times how much
longer than declared the other rows took so far. Warm-ups and counted runs are told apart, since they do other work.
"""

from collections import Counter
from collections.abc import Iterable

from snug_bench.grid import PlannedRun
from snug_bench.measurement import WARM_UP

START_SECONDS = 0.03  # of a run that does nothing
PROOF_SECONDS = 0.1  # more in a warm-up: a second process tells which allocator serves malloc
PACE_RUNS = 20  # so many tell how this machine differs from the one on which the loads were timed

Row = tuple[str, int, bool]  # load, threads, whether it is a warm-up


class Estimate:
    """Of runs that are still to be made; each is told off by done() or, with what it took, by learn()."""

    def __init__(self, runs: Iterable[PlannedRun], shrink: float):
        self.left: Counter[Row] = Counter()
        self.declared: dict[Row, float] = {}
        for planned in runs:
            row = row_of(planned)
            self.left[row] += 1
            if row not in self.declared:
                self.declared[row] = declared_seconds(planned, shrink)
        self.made: Counter[Row] = Counter()
        self.took: Counter[Row] = Counter()  # seconds, of all that were made

    def learn(self, planned: PlannedRun, seconds: float) -> None:
        self.done(planned)
        row = row_of(planned)
        self.made[row] += 1
        self.took[row] += seconds

    def done(self, planned: PlannedRun) -> None:
        self.left[row_of(planned)] -= 1

    def seconds_left(self) -> float:
        paces = {warming: self.pace(warming) for warming in (True, False)}
        return sum(count * (self.took[row] / self.made[row] if self.made[row] else self.declared[row] * paces[row[2]])
                   for row, count in self.left.items())

    def pace(self, warming: bool) -> float:
        """How much longer than declared the runs took."""
        made = {row: count for row, count in self.made.items() if row[2] == warming}
        if sum(made.values()) < PACE_RUNS:
            return 1
        return sum(self.took[row] for row in made) / sum(self.declared[row] * count for row, count in made.items())


def declared_seconds(planned: PlannedRun, shrink: float) -> float:
    load = planned.cell.load
    if planned.repetition == WARM_UP:
        return START_SECONDS + PROOF_SECONDS + load.expected_warm_up(shrink)
    return START_SECONDS + load.expected_seconds(shrink)


def row_of(planned: PlannedRun) -> Row:
    return *planned.cell.row, planned.repetition == WARM_UP
