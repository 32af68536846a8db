"""The runs: rounds of all programs, and in each of a program's every recorder once, in an order of chance, in every second round
backwards."""

import contextlib
import random
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from snug_bench.contender import Contender, environment_for
from snug_bench.processor_time import ProcessorTime, processor_time

from snug_recorders.programs import Cost, Program
from snug_recorders.recorders import Recorder, written

LEAST_WRITTEN = 256  # bytes: the least profile of one stack has more


@dataclass
class Results:
    # program and figure, then recorder: a value for each round
    values: dict[tuple[str, str], dict[str, list[float]]] = field(default_factory=dict)
    absent: dict[tuple[str, str], str] = field(default_factory=dict)  # of a program and recorder: why
    processors: list[ProcessorTime] = field(default_factory=list)
    rounds: int = 0


# A figure's name and its unit.
FIGURES = {"processor": "ns", "peak": "B", "file": "B"}


def run_all(programs: list[Program], recorders: list[Recorder], build: Path, rounds: int, seed: int,
            tell: Callable[[str, int, int, float], None]) -> Results:
    """Interrupted, what whole rounds there are; at least one, or it raises KeyboardInterrupt."""
    draw, results, start = random.Random(seed), Results(), time.monotonic()
    lines = {program.name: [each for each in recorders if program.is_python or not each.only_python] for program in programs}
    total, done = rounds * sum(map(len, lines.values())), 0
    with contextlib.suppress(KeyboardInterrupt):
        for number in range(rounds):
            kept: list[tuple[str, str, dict[str, float]]] = []
            for program in draw.sample(programs, len(programs)):
                line = lines[program.name]
                line[:] = line[::-1] if number % 2 else draw.sample(line, len(line))
                for recorder in line:
                    spent = time.monotonic() - start
                    tell(f"{program.name}, {recorder.name}, round {number + 1}", done, total, spent / done * (total - done) if done else 0)
                    done += 1
                    if (program.name, recorder.name) in results.absent:
                        continue
                    before = processor_time()
                    figures, why = measured(program, recorder, build)
                    results.processors.append(processor_time().since(before))
                    if why:
                        results.absent[program.name, recorder.name] = why
                    else:
                        kept.append((program.name, recorder.name, figures))
            for program_name, recorder_name, figures in kept:
                for figure, value in figures.items():
                    results.values.setdefault((program_name, figure), {}).setdefault(recorder_name, []).append(value)
            results.rounds += 1
    if not results.rounds:
        raise KeyboardInterrupt
    for program_name, recorder_name in results.absent:  # what failed once has no rounds in common with others
        for figure in FIGURES:
            results.values.get((program_name, figure), {}).pop(recorder_name, None)
    return results


def measured(program: Program, recorder: Recorder, build: Path) -> tuple[dict[str, float], str]:
    """The figures of a run; or why it does not count."""
    with tempfile.TemporaryDirectory(prefix="snug-recorders-") as folder:
        file = Path(folder) / "recording"
        environment = environment_for(Contender("", "", "", Path()), program.environment) | recorder.environment(file, build)
        cost, why = program.run(recorder.command(program.command, file, build), environment)
        return figures_of(cost, written(file), recorder) if not why else ({}, why)


def figures_of(cost: Cost, size: int, recorder: Recorder) -> tuple[dict[str, float], str]:
    figures = {"processor": cost.seconds * 1e9, "peak": float(cost.peak)}
    if not recorder.writes:
        return figures, ""
    return figures | {"file": float(size)}, "" if size >= LEAST_WRITTEN else f"has written {size} bytes, and so recorded nothing"
