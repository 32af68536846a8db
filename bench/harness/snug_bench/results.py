"""Results: a file of JSON lines. The first says what was planned and on which machine, each other one is a run.

    {"schema": "snug.bench/1", "host": {…}, "grid": {…}, "loads": […], "allocators": […], "unavailable": […]}
    {"load": "swap", "threads": 1, "allocator": "snug", "repetition": 1, …}

A run is written as soon as it has ended, so an interrupted grid loses at most the run it was in; a last line without
its end is what a killed writer leaves, and is dropped.
"""

import hashlib
import itertools
import json
import os
import socket
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from snug_bench.measurement import Measurement, count, number, text
from snug_bench.problem import Problem

SCHEMA = "snug.bench/1"
REPORTED_OF_HOST = ("date", "cpu", "cpus", "kernel", "libc", "transparent_huge_pages", "compiler", "commit",
                    "load_average")


@dataclass
class Results:
    host: dict[str, Any]
    grid: dict[str, Any]  # threads, repetitions, seed, shrink, name
    loads: list[dict[str, Any]]  # name, title, kind, stresses, resembles, figures, settles, …
    allocators: list[dict[str, Any]]  # name, title, family, version, library (below the project's root: relative), …
    unavailable: list[dict[str, str]]  # name, reason: what was asked for and could not be had
    runs: list[Measurement] = field(default_factory=list)

    def header(self) -> dict[str, Any]:
        return {"schema": SCHEMA, "host": self.host, "grid": self.grid, "loads": self.loads,
                "allocators": self.allocators, "unavailable": self.unavailable}

    def names(self) -> list[str]:
        return [allocator["name"] for allocator in self.allocators]


def write_header(file: Path, results: Results) -> None:
    """Starts the file anew, with the runs that the results have already."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        lines = [results.header(), *(run.as_json() for run in results.runs)]
        part = file.with_name(file.name + ".part")
        part.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), encoding="utf-8")
        part.replace(file)
    except OSError as error:
        raise Problem(f"cannot write {file}: {error.strerror}", 1) from None


def append_run(file: Path, run: Measurement) -> None:
    try:
        with file.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(run.as_json(), ensure_ascii=False) + "\n")
    except OSError as error:
        raise Problem(f"cannot write {file}: {error.strerror}", 1) from None


def claimed(file: Path) -> socket.socket:
    """The file is this process's until the socket is closed: of two that wrote it at a time, each would lose what the other
    writes anew. The name of a socket stays when the file is renamed, and goes when the process ends, however it does."""
    claim = socket.socket(socket.AF_UNIX)
    try:
        claim.bind(b"\0snug-bench " + hashlib.sha256(os.fsencode(file.resolve())).hexdigest().encode())
    except OSError:
        claim.close()
        raise Problem(f"{file}: another call writes it; wait for its end, or name another file with --output", 1) from None
    return claim


def kept_aside(file: Path) -> Path:
    """Renames the file to results.old1.jsonl, or what is free after it, so that none is lost that was kept before; returns
    the new name. Its ending stays, so that Markdown and page of each kept file get names of their own."""
    names = (file.with_name(f"{file.stem}.old{number}{file.suffix}") for number in itertools.count(1))
    try:
        old = next(name for name in names if not os.path.lexists(name))
        file.rename(old)
    except OSError as error:
        raise Problem(f"cannot keep {file} under another name: {error.strerror}", 1) from None
    return old


def read_results(file: Path) -> Results:
    """Raises Problem with file and line for what is no results file."""
    try:
        if file.exists() and not file.is_file():
            raise Problem(f"cannot read {file}: no file")
        content = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise Problem(f"cannot read {file}: {error}") from None
    lines = content.split("\n")
    lines.pop()  # what stands behind the last line end: nothing, or half a line
    if not lines:
        raise Problem(f"{file}: empty, no results")
    results = read_header(lines[0], file)
    for place, line in enumerate(lines[1:], 2):
        try:
            results.runs.append(Measurement.from_json(json.loads(line)))
        except (KeyError, TypeError, ValueError, AttributeError, RecursionError):
            raise Problem(f"{file}:{place}: damaged: not a run of {SCHEMA}") from None
    return results


def read_header(line: str, file: Path) -> Results:
    try:
        header = json.loads(line)
        schema = header.get("schema")
    except (ValueError, AttributeError, RecursionError):
        raise Problem(f"{file}:1: damaged: no results of snug-bench") from None
    if schema != SCHEMA:
        raise Problem(f"{file}:1: of schema {schema!r}, not {SCHEMA!r}")
    try:
        results = Results(header["host"], header["grid"], header["loads"], header["allocators"], header["unavailable"])
        check_header(results)
    except (KeyError, TypeError, ValueError, AttributeError):
        raise Problem(f"{file}:1: damaged: the header is not complete") from None
    return results


def check_header(results: Results) -> None:
    """Raises KeyError, TypeError or ValueError if something is missing that a report needs, or is of another kind."""
    for load in results.loads:
        for key in ("name", "title", "kind", "stresses"):
            text(load[key])
        for pattern in load["figures"]:
            text(pattern)
        load["settles"]
    for allocator in results.allocators:
        for key in ("name", "title", "family", "version"):
            text(allocator[key])
    for each in results.unavailable:
        text(each["name"]), text(each["reason"])
    count(results.grid["repetitions"]), number(results.grid["shrink"]), number(results.grid["seed"])
    for key in REPORTED_OF_HOST:
        text(str(results.host[key]))
    for known in (results.loads, results.allocators):
        if len({each["name"] for each in known}) < len(known):
            raise ValueError("a name stands there twice")
