"""Loads: what is run on each allocator. A *workload* is a program of bench/loads/workloads, a *program* a real one.

Both are data: tables in bench/loads/workloads/*.toml, beside the sources, and one file each in bench/loads/programs. A load
says which of the figures that it prints are judged; without any, the time of the whole run is.
"""

import shutil
import tomllib
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from snug_bench.problem import Problem

SYNTHETIC, REAL = "synthetic", "real"
WARM_UP_SHARE = 0.02  # of a run's operations: enough to page everything in, and to see which allocator serves malloc
PROGRAM_WARM_UP_SHARE = 0.1  # of a run's time, by experience: its warm-up is a command of its own, and starts all it needs
# The limit of a run's time, if its load declares none: generous by what it takes, but no minutes for a hopeless cell.
PATIENCE, SHORTEST_TIMEOUT, LONGEST_TIMEOUT = 20, 10.0, 60.0


@dataclass(frozen=True)
class Load:
    """One thing to run. `command` has placeholders: {build}, {root}, {threads}, {scale}, {seed}.

    `warm_up` is a cheaper command that starts the same programs; without, a warm-up of a program is its whole run.
    Where its operations are those of each thread, more threads than `work_of` share the work of that many: a row of eight
    threads takes as long as one of two. 0: each always does its whole work.
    """

    name: str
    title: str
    kind: str
    stresses: str
    command: tuple[str, ...]
    resembles: str = ""
    figures: tuple[str, ...] = ()  # patterns of the names of those that are judged
    threads: tuple[int, ...] | None = (1,)  # the numbers it can take; None: any
    scale: float = 1.0  # of the number of operations
    environment: dict[str, str] = field(default_factory=dict, hash=False)
    needs: tuple[str, ...] = ()  # commands that must be there
    timeout: float = LONGEST_TIMEOUT
    settles: bool = False  # it idles at its end, so that its last RSS is the settled one
    seconds: float = 1.0  # about how long a run takes, over the allocators: for the estimate and the time limit
    warm_up: tuple[str, ...] = ()
    work_of: int = 0
    c_library: str = ""  # that its program is built for; empty: whichever that of the build is

    def command_line(self, root: Path, build: Path, threads: int, shrink: float, seed: int) -> list[str]:
        """With every placeholder filled in; a relative path that is there under `root` becomes absolute."""
        return self.filled(self.command, root, build, threads, shrink, seed)

    def warm_up_line(self, root: Path, build: Path, threads: int, shrink: float, seed: int) -> list[str]:
        """The same of the warm-up."""
        return self.filled(self.warm_up or self.command, root, build, threads, shrink * WARM_UP_SHARE, seed)

    def filled(self, command: tuple[str, ...], root: Path, build: Path, threads: int, shrink: float,
               seed: int) -> list[str]:
        share = self.work_of / threads if 0 < self.work_of < threads else 1
        values = {"{root}": str(root), "{build}": str(build), "{threads}": str(threads), "{seed}": str(seed),
                  "{scale}": f"{self.scale * shrink * share:g}"}
        words = []
        for word in command:
            for placeholder, value in values.items():
                word = word.replace(placeholder, value)
            words.append(str(root / word) if "/" in word and (root / word).exists() else word)
        return words

    @property
    def takes_scale(self) -> bool:
        return any("{scale}" in word for word in self.command)

    def expected_seconds(self, shrink: float) -> float:
        """Of a run."""
        return self.seconds * shrink if self.takes_scale else self.seconds

    def expected_warm_up(self, shrink: float) -> float:
        """Seconds of a warm-up."""
        if self.takes_scale:
            return self.expected_seconds(shrink) * WARM_UP_SHARE
        return self.seconds * PROGRAM_WARM_UP_SHARE if self.warm_up else self.seconds

    def threads_among(self, wanted: list[int]) -> list[int]:
        """The numbers of threads to run with: those wanted that it can take, else the first it can."""
        if self.threads is None:
            return wanted
        return [count for count in wanted if count in self.threads] or [self.threads[0]]

    def missing(self, build: Path, root: Path) -> str:
        """Why the load cannot be run here; empty if it can."""
        for need in self.needs:
            if shutil.which(need) is None and not (root / need).exists():
                return f"{need} is not installed"
        program = self.command_line(root, build, 1, 1, 1)[0]
        if shutil.which(program) is None:
            return f"no program {program}"
        return ""

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def load_loads(bench: Path) -> dict[str, Load]:
    """Every load below the folder bench/, workloads first."""
    loads: dict[str, Load] = {}
    for file in sorted((bench / "workloads").glob("*.toml")):
        for name, table in read_toml(file).items():
            add(loads, read_workload(name, table, file), file)
    for file in sorted((bench / "programs").glob("*.toml")):
        add(loads, read_program(read_toml(file), file), file)
    return loads


