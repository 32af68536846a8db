"""The runner: makes the runs of a grid one by one, writes each down, and survives whatever an allocator does.

A crash or a hang is a result and stands in its cell. A cell that hung once, or that is proven to run on another allocator,
is not tried again: its other runs are written down as skipped, with the reason.
"""

import functools
import hashlib
import json
import math
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from snug_bench.contender import as_said, environment_for
from snug_bench.estimate import Estimate
from snug_bench.grid import Cell, Grid, PlannedRun
from snug_bench.measurement import WARM_UP, Figure, Key, Measurement, round_of
from snug_bench.problem import Problem
from snug_bench.processor_time import ProcessorTime, processor_time

TIMED_OUT, SKIPPED, REFUSED = "timed out", "skipped", "refused"
REFUSAL = "not run on"  # how the tool begins its objection to a run that another malloc served
WARM_BYTES = 512 << 20  # before the peak of a row is known
WARM_SHARE = 4  # of the machine's memory at most one in so many bytes
CLOSE = 0.9  # of a time limit: a run that was stopped later than that was stopped at no lower one
GRACE = 30  # seconds beyond its time limit in which the tool itself must have ended


@dataclass(frozen=True)
class Place:
    """Where everything is."""

    root: Path
    build: Path

    @property
    def tool(self) -> Path:
        return self.build / "bin" / "snug"


class Runner:
    """Makes planned runs. `timeout`, if given, is the time limit of every load instead of its own,
    which grows with the operations of a run that is asked to do more."""

    def __init__(self, place: Place, grid: Grid, timeout: float | None = None):
        self.place, self.grid, self.timeout = place, grid, timeout
        self.given_up: dict[Cell, str] = {}
        self.peaks: dict[tuple[str, int], float] = {}  # of each row, the largest of its counted runs so far

    def command(self, cell: Cell) -> list[str]:
        return cell.load.command_line(self.place.root, self.place.build, cell.threads, self.grid.shrink, self.grid.seed)

    def warm_up(self, cell: Cell) -> list[str]:
        return cell.load.warm_up_line(self.place.root, self.place.build, cell.threads, self.grid.shrink, self.grid.seed)

    def identity(self, cell: Cell) -> str:
        """Of all that decides a run of the cell: one that was made under another identity is stale."""
        command, warm_up = self.command(cell), self.warm_up(cell)
        files = [*files_among([*command, *warm_up]), *self.programs(cell), cell.contender.library, self.place.tool]
        seen = [[str(file), file.stat().st_size, file.stat().st_mtime_ns] for file in dict.fromkeys(files) if file.is_file()]
        parts = [command, warm_up, seen, cell.contender.as_json(), cell.load.environment]
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]

    def programs(self, cell: Cell) -> list[Path]:
        """Where the commands are that a run of the cell starts: a real program is the system's, which may be updated."""
        needed = [cell.load.command[0], *cell.load.needs]
        return [Path(shutil.which(each) or self.place.root / each) for each in needed]

    def run(self, planned: PlannedRun) -> Measurement:
        cell = planned.cell
        if cell.contender.refusal:
            run = self.make(planned, REFUSED, cell.contender.refusal)
        elif cell in self.given_up:
            run = self.make(planned, SKIPPED, self.given_up[cell])
        else:
            run = self.measured(planned)
        self.heed(cell, run)
        return run

    def heed(self, cell: Cell, run: Measurement) -> None:
        """Also to be told of the runs that an earlier call made."""
        # A warm-up does too little to tell what a counted run will take.
        if (peak := run.cost.get("peak_rss_bytes")) and run.repetition != WARM_UP:
            self.peaks[cell.row] = max(peak, self.peaks.get(cell.row, 0))
        if run.ending == TIMED_OUT:
            self.given_up[cell] = f"not tried again: {run.objection}"
        elif run.objection.startswith(REFUSAL) and run.repetition == WARM_UP:
            self.given_up[cell] = run.objection

    def warm_mebibytes(self, cell: Cell) -> int:
        """How much memory is touched before a run, a quarter more than the row's largest took: the first run to ask for it
        would else pay for getting it back from a hypervisor that has taken it away."""
        most = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // WARM_SHARE
        return int(min(self.peaks.get(cell.row, WARM_BYTES) * 1.25, most)) >> 20

    def limit(self, cell: Cell) -> float:
        """Seconds that a run of the cell may take."""
        return self.timeout or cell.load.timeout * max(1.0, self.grid.shrink)

    def measured(self, planned: PlannedRun) -> Measurement:
        cell = planned.cell
        limit = self.limit(cell)
        warming = planned.repetition == WARM_UP
        prove, program = (["--prove"], self.warm_up(cell)) if warming else ([], self.command(cell))
        command = [str(self.place.tool), "measure", *cell.contender.launch(), *prove, "--timeout", f"{limit:g}",
                   "--warm", str(0 if warming else self.warm_mebibytes(cell)), "--json", "-", "--", *program]
        before = processor_time()
        # A session of its own: Ctrl-C reaches us alone, and the tool then ends what it started.
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, start_new_session=True, cwd=self.place.root,
                              env=environment_for(cell.contender, cell.load.environment)) as tool:
            try:
                output, errors = tool.communicate(timeout=limit + GRACE)
            except subprocess.TimeoutExpired:
                tool.kill()
                return self.make(planned, TIMED_OUT, f"snug measure itself hung for {limit + GRACE:g} s")
            except BaseException:
                tool.terminate()
                tool.communicate()
                raise
        if tool.returncode != 0:
            said = errors.strip().splitlines() or [f"snug measure ended with {tool.returncode}"]
            return self.make(planned, REFUSED, as_said(said[-1], cell.contender))
        return self.read(planned, output, processor_time().since(before))

    def read(self, planned: PlannedRun, output: str, processors: ProcessorTime) -> Measurement:
        try:
            document = json.loads(output)
            figures = {name: Figure(figure["value"], figure["unit"], figure["better"] == "higher")
                       for name, figure in document["figures"].items()}
            bindings = document.get("malloc_bindings")
            bound = f"{bindings['bound']} of {bindings['programs']} programs" if bindings else ""
            return self.make(
                planned, document["ending"], document["objection"] or nonsense_among(figures), cost=document["cost"],
                figures=figures, rss=tuple((seconds, size) for seconds, size in document["rss"]),
                version=document["version"], bound=bound, processors=processors)
        except (ValueError, KeyError, TypeError) as error:
            raise Problem(f"{self.place.tool} measure wrote something else than this harness reads ({error}): "
                          "build again", 1) from None

    def make(self, planned: PlannedRun, ending: str, objection: str, **more) -> Measurement:
        cell = planned.cell
        return Measurement(cell.load.name, cell.threads, cell.contender.name, planned.repetition, self.identity(cell),
                           ending, objection, load_average=round(os.getloadavg()[0], 2), **more)


