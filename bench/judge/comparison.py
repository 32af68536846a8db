"""One load on snug and its peers: runs `snug run --compare`, keeps what it found, and reads series out of it.

A comparison is kept in a file as soon as it is done, with everything that decided it (the plan). A later call that
resumes takes it from there if the plan is the same.
"""

import json
import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from judge.load import Load
from judge.verdict import Figure, Series

TIME_LIMIT = 120  # seconds for one run, a hundred times what it takes

# What the tool measures of every run: its name there, the unit.
MEASURED = {"peak_rss_bytes": "B", "minor_faults": "", "system_seconds": "s", "user_seconds": "s", "wall_seconds": "s"}


class Stopped(Exception):
    """No use in going on: the reason in one line, and the exit status (above 128: a signal was the reason)."""

    def __init__(self, reason: str, status: int):
        super().__init__(reason)
        self.status = status


@dataclass(frozen=True)
class Plan:
    """What all comparisons of a matrix share."""

    build: Path
    peers: str
    rounds: int
    warmup: int
    seed: int
    shrink: float  # of the operations of each load
    configuration: str  # of snug

    def command(self, load: Load, result: Path) -> list[str]:
        configuration = ["--conf", self.configuration] if self.configuration else []
        return [str(self.build / "bin" / "snug"), "run", "--compare", self.peers, "-n", str(self.rounds),
                "--warmup", str(self.warmup), "--seed", str(self.seed), "--timeout", str(TIME_LIMIT), *configuration,
                f"--json={result}", "--", *load.command(self.build / "bin" / "workloads", self.shrink)]

    def identity(self, load: Load) -> dict[str, Any]:
        """All that decides a comparison of this load, as JSON: one that was kept under another identity is stale."""
        files = [self.build / "lib" / "libsnug.so", self.build / "bin" / "workloads" / load.program]
        return {"command": self.command(load, Path("-")), "SNUG_CONF": os.environ.get("SNUG_CONF"),
                "files": [[file.stat().st_size, file.stat().st_mtime_ns] for file in files]}


class Comparison:
    """What `snug run --compare --json` wrote of one load."""

    def __init__(self, load: Load, document: dict[str, Any]):
        self.load = load
        self.program: list[str] = document["program"]
        self.host: dict[str, Any] = document["host"]
        self.allocators: list[dict[str, Any]] = document["allocators"]

    @property
    def failures(self) -> list[str]:
        """One sentence for each allocator that has runs that do not count."""
        return [f"{self.load.name} on {allocator['name']}: {allocator['failure']}"
                for allocator in self.allocators if allocator["failure"]]

    def figures(self) -> list[tuple[Figure, dict[str, Series]]]:
        """The figures that the workload measured itself, in its order."""
        found: dict[str, Figure] = {}
        for allocator in self.allocators:
            for name, summary in allocator["figures"].items():
                found.setdefault(name, Figure(self.load.name, name, summary["unit"], summary["better"] == "higher"))
        return [(figure, self._series(lambda run: run.get("figures", {}), name)) for name, figure in found.items()]

    def measured(self) -> list[tuple[Figure, dict[str, Series]]]:
        """What the tool measured: peak RSS first, then faults and times."""
        return [(Figure(self.load.name, name, unit), self._series(lambda run: run, name))
                for name, unit in MEASURED.items()]

    def _series(self, values_of: Callable[[dict[str, Any]], dict[str, Any]], name: str) -> dict[str, Series]:
        """Of each allocator the values of that name in the runs that count; none for who has none."""
        series = {}
        for allocator in self.allocators:
            runs = [values_of(run) for run in allocator["runs"] if run["counts"]]
            values = tuple(run[name] for run in runs if name in run)
            if values:
                series[allocator["name"]] = Series(values)
        return series


def kept_comparison(plan: Plan, load: Load, folder: Path) -> Comparison | None:
    """What an earlier call kept, if it was made under the same plan."""
    file = folder / f"{load.name}.json"
    try:
        kept = json.loads(file.read_text())
    except (OSError, ValueError):
        return None
    return Comparison(load, kept["comparison"]) if kept["identity"] == plan.identity(load) else None


def run_comparison(plan: Plan, load: Load, folder: Path) -> Comparison:
    """Runs the load on every allocator and keeps the result. Throws Stopped if the tool cannot, or was interrupted."""
    folder.mkdir(parents=True, exist_ok=True)
    result = folder / f"{load.name}.part"
    result.unlink(missing_ok=True)
    process = subprocess.run(plan.command(load, result), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                             check=False)
    if process.returncode < 0 or process.returncode > 128:
        raise Stopped(f"interrupted in {load.name}", 128 + abs(process.returncode) % 128)
    # The tool refuses a plan before the first run; a run that failed is a result.
    if process.returncode not in (0, 1) or not result.exists():
        said = process.stderr.strip().splitlines() or [f"snug run ended with {process.returncode}"]
        raise Stopped(said[-1].removeprefix("snug: "), 1)
    document = json.loads(result.read_text())
    file = folder / f"{load.name}.json"
    file.write_text(json.dumps({"identity": plan.identity(load), "comparison": document}))
    result.unlink()
    return Comparison(load, document)
