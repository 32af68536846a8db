"""The grid: loads × threads × allocators × repetitions, and the order in which its runs are made.

Every repetition goes through the whole grid once, in an order of its own: rows are shuffled, and so are the allocators
within each row, which stay together so that a slow minute of the machine strikes all of a row. An interrupted grid has
thus some repetitions of everything instead of all repetitions of something. In the second of every two repetitions the
allocators of a row run in the first one's order the other way round: each stands before each other as often as behind
it, and what a place costs, or a machine that slows down, lies on both sides of their ratios.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from snug_bench.contender import Contender
from snug_bench.measurement import WARM_UP, Key
from snug_bench.problem import Problem
from snug_bench.workload import Load, Table, read_toml


@dataclass(frozen=True)
class Cell:
    load: Load
    threads: int
    contender: Contender

    @property
    def row(self) -> tuple[str, int]:
        """What the cells of all contenders have in common."""
        return self.load.name, self.threads


@dataclass(frozen=True)
class PlannedRun:
    cell: Cell
    repetition: int

    @property
    def key(self) -> Key:
        return *self.cell.row, self.cell.contender.name, self.repetition


@dataclass(frozen=True)
class Grid:
    loads: list[Load]
    contenders: list[Contender]
    threads: list[int]  # for the loads that can take them
    repetitions: int
    seed: int
    shrink: float  # of the operations of each workload
    name: str = ""

    def rows(self) -> list[tuple[Load, int]]:
        return [(load, threads) for load in self.loads for threads in load.threads_among(self.threads)]

    def runs(self) -> Iterator[PlannedRun]:
        """In the order of running, the warm-ups first. The same seed gives the same order."""
        for repetition in range(WARM_UP, self.repetitions + 1):
            order = random.Random(f"{self.seed}/{repetition}")
            rows = self.rows()
            order.shuffle(rows)
            for load, threads in rows:
                for contender in self.contenders_of(load, threads, repetition):
                    yield PlannedRun(Cell(load, threads, contender), repetition)

    def contenders_of(self, load: Load, threads: int, repetition: int) -> list[Contender]:
        """In the order of running."""
        contenders = list(self.contenders)
        random.Random(f"{self.seed}/{load.name}/{threads}/{(repetition + 1) // 2}").shuffle(contenders)
        return contenders[::-1] if repetition != WARM_UP and repetition % 2 == 0 else contenders

    def as_json(self) -> dict[str, Any]:
        return {"name": self.name, "threads": self.threads, "repetitions": self.repetitions, "seed": self.seed,
                "shrink": self.shrink}


@dataclass(frozen=True)
class Preset:
    """What `--grid NAME` stands for; bench/harness/grids.toml has them."""

    name: str
    title: str
    loads: tuple[str, ...]
    allocators: tuple[str, ...]
    threads: tuple[int, ...]
    repetitions: int


def load_presets(file: Path) -> dict[str, Preset]:
    presets = {}
    for name, content in read_toml(file).items():
        table = Table(content, f"{file}: [{name}]")
        presets[name] = Preset(name, table.take("title", str), table.take_words("loads"),
                               table.take_words("allocators"), tuple(table.take("threads", list)),
                               table.take("repetitions", int))
        table.end()
        if presets[name].repetitions < 1:
            raise Problem(f"{table.where}: at least one repetition")
        if not presets[name].threads or not all(type(count) is int and count >= 1 for count in presets[name].threads):
            raise Problem(f"{table.where}: 'threads' is a list of numbers from 1")
    return presets
