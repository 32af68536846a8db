"""Measures what no grid has: the memory of an idle process, and what transparent huge pages for everyone do to it.

The kernel's setting of huge pages is changed on the way and put back at the end, on an interruption too.
"""

import json
import os
import signal
import statistics
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from snug_bench.host import fingerprint
from snug_bench.problem import Problem
from snug_bench.results import read_results

SCHEMA = "snug.front_door/1"
HUGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage/enabled")
MODES = ("madvise", "always")
PROGRAMS = ("redis", "sqlite", "lua", "python_malloc", "emacs", "node")
IDLE_PEERS, THREAD_PEERS = "glibc,jemalloc,mimalloc,tcmalloc", "glibc,jemalloc,mimalloc,tcmalloc,tbbmalloc"
PROGRAM_ALLOCATORS = "snug,glibc,jemalloc,mimalloc,mimalloc2,mimalloc3,rpmalloc,snmalloc,tcmalloc,tbbmalloc"


@contextmanager
def huge_pages(mode: str) -> Iterator[None]:
    """Raises Problem where the setting may not be changed."""
    try:
        before = HUGE_PAGES.read_text(encoding="ascii").partition("[")[2].partition("]")[0]
        HUGE_PAGES.write_text(mode, encoding="ascii")
    except OSError as error:
        raise Problem(f"{HUGE_PAGES}: {error.strerror}: run as root where the setting may be changed", 1) from None
    try:
        yield
    finally:
        HUGE_PAGES.write_text(before, encoding="ascii")


def summary(values: list[float], unit: str) -> dict:
    return {"unit": unit, "median": statistics.median(values), "low": min(values), "high": max(values),
            "runs": len(values)}


def compared(root: Path, build: Path, peers: str, rounds: int, program: list[str], conf: str = "") -> dict:
    """What `snug run --compare` says of the program's own figures, by figure and allocator."""
    with tempfile.TemporaryDirectory(prefix="front_door.") as folder:
        file = Path(folder) / "comparison.json"
        options = [*(["--conf", conf] if conf else []), "--compare", peers, "-n", str(rounds), f"--json={file}"]
        output_of([str(build / "bin" / "snug"), "run", *options, "--", str(build / "bin/workloads" / program[0]),
                   *program[1:]], root)
        comparison = json.loads(file.read_text(encoding="utf-8"))
    command = f"snug run {'--conf ' + conf + ' ' if conf else ''}--compare {peers} -n {rounds} -- {' '.join(program)}"
    allocators = {}
    for each in comparison["allocators"]:
        if each["failure"]:
            raise Problem(f"{each['name']}: {each['failure']}", 1)
        allocators[each["name"]] = {"version": each["version"], "figures": {
            name: {"unit": figure["unit"], "median": figure["median"], "low": figure["min"], "high": figure["max"],
                   "runs": figure["n"]} for name, figure in each["figures"].items()}}
    return {"command": command, "huge_pages": comparison["host"]["transparent_huge_pages"], "allocators": allocators}


def output_of(command: list[str], root: Path, **environment: str) -> str:
    """What it prints. In a session of its own, so that an interruption ends whatever it has started."""
    process = subprocess.Popen(command, cwd=root, env={**os.environ, **environment}, stdout=subprocess.PIPE, text=True,
                               start_new_session=True)
    try:
        output, _ = process.communicate()
    except BaseException:
        os.killpg(process.pid, signal.SIGTERM)
        process.communicate()
        raise
    if process.returncode:
        raise Problem(f"exit status {process.returncode} of {' '.join(command)}", 1)
    return output


def peaks(root: Path, build: Path, rounds: int) -> dict:
    """Peak memory of real programs, by program and allocator."""
    with tempfile.TemporaryDirectory(prefix="front_door.") as folder:
        file = Path(folder) / "programs.jsonl"
        options = [*PROGRAMS, "-a", PROGRAM_ALLOCATORS, "-n", str(rounds)]
        output_of([str(root / "scripts/uv"), "run", "--quiet", "--locked", "--project", "bench", "snug-bench", "run", *options,
                   "--build", str(build), "-o", str(file)], root)
        results = read_results(file)
    programs: dict[str, dict] = {load["name"]: {} for load in results.loads}
    for load, allocators in programs.items():
        for name in results.names():
            values = [each.cost["peak_rss_bytes"] / 2**20 for each in results.runs
                      if (each.load, each.allocator) == (load, name) and each.counts and each.repetition]
            if values:
                allocators[name] = summary(values, "MiB")
    return {"command": f"snug-bench run {' '.join(options)}", "programs": programs,
            "huge_pages": results.host["transparent_huge_pages"],
            "versions": {each["name"]: each["version"] for each in results.allocators}}


def measure(root: Path, build: Path, rounds: int) -> dict:
    os.environ.pop("SNUG_CONF", None)
    if not (build / "bin/workloads").is_dir():
        raise Problem(f"{build}: nothing built to measure: run make benchmark", 1)
    output_of([str(root / "scripts/setup"), "build", "bench"], root)
    host = fingerprint(root, build)
    burst = ["idle_burst", "--rounds", "1"]
    found = {"schema": SCHEMA, "host": host, "rounds": rounds,
             "idle": compared(root, build, IDLE_PEERS, rounds, burst),
             "idle_thread": compared(root, build, "glibc", rounds, burst, conf="idle_thread:on")}
    for mode in MODES:
        with huge_pages(mode):
            found[f"threads_{mode}"] = compared(root, build, THREAD_PEERS, rounds, ["cold_start"])
            found[f"programs_{mode}"] = peaks(root, build, rounds)
    return found
