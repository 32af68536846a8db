"""The command line: snug-realtime."""

import json
import os
import subprocess
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table
from snug_bench.allocator import load_allocators
from snug_bench.command import run_command, say, words, write_file
from snug_bench.host import fingerprint
from snug_bench.preparation import Unavailable, prepare
from snug_bench.problem import Problem
from snug_bench.sheet import standard_screen

ROOT = Path(__file__).resolve().parents[3]
PEERS = {"glibc": "", "jemalloc": "jemalloc_tikv", "mimalloc": "mimalloc3", "tlsf": "tlsf"}
NAMES = ("snug", *PEERS)
FIGURES = tuple(f"{call}/{figure}" for call in ("malloc", "free", "empty")
                for figure in ("p50", "p99", "p99.9", "p99.99", "p99.999", "max"))
FLAGS = ["-std=c++20", "-O2", "-Wall", "-Wextra", "-fno-builtin-malloc", "-fno-builtin-free", "-pthread"]
# LD_PRELOAD and what steers an allocator by accident.
STEERING = ("LD_PRELOAD", "SNUG_CONF", "GLIBC_TUNABLES", "MIMALLOC_", "MALLOC_", "_RJEM_MALLOC_")
SECONDS_OF_A_RUN = 3600

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)

HELP = f"""Measures how long single calls of malloc and free take in a thread with deadlines (docs/real-time.md), beside load.

\b
  snug-realtime                        10^8 operations on each contender: some minutes each
  snug-realtime -c snug,tlsf -n 1000000

\b
Contenders: {', '.join(NAMES)}. A process each, in turns; of several repetitions the table has the highest of each figure.

In nanoseconds. `empty` is two readings of the clock with nothing between: what the machine takes away, whichever the
allocator. A contender is slower than that only by what it has above it. `faults` are page faults of the measured thread."""


@app.command(context_settings={"help_option_names": ["-h", "--help"]}, help=HELP)
def run(
    contenders: Annotated[str, typer.Option("--contenders", "-c", metavar="NAME,...", help="Which to run. [default: all]")] = "",
    operations: Annotated[int, typer.Option("--operations", "-n", min=10_000, help="Calls of malloc and free.")] = 100_000_000,
    repetitions: Annotated[int, typer.Option("--repetitions", "-r", min=1, max=1000, help="Runs of each.")] = 1,
    load: Annotated[int, typer.Option(min=0, max=1024, help="Threads that allocate, map, write and copy beside it.")] = 2,
    others: Annotated[int, typer.Option(min=0, max=1000, help="Another thread frees one block in so many; 0: none.")] = 4,
    figures: Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write every value to FILE.")] = None,
    build: Annotated[Path, typer.Option("--build", help="The build with the libsnug.so that is measured.")] =
    ROOT / "build" / "release",
) -> None:
    names = words(contenders) or list(NAMES)
    for name in names:
        if name not in NAMES:
            raise Problem(f"no contender '{name}' (there are: {', '.join(NAMES)})")
    program = compiled()
    environments = {}
    for name in names:
        try:
            environments[name] = environment_of(name, build.resolve())
        except Unavailable as reason:
            say(f"{name}: not to be had: {reason}")
    values: dict[str, list[dict]] = {name: [] for name in environments}
    command = [str(program), "--operations", str(operations), "--load", str(load), "--others", str(others)]
    for repetition in range(repetitions):
        for name, environment in environments.items():
            say(f"{name}, {repetition + 1} of {repetitions}")
            values[name].append(measured(name, command, environment))
    host = fingerprint(ROOT, build)
    standard_screen().print(table(values))
    if figures:
        write_file(figures, json.dumps({"host": host, "command": command[1:], "values": values}, indent=1) + "\n")


def compiled() -> Path:
    source = ROOT / "bench" / "realtime" / "programs" / "latency.cpp"
    program = ROOT / "build" / "realtime" / "latency"
    program.parent.mkdir(parents=True, exist_ok=True)
    if not program.is_file() or source.stat().st_mtime > program.stat().st_mtime:
        done = subprocess.run([os.environ.get("CXX", "c++"), *FLAGS, str(source), "-ldl", "-o", str(program)],
                              capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise Problem(f"{source} cannot be compiled: {(done.stderr.strip().splitlines() or ['no word why'])[0]}", 1)
    return program


def environment_of(name: str, build: Path) -> dict[str, str]:
    plain = {key: value for key, value in os.environ.items() if not key.startswith(STEERING)}
    if name == "snug":
        library = build / "lib" / "libsnug.so"
        if not library.is_file():
            raise Problem(f"no {library}: build first, with `cmake --preset release && ninja -C build/release libsnug.so`")
        return plain | {"LD_PRELOAD": str(library)}
    if not PEERS[name]:
        return plain
    peer = prepare(load_allocators(ROOT / "bench" / "harness" / "allocators")[PEERS[name]], ROOT / "build" / "peers", say)
    return plain | dict(peer.environment) | {"LD_PRELOAD": str(peer.library)}


def measured(name: str, command: list[str], environment: dict[str, str]) -> dict:
    try:
        done = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
                              timeout=SECONDS_OF_A_RUN)
        result = json.loads(done.stdout)
    except subprocess.TimeoutExpired:
        raise Problem(f"{name}: was killed after {SECONDS_OF_A_RUN} s", 1) from None
    except ValueError:
        raise Problem(f"{name}: {(done.stderr.strip().splitlines() or [f'ended with {done.returncode}'])[-1]}", 1) from None
    if name == "snug" and not result["announced"]:
        raise Problem("snug: the thread could not announce itself", 1)
    return result


def table(values: dict[str, list[dict]]) -> Table:
    sheet = Table("ns", *(name for name in values), box=None)
    for column in sheet.columns[1:]:
        column.justify = "right"
    for figure in (*FIGURES, "refused", "faults"):
        sheet.add_row(figure, *(f"{max(run[figure] for run in runs):.0f}" for runs in values.values()))
    sheet.add_row("real-time policy", *("yes" if all(run["real_time"] for run in runs) else "no" for runs in values.values()))
    return sheet


def main() -> None:
    run_command(app, "snug-realtime")


if __name__ == "__main__":
    main()
