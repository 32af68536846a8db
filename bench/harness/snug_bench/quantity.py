"""Quantities as text: three digits that matter, in the unit that suits the size."""

from snug_bench.statistics import Sample

TIMES = (("s", 1e9), ("ms", 1e6), ("µs", 1e3), ("ns", 1.0))
SIZES = (("GiB", 2.0**30), ("MiB", 2.0**20), ("KiB", 2.0**10), ("B", 1.0))
NOTHING = "–"
WORST_RATIO_SHOWN = 99


def number(value: float) -> str:
    if value >= 99.95 or value == int(value):
        return f"{value:,.0f}"
    return f"{value:.{1 if value >= 9.995 else 2 if value >= 0.9995 else 3}f}"


def scale_of(value: float, unit: str) -> tuple[str, float]:
    """The unit to show a value of this unit in, and what to divide by. Only ns and B have others to choose from."""
    table = {"ns": TIMES, "B": SIZES}.get(unit)
    if table is None:
        return unit, 1.0
    return next(((name, size) for name, size in table if value >= size), table[-1])


def count_of(number: int, noun: str) -> str:
    """1 row, 2 rows."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def quantity(value: float | None, unit: str) -> str:
    if value is None:
        return NOTHING
    name, size = scale_of(value, unit)
    return f"{number(value / size)} {name}".rstrip()


def interval(sample: Sample, unit: str) -> str:
    """Without a unit, to stand behind the median, in the same unit; minimum and maximum in parentheses, as they are no
    interval."""
    bounds, (_, size) = sample.interval, scale_of(sample.median, unit)
    text = f"{number(bounds.low / size)}–{number(bounds.high / size)}"
    return f"[{text}]" if bounds.level is not None else f"({text})"


def ratio(value: float | None) -> str:
    if value is None:
        return NOTHING
    return f">{WORST_RATIO_SHOWN}×" if value > WORST_RATIO_SHOWN else f"{value:.2f}×"
