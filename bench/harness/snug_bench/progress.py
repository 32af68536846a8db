"""Live progress: how far the grid is, what runs now, how long what is left will take; failures as lines that stay."""

import time
from collections.abc import Callable, Iterable
from datetime import timedelta
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, TaskID, TextColumn
from rich.progress import Progress as Bar

from snug_bench.command import notices, say
from snug_bench.estimate import Estimate
from snug_bench.grid import Grid, PlannedRun
from snug_bench.measurement import WARM_UP, Measurement
from snug_bench.quantity import count_of
from snug_bench.runner import REFUSED, SKIPPED

PLAIN_SECONDS = 30  # between two lines where there is no terminal


class Progress:
    """Use as a context; `tell` is what run_grid calls."""

    def __init__(self, console: Console, grid: Grid, earlier: Iterable[Measurement]):
        """`earlier` may have runs that the grid does not plan."""
        made = {run.key for run in earlier}
        runs = list(grid.runs())
        left = [planned for planned in runs if planned.key not in made]
        self.console, self.grid, self.total, self.done, self.spoke = console, grid, len(runs), len(runs) - len(left), 0.0
        self.bar = Bar(TextColumn("{task.completed}/{task.total}"), BarColumn(bar_width=24),
                       TextColumn("{task.fields[left]} left"), TextColumn("{task.description}", markup=False),
                       console=console, transient=True, disable=not console.is_terminal)
        expected = Estimate(left, grid.shrink).seconds_left()
        console.print(f"{outline(grid)}: {count_of(len(left), 'run')}, about {clock(expected)} by what the loads declare",
                      markup=False, soft_wrap=True)
        self.task: TaskID = self.bar.add_task("", total=self.total, completed=self.done, left="?")

    def __enter__(self) -> "Progress":
        self.bar.start()
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.bar.stop()

    def tell(self, planned: PlannedRun, run: Measurement | None, number: int, left: float) -> None:
        what = describe(planned)
        self.bar.update(self.task, completed=self.done + number, description=what, left=clock(left))
        if run is not None and not run.counts and run.ending not in (SKIPPED, REFUSED):
            self.bar.console.print(f"{what}: {run.objection}", markup=False, soft_wrap=True)
        elif not self.console.is_terminal and time.monotonic() - self.spoke > PLAIN_SECONDS:
            self.spoke = time.monotonic()
            self.console.print(f"{self.done + number}/{self.total} {what}, {clock(left)} left", markup=False,
                               soft_wrap=True)


def outline(grid: Grid) -> str:
    return (f"{count_of(len(grid.rows()), 'row')} × {count_of(len(grid.contenders), 'allocator')} × "
            f"{count_of(grid.repetitions, 'repetition')} and a warm-up")


def describe(planned: PlannedRun) -> str:
    cell = planned.cell
    round_name = "warm-up" if planned.repetition == WARM_UP else f"repetition {planned.repetition}"
    return f"{cell.load.name} ×{cell.threads} on {cell.contender.name}, {round_name}"


def clock(seconds: float) -> str:
    """1:02:03 or 2:03."""
    text = str(timedelta(seconds=round(seconds)))
    return text.removeprefix("0:").removeprefix("0") if seconds < 3600 else text


def one_line(every: float = PLAIN_SECONDS) -> Callable[[str, int, int, float], None]:
    """For what has no grid: one line that is overwritten; where there is no terminal, a line each `every` seconds. It hears
    what runs, how many runs are done of how many, and the seconds that are left."""
    spoke = [time.monotonic() - every]

    def tell(what: str, done: int, total: int, left: float) -> None:
        line = f"{done}/{total} {what}{f', {clock(left)} left' if left else ''}"
        if notices.is_terminal:
            notices.print(f"\x1b[2K{line}", end="\r", markup=False, soft_wrap=True)
        elif time.monotonic() - spoke[0] > every:
            spoke[0] = time.monotonic()
            say(line)

    return tell
