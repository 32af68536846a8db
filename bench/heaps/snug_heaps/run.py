"""The runs: a process for each load, contender and repetition, the contenders of a load one after the other, in an order
of chance and in every second repetition backwards."""

import contextlib
import json
import mmap
import os
import random
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from snug_bench.command import say
from snug_bench.processor_time import ProcessorTime, processor_time
from snug_bench.problem import Problem

from snug_heaps.contender import Contender

RUN_SECONDS = 120
LOADS = ("requests", "requests_threads", "query", "document", "one_block", "four_sizes", "live", "shared")
COUNT = "heaps"  # the unit of a figure that says how many there were, and is no cost
ABSENT = "matches no figure"  # what a program says of a load that its heaps cannot serve
WARM_BYTES = 128 << 20  # before a load's peak is known
WARM_SHARE = 4  # of the machine's memory at most one in so many bytes

# LD_PRELOAD and what steers an allocator by accident.
STEERING = ("LD_PRELOAD", "SNUG_CONF", "GLIBC_TUNABLES", "MIMALLOC_", "MALLOC_", "_RJEM_MALLOC_")


@dataclass
class Results:
    # load/figure, then contender: a value for each repetition
    values: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    units: dict[str, str] = field(default_factory=dict)
    absent: dict[tuple[str, str], str] = field(default_factory=dict)  # of a load and a contender: why
    processors: list[ProcessorTime] = field(default_factory=list)
    repetitions: int = 0


@dataclass(frozen=True)
class Wish:
    loads: list[str]
    repetitions: int
    threads: int
    scale: float
    seed: int


def run_all(wish: Wish, contenders: list[Contender], tell: Callable[[str, int, int, float], None]) -> Results:
    """Interrupted, what whole repetitions there are. `tell` hears what runs, how many runs are done of how many, and the
    seconds that are left."""
    draw, results, start, done = random.Random(wish.seed), Results(), time.monotonic(), 0
    total = wish.repetitions * len(wish.loads) * len(contenders)
    peaks: dict[str, float] = {}
    order: dict[str, list[Contender]] = {}
    with contextlib.suppress(KeyboardInterrupt):
        for repetition in range(wish.repetitions):
            kept: list[tuple[str, str, dict]] = []
            for load in draw.sample(wish.loads, len(wish.loads)):
                again = repetition % 2 == 1
                order[load] = order[load][::-1] if again else draw.sample(contenders, len(contenders))
                for contender in order[load]:
                    spent = time.monotonic() - start
                    tell(f"{load} on {contender.kind.name}, repetition {repetition + 1}", done, total,
                         spent / done * (total - done) if done else 0)
                    done += 1
                    if (load, contender.kind.name) in results.absent:
                        continue
                    figures, why = run(wish, load, contender, wish.seed + repetition, peaks, results)
                    if why:
                        results.absent[load, contender.kind.name] = why
                        if ABSENT not in why:
                            say(f"{load} on {contender.kind.name}: {why}")
                        continue
                    kept.append((load, contender.kind.name, figures))
            for load, name, figures in kept:
                for figure, row in figures.items():
                    results.values.setdefault(figure, {}).setdefault(name, []).append(row["value"])
                    results.units[figure] = row["unit"]
            results.repetitions += 1
    if not results.repetitions:
        raise KeyboardInterrupt
    for (load, name) in results.absent:  # what failed once has no rounds in common with others
        for figure, row in results.values.items():
            if figure.startswith(load + "/"):
                row.pop(name, None)
    return results


def run(wish: Wish, load: str, contender: Contender, seed: int, peaks: dict[str, float],
        results: Results) -> tuple[dict[str, dict], str]:
    """The figures; or why there are none."""
    warm_memory(int(peaks.get(load, WARM_BYTES) * 1.25))
    before = processor_time()
    environment = {name: value for name, value in os.environ.items() if not name.startswith(STEERING)}
    with tempfile.NamedTemporaryFile() as file:
        command = [str(contender.program), "--only", f"{load}/*", "--seed", str(seed), "--scale", f"{wish.scale:g}",
                   "--threads", str(wish.threads)]
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                              start_new_session=True,
                              env=environment | contender.environment | {"SNUG_FIGURES": file.name}) as process:
            try:
                _, errors = process.communicate(timeout=RUN_SECONDS)
            except subprocess.TimeoutExpired:
                kill(process)
                return {}, f"was killed after {RUN_SECONDS} s"
            except BaseException:
                kill(process)
                raise
        results.processors.append(processor_time().since(before))
        if process.returncode != 0:
            return {}, (errors.strip().splitlines() or [f"ended with {process.returncode}"])[-1]
        text = Path(file.name).read_text(encoding="utf-8")
    try:
        figures = json.loads(text)
        for figure, row in figures.items():
            if figure.endswith("/peak"):
                peaks[load] = max(peaks.get(load, 0), row["value"])
        return figures, ""
    except (ValueError, KeyError, TypeError):
        raise Problem(f"{contender.program} wrote no figures", 1) from None


def kill(process: subprocess.Popen) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def warm_memory(size: int) -> None:
    """Touches and frees as much, so that the run does not pay for getting it back from a hypervisor."""
    most = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // WARM_SHARE
    mmap.mmap(-1, min(size, most), mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | mmap.MAP_POPULATE).close()
