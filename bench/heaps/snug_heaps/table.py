"""What was measured, as tables: a row for each figure, a column for each contender."""

from typing import Any

from rich.console import Console
from rich.text import Text
from snug_bench.against import against
from snug_bench.noise import noise_of, others_share
from snug_bench.quantity import NOTHING, interval, number, quantity
from snug_bench.quantity import ratio as ratio_text
from snug_bench.ratio import of_rounds
from snug_bench.sheet import Column, Sheet, say_words, show_panels
from snug_bench.statistics import Sample

from snug_heaps.contender import SNUG, Contender
from snug_heaps.run import ABSENT, COUNT, LOADS, Results

LEAST = 1.0  # of any figure, so that nothing is not infinitely better
REFERENCE = "malloc"  # no heap: it is shown, and never the best


def best_of(row: dict[str, list[float]]) -> str:
    """The contender with the smallest median, among heaps."""
    heaps = [name for name in row if name != REFERENCE] or list(row)
    return min(heaps, key=lambda name: Sample(tuple(row[name])).median)


def ratio_of(row: dict[str, list[float]], name: str, other: str):
    return of_rounds([max(own, LEAST) / max(its, LEAST) for own, its in zip(row[name], row[other], strict=False)])


def print_results(screen: Console, results: Results, contenders: list[Contender]) -> None:
    names = [contender.kind.name for contender in contenders]
    for title, is_here in (("Time, and its ratio to the fastest heap's", lambda figure: figure.endswith("/time")),
                           ("Memory: the process's peak RSS, or RSS of one of the heaps that live at once (each) and after "
                            "their end (left)", lambda figure: not figure.endswith("/time"))):
        figures = sorted(filter(is_here, results.values), key=place_of)
        if not figures:
            continue
        sheet = Sheet(title, [Column("", "left"), *(Column(name) for name in names)])
        for figure in figures:
            row, unit = results.values[figure], results.units[figure]
            best = best_of(row)
            sheet.add(figure.removesuffix("/time"), *(cell(row, name, best, unit) for name in names))
            if unit == COUNT:
                continue
            sheet.add("", *(Text(interval(Sample(tuple(row[name])), unit) if name in row else "", "dim") for name in names))
        show_panels(screen, sheet)
        screen.print()
    for sentence in sentences(results):
        say_words(screen, sentence)


def cell(row: dict[str, list[float]], name: str, best: str, unit: str) -> Text:
    if name not in row:
        return Text(NOTHING)
    median = Sample(tuple(row[name])).median
    if unit == COUNT:
        return Text(number(median))
    judged = ratio_of(row, name, best)
    return Text(f"{quantity(median, unit)} {ratio_text(judged.value)}", "bold" if name == best else "")


def sentences(results: Results) -> list[str]:
    """What a reader must know first; then what snug is, beside each of the others. Time is not judged in noise."""
    noise = noise_of(others_share(results.processors), half_widths(results))
    found = [f"{noise.sentence}."] if noise.too_noisy else []
    figures = sorted((figure for figure in results.values if results.units[figure] != COUNT
                      and not (noise.too_noisy and figure.endswith("/time"))), key=place_of)
    found += against(SNUG, {figure: results.values[figure] for figure in figures}, ratio_of)
    return found + [f"{load} on {name}: {'its heaps cannot serve it' if ABSENT in why else why}."
                    for (load, name), why in results.absent.items()]


def place_of(figure: str) -> int:
    return LOADS.index(figure.partition("/")[0])


def half_widths(results: Results) -> list[float]:
    """Of the ratios of time."""
    ratios = [ratio_of(row, name, best_of(row)) for figure, row in results.values.items() if figure.endswith("/time")
              for name in row if name != best_of(row)]
    return [judged.half_width for judged in ratios if judged and judged.half_width is not None]


def as_json(results: Results, contenders: list[Contender], host: dict[str, Any], wish: dict[str, Any]) -> dict[str, Any]:
    return {"host": host, "wish": wish, "repetitions": results.repetitions,
            "contenders": [{"name": each.kind.name, "title": each.kind.title, "version": each.version} for each in contenders],
            "others_share": others_share(results.processors),
            "figures": [{"figure": figure, "unit": results.units[figure], "contender": name, "values": values,
                         "median": Sample(tuple(values)).median, "ratio_to_best": ratio_of(row, name, best_of(row)).value}
                        for figure, row in results.values.items() for name, values in row.items()],
            "absent": [{"load": load, "contender": name, "reason": why} for (load, name), why in results.absent.items()]}
