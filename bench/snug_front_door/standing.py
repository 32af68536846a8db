"""Where allocators stand over the rows of a grid: geometric means of what they cost, as multiples of a base's cost."""

from dataclasses import dataclass

from snug_bench.statistics import geometric_mean
from snug_bench.verdict import SCORED, Row


@dataclass(frozen=True)
class Standing:
    time: float  # multiples of the base's
    memory: float


def multiples(rows: list[Row], name: str, key: str, base: str) -> list[float]:
    """Of the rows in which both counted."""
    return [each for row in rows if (each := row.multiple(name, key, base)) is not None]


def mean_multiple(rows: list[Row], name: str, key: str, base: str) -> float:
    mean = geometric_mean(multiples(rows, name, key, base))
    if mean is None:
        raise ValueError(f"no row with both {name} and {base}")
    return mean


def comparable(rows: list[Row], names: list[str], base: str) -> list[Row]:
    """The rows in which all of them counted, so that their means are of the same."""
    return [row for row in rows if all(row.multiple(name, key, base) is not None for name in names for key in SCORED)]


def standings(rows: list[Row], names: list[str], base: str) -> dict[str, Standing]:
    return {name: Standing(*(mean_multiple(rows, name, key, base) for key in SCORED)) for name in names}
