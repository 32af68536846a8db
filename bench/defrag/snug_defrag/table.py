"""What was measured, as a table: a row for each figure, a column for each contender."""

from typing import Any

from rich.console import Console
from rich.text import Text
from snug_bench.noise import noise_of, others_share
from snug_bench.processor_time import ProcessorTime
from snug_bench.quantity import NOTHING, interval, quantity
from snug_bench.sheet import Column, Sheet, say_words, show_panels
from snug_bench.statistics import Sample

from snug_defrag.life import UNITS

Results = dict[str, list[dict[str, float | None]]]  # of a contender: the figures of each life


def values(results: Results, name: str, figure: str) -> list[float]:
    """Those of the lives that had one."""
    return [value for life in results[name] if (value := life[figure]) is not None]


def print_results(screen: Console, results: Results, processors: list[ProcessorTime]) -> None:
    sheet = Sheet("Redis with activedefrag: the median of all lives, and their interval",
                  [Column("", "left"), *(Column(name) for name in results)])
    for figure, unit in UNITS.items():
        rows = [values(results, name, figure) for name in results]
        sheet.add(figure, *(Text(quantity(Sample(tuple(row)).median, unit) if row else NOTHING) for row in rows))
        sheet.add("", *(Text(interval(Sample(tuple(row)), unit) if row else "", "dim") for row in rows))
    show_panels(screen, sheet)
    for name, lives in results.items():
        if missed := sum(life["time to 1.15"] is None for life in lives):
            say_words(screen, f"{name}: {missed} of {len(lives)} lives have not come to 1.15 × used_memory.")
    noise = noise_of(others_share(processors), [])
    if noise.too_noisy:
        say_words(screen, f"{noise.sentence}: no time here is to be judged.")


def as_json(results: Results, host: dict[str, Any], wish: dict[str, Any]) -> dict[str, Any]:
    return {"host": host, "wish": wish, "units": UNITS, "lives": results}