def add(loads: dict[str, Load], load: Load, file: Path) -> None:
    if load.name in loads:
        raise Problem(f"{file}: there is a load '{load.name}' already")
    loads[load.name] = load


def read_toml(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise Problem(f"{file}: {error}") from None


class Table:
    """A table of a TOML file; its keys are taken one by one, so that a misspelt one is noticed."""

    def __init__(self, table: Any, where: str):
        if not isinstance(table, dict):
            raise Problem(f"{where}: a table is needed, not {table!r}")
        self.left, self.where = dict(table), where

    def take(self, key: str, kind: type, default: Any = ...) -> Any:
        value = self.left.pop(key, default)
        if value is ...:
            raise Problem(f"{self.where}: '{key}' is missing")
        if kind is float and type(value) is int:
            return float(value)
        if value is not default and not isinstance(value, kind):
            raise Problem(f"{self.where}: '{key}' is no {kind.__name__}: {value!r}")
        return value

    def take_words(self, key: str, default: Any = ()) -> tuple[str, ...]:
        words = self.take(key, list, default)
        if not all(isinstance(word, str) for word in words):
            raise Problem(f"{self.where}: '{key}' is no list of strings")
        return tuple(words)

    def end(self) -> None:
        if self.left:
            raise Problem(f"{self.where}: unknown key '{next(iter(self.left))}'")


def read_workload(name: str, content: Any, file: Path) -> Load:
    table = Table(content, f"{file}: [{name}]")
    program, size = table.take("program", str), table.take("size", int, 0)
    figures, rounds = table.take_words("figures", ["*"]), table.take("rounds", int, 1)
    threads = table.left.pop("threads", [1])
    if threads != "any" and not (isinstance(threads, list) and threads and all(type(each) is int for each in threads)):
        raise Problem(f"{table.where}: 'threads' is a list of numbers or \"any\"")
    start = ("{build}/bin/workloads/" + program, "--rounds")
    options = ["--scale", "{scale}", "--seed", "{seed}", "--only", ",".join(figures)]
    options += ["--size", str(size)] if size else []
    # A workload with a number of threads of its own is not told another.
    options += ["--threads", "{threads}"] if threads != [1] else []
    load = Load(name, table.take("title", str, name.replace("_", " ")), table.take("kind", str, SYNTHETIC),
                table.take("stresses", str), (*start, str(rounds), *options), table.take("resembles", str, ""), figures,
                None if threads == "any" else tuple(threads), table.take("scale", float, 1.0),
                settles=table.take("settles", bool, False), work_of=table.take("work_of", int, 0),
                # Some workloads fill their heap in each round, whatever the scale.
                warm_up=(*start, "1", *options),
                **times(table, 0.5))
    table.end()
    return checked(load, table.where)


def read_program(content: Any, file: Path) -> Load:
    table = Table(content, str(file))
    for key in ("setup", "groups", "homepage"):  # for the set-up and for readers
        table.left.pop(key, None)
    environment = {key: str(value) for key, value in table.take("environment", dict, {}).items()}
    command = table.take_words("command", ...)
    load = Load(table.take("name", str), table.take("title", str), table.take("kind", str, REAL),
                table.take("stresses", str), command, table.take("resembles", str, ""), table.take_words("figures", []),
                (table.take("threads", int, 1),), environment=environment, needs=table.take_words("needs", []),
                settles=table.take("settles", bool, False), warm_up=table.take_words("warm_up", []),
                c_library=table.take("c_library", str, "glibc"), **times(table, 3.0))
    table.end()
    return checked(load, table.where)


def times(table: Table, usual: float) -> dict[str, float]:
    """What a run takes, and the limit: the declared one, else by what it takes."""
    seconds = table.take("seconds", float, usual)
    by_seconds = min(max(SHORTEST_TIMEOUT, PATIENCE * seconds), LONGEST_TIMEOUT)
    return {"seconds": seconds, "timeout": table.take("timeout", float, by_seconds)}


def checked(load: Load, where: str) -> Load:
    if load.kind not in (SYNTHETIC, REAL):
        raise Problem(f"{where}: 'kind' is \"{SYNTHETIC}\" or \"{REAL}\", not {load.kind!r}")
    if not load.command or load.timeout <= 0 or load.scale <= 0 or load.seconds <= 0 or load.work_of < 0:
        raise Problem(f"{where}: command, timeout, seconds and scale must say something, and work_of is no less than 0")
    return load


def matching(loads: dict[str, Load], patterns: Iterable[str]) -> list[Load]:
    """The loads with names that match, each once, in the catalogue's order. A pattern that matches none is a problem."""
    patterns = list(patterns)
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in loads):
            raise Problem(f"no load matches '{pattern}'; `snug-bench list` shows them")
    return [load for name, load in loads.items() if any(fnmatchcase(name, pattern) for pattern in patterns)]
