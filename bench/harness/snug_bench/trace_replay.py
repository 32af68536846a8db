"""Traces replayed on allocators: what each took at its largest, and what snug's memory was made of there.

The parts add up to what is resident:

    requested + rounding + free in slabs + caches + kept + records + rest == resident

The rest is code and stacks, less what snug counts and nobody has ever touched: it may be below zero.
"""

import json
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from snug_bench.contender import SNUG, Contender, environment_for
from snug_bench.problem import Problem

SECONDS = 1800  # of one replay on one allocator; more is a failure
PARTS = {"requested": "what the program has asked for, and has not freed",
         "rounding": "up to the sizes of blocks, and libc's own blocks",
         "free in slabs": "places for blocks of sizes that few are left of",
         "caches": "freed, and kept by threads for the next that is asked for",
         "kept": "empty pages that are kept for a while",
         "records": "what snug writes down for itself",
         "rest": "code and stacks, less what is counted above and was never touched"}


@dataclass(frozen=True)
class TraceReplay:
    """Bytes. An allocator with a failed replay has the reason instead."""

    name: str
    events: int
    peaks: dict[str, int]  # what was resident at the largest checkpoint, by allocator
    parts: dict[str, int]  # of snug's
    failures: dict[str, str]

    @property
    def leanest(self) -> str:
        return min(self.peaks, key=self.peaks.__getitem__)

    @property
    def ratio(self) -> float | None:
        """Of snug's memory to that of the leanest; none where snug's replay failed."""
        return self.peaks[SNUG] / self.peaks[self.leanest] if SNUG in self.peaks else None

    @property
    def excess(self) -> int:
        """Bytes that snug takes more than the leanest."""
        return self.peaks[SNUG] - self.peaks[self.leanest]

    @property
    def largest_part(self) -> str:
        """Of snug's parts beyond what was requested."""
        return max((part for part in self.parts if part != "requested"), key=self.parts.__getitem__)


def traces_in(root: Path) -> list[Path]:
    """Those that `make traces` has left; the beginnings of some, kept as test data, if there are none."""
    return sorted((root / "build" / "traces").glob("*.trace")) or sorted((root / "tests" / "golden" / "traces").glob("*.trace"))


def replay(tool: Path, trace: Path, contenders: Iterable[Contender]) -> TraceReplay:
    """Once on each, snug among them. Raises Problem if the trace cannot be replayed at all."""
    contenders = list(contenders)
    [snug] = [each for each in contenders if each.family == SNUG]
    told = []
    for peers in calls_for([each for each in contenders if each is not snug]):
        names = {each.named or str(each.library): each.name for each in peers}
        told.append((replayed(tool, trace, snug, list(names), peers[0].environment if peers else {}), names))
    return read(trace.stem, told)


def calls_for(peers: list[Contender]) -> list[list[Contender]]:
    """Of those that one call of the tool can have: all of a call get one environment, and are told apart by their libraries.
    A variant may differ from its base by the environment alone."""
    calls: list[list[Contender]] = []
    for each in peers:
        fitting = (call for call in calls if each.environment == call[0].environment
                   and all(each.library != other.library for other in call))
        if (call := next(fitting, None)) is not None:
            call.append(each)
        else:
            calls.append([each])
    return calls or [[]]


def replayed(tool: Path, trace: Path, snug: Contender, peers: list[str], environment: dict[str, str]) -> dict[str, Any]:
    """What the tool says of snug, which is in each call, and of `peers`, as it calls them."""
    command = [str(tool), "replay", str(trace), "--library", str(snug.library), "-n", "1", "--warmup", "0", "--timeout",
               str(SECONDS), "--allocators", ",".join(peers) or SNUG, "--json", "-"]
    process = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
                             env=environment_for(snug, environment))
    try:
        return json.loads(process.stdout)
    except ValueError:
        said = process.stderr.strip().splitlines() or [f"snug replay ended with {process.returncode}"]
        raise Problem(f"{trace}: {said[-1]}", 1) from None


def read(name: str, told: list[tuple[dict[str, Any], dict[str, str]]]) -> TraceReplay:
    """Of each call of the tool its document, and what allocators are called, by how it was told of them. Snug's first
    replay is the one that is taken."""
    peaks: dict[str, int] = {}
    failures: dict[str, str] = {}
    parts: dict[str, int] = {}
    events = 0
    for document, names in told:
        for allocator in document["allocators"]:
            called = names.get(allocator["name"], allocator["name"])
            if called in peaks or called in failures:
                continue
            checkpoints = document["replay"]["allocators"][allocator["name"]]["checkpoints"]
            if not checkpoints:
                failures[called] = failure(allocator)
                continue
            largest = max(checkpoints, key=lambda each: each["rss_bytes"])
            peaks[called] = largest["rss_bytes"]
            events = max(events, checkpoints[-1]["events"])
            if called == SNUG and "snug" in largest:
                parts = parts_of(largest)
    if not peaks:
        raise Problem(f"{name}: no replay counts: {next(iter(failures.values()), 'nothing was run')}", 1)
    return TraceReplay(name, events, peaks, parts, failures)


def failure(allocator: dict[str, Any]) -> str:
    """Why there is nothing of it; the tool says in `failure` why an allocator was refused, and has no run of that."""
    objections = [run["objection"] for run in allocator["runs"]]
    return next(filter(None, [*objections, allocator["failure"]]), "its memory was never looked at" if objections else "not run")


def parts_of(checkpoint: dict[str, Any]) -> dict[str, int]:
    snug, requested = checkpoint["snug"], checkpoint["live_bytes"]
    small = snug["bytes_in_use"] - snug["bytes_large"]
    sizes = {"requested": requested, "rounding": snug["bytes_in_use"] - requested,
             "free in slabs": snug["bytes_in_slabs"] - small - snug["bytes_cached"], "caches": snug["bytes_cached"],
             "kept": snug["bytes_retained"], "records": snug["bytes_metadata"]}
    return sizes | {"rest": checkpoint["rss_bytes"] - sum(sizes.values())}
