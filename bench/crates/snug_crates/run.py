"""The runs: first one of each load and contender, not measured, in which all must write the same; then the measured ones, the
contenders of a load one after the other, in an order of chance and in every second repetition backwards."""

import contextlib
import hashlib
import json
import random
import shlex
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from snug_bench.contender import Contender, environment_for
from snug_bench.problem import Problem
from snug_bench.processor_time import ProcessorTime, processor_time

from snug_crates.loads import Data, Load

RUN_SECONDS = 300
GRACE = 30  # seconds beyond it in which the tool itself must have ended
WARM_MEBIBYTES = 512  # before a load's peak is known; then a quarter more than the peak

# A figure's name, its unit, and how `snug measure` has it.
FIGURES: dict[str, tuple[str, Callable[[dict], float]]] = {
    "time": ("ns", lambda cost: cost["wall_seconds"] * 1e9),
    "processor": ("ns", lambda cost: (cost["user_seconds"] + cost["system_seconds"]) * 1e9),
    "peak": ("B", lambda cost: cost["peak_rss_bytes"]),
    "faults": ("", lambda cost: cost["minor_faults"] + cost["major_faults"]),
}


@dataclass(frozen=True)
class Entry:
    """A contender's programs for a target."""

    target: str
    contender: str
    programs: Path

    def command(self, load: Load, data: Data) -> list[str]:
        return [str(self.programs / load.program), *load.arguments(data)]


@dataclass
class Results:
    # target, load and figure, then contender: a value for each repetition
    values: dict[tuple[str, str, str], dict[str, list[float]]] = field(default_factory=dict)
    absent: dict[tuple[str, str, str], str] = field(default_factory=dict)  # of a target, load and contender: why
    outputs: dict[str, str] = field(default_factory=dict)  # of each load: the hash
    processors: list[ProcessorTime] = field(default_factory=list)
    repetitions: int = 0


def run_all(tool: Path, loads: list[Load], entries: list[Entry], data: Data, repetitions: int, seed: int,
            tell: Callable[[str, int, int, float], None]) -> Results:
    """Interrupted, what whole repetitions there are. Raises Problem where outputs differ."""
    draw, results, start, done = random.Random(seed), Results(), time.monotonic(), 0
    targets = list(dict.fromkeys(entry.target for entry in entries))
    total = (1 + repetitions) * len(loads) * len(entries)
    peaks: dict[str, float] = {}
    order: dict[tuple[str, str], list[Entry]] = {}

    def next_run(load: Load, entry: Entry, what: str) -> bool:
        nonlocal done
        spent = time.monotonic() - start
        tell(f"{load.name} on {entry.contender}, {entry.target}, {what}", done, total, spent / done * (total - done) if done else 0)
        done += 1
        return (entry.target, load.name, entry.contender) not in results.absent

    with contextlib.suppress(KeyboardInterrupt):
        for load in loads:
            for entry in entries:
                next_run(load, entry, "output")
                check_output(load, entry, data, results)
        for repetition in range(repetitions):
            kept: list[tuple[str, str, str, dict]] = []
            for load in draw.sample(loads, len(loads)):
                for target in targets:
                    line = [entry for entry in entries if entry.target == target]
                    key = target, load.name
                    order[key] = order[key][::-1] if repetition % 2 else draw.sample(line, len(line))
                    for entry in order[key]:
                        if not next_run(load, entry, f"repetition {repetition + 1}"):
                            continue
                        before = processor_time()
                        cost, why = measured(tool, entry.command(load, data), int(peaks.get(load.name, 0) * 1.25) >> 20)
                        results.processors.append(processor_time().since(before))
                        if why:
                            results.absent[target, load.name, entry.contender] = why
                            continue
                        peaks[load.name] = max(peaks.get(load.name, 0), cost["peak_rss_bytes"])
                        kept.append((target, load.name, entry.contender, cost))
            for target, load_name, contender, cost in kept:
                for figure, (_, read) in FIGURES.items():
                    results.values.setdefault((target, load_name, figure), {}).setdefault(contender, []).append(read(cost))
            results.repetitions += 1
    if not results.repetitions:
        raise KeyboardInterrupt
    for target, load_name, contender in results.absent:  # what failed once has no rounds in common with others
        for figure in FIGURES:
            results.values.get((target, load_name, figure), {}).pop(contender, None)
    return results


def environment() -> dict[str, str]:
    return environment_for(Contender("", "", "", Path()))


def check_output(load: Load, entry: Entry, data: Data, results: Results) -> None:
    try:
        done = subprocess.run(entry.command(load, data), env=environment(), stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=RUN_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        results.absent[entry.target, load.name, entry.contender] = f"was killed after {RUN_SECONDS} s"
        return
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        results.absent[entry.target, load.name, entry.contender] = f"ended with {done.returncode}{f': {said[-1]}' if said else ''}"
        return
    # Threads print files in any order.
    found = hashlib.sha256(b"\n".join(sorted(done.stdout.splitlines()))).hexdigest()
    if not done.stdout or results.outputs.setdefault(load.name, found) != found:
        what = "something else than others" if done.stdout else "nothing"
        raise Problem(f"{load.name} on {entry.contender}, {entry.target}, wrote {what}: {shlex.join(entry.command(load, data))}", 1)


def measured(tool: Path, program: list[str], warm: int) -> tuple[dict, str]:
    """What a run cost; or why it does not count. The tool preloads a library; of glibc it is the one that is there."""
    command = [str(tool), "measure", "--on", "glibc", "--timeout", str(RUN_SECONDS), "--warm", str(warm or WARM_MEBIBYTES), "--", *program]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          start_new_session=True, env=environment()) as process:
        try:
            output, errors = process.communicate(timeout=RUN_SECONDS + GRACE)
        except BaseException:
            process.terminate()  # it ends what it has started
            process.communicate()
            raise
    if process.returncode != 0:
        raise Problem((errors.strip().splitlines() or [f"snug measure ended with {process.returncode}"])[-1], 1)
    document = json.loads(output)
    return document["cost"], document["objection"]