def files_among(words: list[str]) -> list[Path]:
    """Also those that stand within a word, as in ".read /a/job.sql"."""
    return [Path(part) for word in words for part in word.split() if part.startswith("/")]


def nonsense_among(figures: dict[str, Figure]) -> str:
    """Why the run does not count, if a figure is nothing that can be measured; empty if none is."""
    for name, figure in figures.items():
        if figure.value < 0:
            return f"it printed nonsense: {name} is {figure.value:g} {figure.unit}".rstrip()
    return ""


def run_grid(runner: Runner, earlier: list[Measurement], keep: Callable[[Measurement], None],
             tell: Callable[[PlannedRun, Measurement | None, int, float], None]) -> list[Measurement]:
    """Makes what `earlier` does not have. `tell` hears before each run (without a measurement) and after it, with how
    many are done and the seconds left. Returns the new runs; on KeyboardInterrupt they have all been kept."""
    kept = {run.key: run for run in earlier}
    todo, new = [], []
    for planned in runner.grid.runs():
        if planned.key in kept:
            runner.heed(planned.cell, kept[planned.key])
        else:
            todo.append(planned)
    estimate = Estimate(todo, runner.grid.shrink)
    for number, planned in enumerate(todo):
        tell(planned, None, number, estimate.seconds_left())
        start = time.monotonic()
        run = runner.run(planned)
        if run.ending in (SKIPPED, REFUSED):
            estimate.done(planned)
        else:
            estimate.learn(planned, time.monotonic() - start)
        keep(run)
        new.append(run)
        tell(planned, run, number + 1, estimate.seconds_left())
    return new


@dataclass(frozen=True)
class Earlier:
    """What a grid goes on with of the runs that were made before, and how many it leaves, and why."""

    runs: list[Measurement]
    stale: int  # made of another program or library, or with other settings
    unplanned: int  # of cells that the grid does not have
    torn: list[Measurement]  # of rounds in which an allocator is missing, or was stopped too early

    @property
    def loses_something(self) -> bool:
        """Whether more is left than the one round that an interruption has torn, which is made again at once."""
        return bool(self.stale or self.unplanned) or len({run.round for run in self.torn}) > 1


def still_valid(runner: Runner, earlier: list[Measurement]) -> Earlier:
    """Repetitions beyond those of the grid are no less valid for it. A cell that hung is tried again if it may take longer
    now than it did."""
    most = max([runner.grid.repetitions, *(run.repetition for run in earlier)])
    planned = {each.key: each.cell for each in replace(runner.grid, repetitions=most).runs()}
    identity = functools.cache(runner.identity)
    of_cells = [run for run in earlier if run.key in planned]
    valid = [run for run in of_cells if run.identity == identity(planned[run.key])]
    hasty = {run.key[:3] for run in valid if run.ending == TIMED_OUT
             and run.cost.get("wall_seconds", math.inf) < runner.limit(planned[run.key]) * CLOSE}
    to_repeat = {run.key: run for run in valid if run.key[:3] in hasty and run.ending in (TIMED_OUT, SKIPPED)}
    whole, torn = whole_rounds(planned, [run for run in valid if run.key not in to_repeat])
    return Earlier(whole, len(of_cells) - len(valid), len(earlier) - len(of_cells), [*torn, *to_repeat.values()])


def whole_rounds(planned: Iterable[Key], runs: list[Measurement]) -> tuple[list[Measurement], list[Measurement]]:
    """The runs that can be gone on with, and those that cannot: a round in which one is missing that is planned is made
    anew as a whole, since the ratios of a round are those of runs side by side in time, and none may join it later. What
    does not count stays: it is in no ratio, and a hang need not be waited for again."""
    there = {run.key for run in runs}
    torn = {round_of(key) for key in planned if key not in there}
    apart = [run for run in runs if run.counts and run.round in torn]
    return [run for run in runs if not run.counts or run.round not in torn], apart
