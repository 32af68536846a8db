"""The committed results that README is made from: the newest grid with real programs, the newest measurement of the
front door, and the newest demo."""

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from snug_bench.problem import Problem
from snug_bench.results import Results, read_results
from snug_bench.verdict import Row, Verdict, judge
from snug_bench.workload import REAL, SYNTHETIC
from snug_front_door.measure import SCHEMA
from snug_front_door.ranking import MANY, Ranking, shown_names

FEWEST_PROGRAMS = 6  # a grid with fewer was made for a question of its own


@dataclass(frozen=True)
class Sources:
    results: Path  # docs/results

    def newest(self, pattern: str) -> Path:
        """Of the names, which begin with the date."""
        files = sorted(self.results.glob(pattern))
        if not files:
            raise Problem(f"no {self.results / pattern}", 1)
        return files[-1]

    @cached_property
    def grid_file(self) -> Path:
        for file in sorted(self.results.glob("*.jsonl"), reverse=True):
            with file.open(encoding="utf-8") as stream:
                header = json.loads(stream.readline())
            if sum(load["kind"] == REAL for load in header["loads"]) >= FEWEST_PROGRAMS:
                return file
        raise Problem(f"no grid with real programs in {self.results}", 1)

    @cached_property
    def grid(self) -> Results:
        return read_results(self.grid_file)

    @cached_property
    def verdict(self) -> Verdict:
        return judge(self.grid)

    @cached_property
    def ranking(self) -> Ranking:
        """Variants of an allocator with other settings are left out."""
        names = shown_names(self.grid.allocators)
        return Ranking(self.verdict, {name: shown for name, shown in names.items() if "-" not in name})

    @cached_property
    def real(self) -> list[Row]:
        return self.verdict.rows_of(REAL)

    @cached_property
    def synthetic(self) -> list[Row]:
        return self.verdict.rows_of(SYNTHETIC)

    @cached_property
    def with_many_threads(self) -> list[Row]:
        return [row for row in self.synthetic if row.threads >= MANY]

    @cached_property
    def door_file(self) -> Path:
        return self.newest("*-front-door.json")

    @cached_property
    def door(self) -> dict:
        door = json.loads(self.door_file.read_text("utf-8"))
        if door.get("schema") != SCHEMA:
            raise Problem(f"{self.door_file}: of schema {door.get('schema')!r}, not {SCHEMA!r}", 1)
        return door

    @cached_property
    def demo_file(self) -> Path:
        return self.newest("*-demo.txt")
