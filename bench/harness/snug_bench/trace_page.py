"""What replays of traces have shown as one HTML page, in the style of the benchmark's, that needs nothing else."""

from typing import Any

import jinja2

from snug_bench.contender import SNUG
from snug_bench.page import TEMPLATES
from snug_bench.quantity import NOTHING, count_of, quantity, ratio
from snug_bench.trace_replay import PARTS, TraceReplay


def trace_page(replays: list[TraceReplay], host: dict[str, Any], versions: dict[str, str]) -> str:
    """`versions`: by allocator, in the order of the columns, snug first."""
    environment = jinja2.Environment(loader=jinja2.FileSystemLoader(TEMPLATES), autoescape=True, trim_blocks=True,
                                     lstrip_blocks=True, undefined=jinja2.StrictUndefined)
    return environment.get_template("traces.html.j2").render(
        replays=worst_first(replays), host=host, versions=versions, sentence=sentence(replays), parts=PARTS, snug=SNUG,
        bytes=signed, ratio=ratio, nothing=NOTHING, count_of=count_of,
        style=(TEMPLATES / "page.css").read_text(encoding="utf-8"))


def worst_first(replays: list[TraceReplay]) -> list[TraceReplay]:
    """By how much snug is larger than the leanest; those where it failed before all."""
    return sorted(replays, key=lambda each: -(each.ratio or float("inf")))


def signed(value: int) -> str:
    return f"−{quantity(-value, 'B')}" if value < 0 else quantity(value, "B")


def sentence(replays: list[TraceReplay]) -> str:
    """Where the work on memory starts."""
    judged = [each for each in worst_first(replays) if each.ratio is not None]
    if not judged:
        return "snug was replayed on no trace"
    larger = [each for each in judged if each.excess > 0]
    if not larger:
        return f"snug is the leanest on {'the trace' if len(judged) == 1 else f'all {len(judged)} traces'}"
    worst = larger[0]
    text = (f"snug is larger than the leanest on {len(larger)} of {count_of(len(judged), 'trace')}, most on {worst.name}: "
            f"{ratio(worst.ratio)} what {worst.leanest} takes")
    if worst.parts:
        text += f"; its largest part beyond what was requested is {worst.largest_part}, {signed(worst.parts[worst.largest_part])}"
    return text
