"""The plan: what a grid would run and about how long it would take, printed by `snug-bench run --dry-run`.

Nothing is run, built or fetched for it, so an allocator's versions stay unknown; and how long a peer takes to build is
not in it.
"""

from itertools import groupby

from rich.console import Console

from snug_bench.estimate import Estimate, declared_seconds
from snug_bench.grid import Cell, Grid, PlannedRun
from snug_bench.measurement import WARM_UP
from snug_bench.progress import clock, outline
from snug_bench.quantity import count_of
from snug_bench.sheet import say_words


def print_plan(console: Console, grid: Grid) -> None:
    def line(text: str, style: str = "") -> None:
        console.print(text, style=style, markup=False, soft_wrap=True)

    line("Rows, with the seconds of a run and of its warm-up", "bold")
    for load, threads in grid.rows():
        cell = Cell(load, threads, grid.contenders[0])
        run, warm_up = (declared_seconds(PlannedRun(cell, repetition), grid.shrink) for repetition in (1, WARM_UP))
        line(f"  {f'{load.name} ×{threads}':24} {run:6.2f} {warm_up:6.2f}   stopped after {load.timeout:g} s")
    line("Allocators", "bold")
    say_words(console, " ".join(contender.name for contender in grid.contenders), head="  ")
    line("Time", "bold")
    for what, of_sweep in sweeps(grid):
        line(f"  {what:24} {count_of(len(of_sweep), 'run')}, {clock(Estimate(of_sweep, grid.shrink).seconds_left())}")
    runs = list(grid.runs())
    line(f"{outline(grid)}: {count_of(len(runs), 'run')}, about {clock(Estimate(runs, grid.shrink).seconds_left())}")


def sweeps(grid: Grid) -> list[tuple[str, list[PlannedRun]]]:
    """The warm-ups, and one repetition for all, since each takes as long."""
    by_repetition = {number: list(runs) for number, runs in groupby(grid.runs(), lambda run: run.repetition)}
    return [("the warm-ups", by_repetition[WARM_UP]), ("each repetition", by_repetition[1])]
