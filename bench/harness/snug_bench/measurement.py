"""Measurement: one run of one load on one allocator: what it cost, how it ended, and whether it counts.

A run counts if it succeeded and its allocator is proven to have served it; otherwise its objection says why not. The
numbers come from `snug measure`, which starts the program from a small process, so that the peak is the program's own.
"""

import sys
from dataclasses import asdict, dataclass, field
from typing import Any

from snug_bench.processor_time import ProcessorTime

WARM_UP = 0  # the repetition that is not counted, but proves which allocator serves malloc


Key = tuple[str, int, str, int]  # load, threads, allocator, repetition


def round_of(key: Key) -> tuple[str, int, int]:
    """Of one repetition of one row, the runs of all allocators: they lie side by side in time."""
    load, threads, _, repetition = key
    return load, threads, repetition


@dataclass(frozen=True)
class Figure:
    """What a program measured of itself."""

    value: float
    unit: str = ""
    higher_is_better: bool = False


@dataclass(frozen=True)
class Measurement:
    load: str
    threads: int
    allocator: str
    repetition: int  # from 1; WARM_UP is 0
    identity: str  # of the command, the program, the library and their settings: what a resumed run goes by
    ending: str  # exited, signalled, timed out; refused or skipped if nothing was started
    objection: str = ""  # empty: it counts
    cost: dict[str, float | None] = field(default_factory=dict)
    figures: dict[str, Figure] = field(default_factory=dict)
    rss: tuple[tuple[float, float], ...] = ()  # seconds, bytes
    version: str = ""  # as the library itself says, in the warm-up
    bound: str = ""  # the library that serves malloc, as the linker says, in the warm-up
    load_average: float = 0
    processors: ProcessorTime | None = None  # while it ran; None in results of an older snug-bench

    @property
    def counts(self) -> bool:
        return not self.objection

    @property
    def key(self) -> Key:
        return self.load, self.threads, self.allocator, self.repetition

    @property
    def round(self) -> tuple[str, int, int]:
        return round_of(self.key)

    def as_json(self) -> dict[str, Any]:
        figures = {name: [figure.value, figure.unit, "higher" if figure.higher_is_better else "lower"]
                   for name, figure in self.figures.items()}
        return {"load": self.load, "threads": self.threads, "allocator": self.allocator,
                "repetition": self.repetition, "identity": self.identity, "ending": self.ending,
                "objection": self.objection, "cost": self.cost, "figures": figures, "rss": self.rss,
                "version": self.version, "bound": self.bound, "load_average": self.load_average,
                "processors": asdict(self.processors) if self.processors else None}

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> "Measurement":
        """Raises KeyError, TypeError or ValueError if this is none."""
        figures = {name: Figure(number(value), text(unit), better == "higher")
                   for name, (value, unit, better) in document["figures"].items()}
        rss = tuple((number(seconds), number(size)) for seconds, size in document["rss"])
        cost = {name: None if value is None else number(value) for name, value in document["cost"].items()}
        texts = {key: text(document[key]) for key in ("load", "allocator", "identity", "ending", "objection", "version",
                                                      "bound")}
        counts = {key: count(document[key]) for key in ("threads", "repetition")}
        taken = document.get("processors")
        processors = ProcessorTime(*(number(taken[key]) for key in ("total", "taken", "own"))) if taken else None
        return cls(**texts, **counts, load_average=number(document["load_average"]), cost=cost, figures=figures, rss=rss,
                   processors=processors)


def number(value: Any) -> float:
    """The value itself: a whole number stays one, so that a file that is written again is the same."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= sys.float_info.max:
        raise TypeError(f"no number: {value!r}")
    return value


def count(value: Any) -> int:
    """The value itself, if it counts something."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= sys.maxsize:
        raise TypeError(f"no count: {value!r}")
    return value


def text(value: Any) -> str:
    """The value itself, if it is a text that a file can hold. Raises ValueError for half of a surrogate pair."""
    if not isinstance(value, str):
        raise TypeError(f"no text: {value!r}")
    value.encode()
    return value
