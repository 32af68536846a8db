"""What was measured, as tables: for each target and figure a row for each load, a column for each contender."""

from typing import Any

from rich.console import Console
from rich.text import Text
from snug_bench.against import against
from snug_bench.noise import Noise, noise_of, others_share
from snug_bench.quantity import NOTHING, interval, quantity
from snug_bench.quantity import ratio as ratio_text
from snug_bench.ratio import Ratio, of_rounds
from snug_bench.sheet import Column, Sheet, say_words, show_panels
from snug_bench.statistics import Sample

from snug_crates.build import SNUG, TARGETS
from snug_crates.run import FIGURES, Results

TITLES = {"time": "Wall time", "processor": "Processor time, of all threads", "peak": "Peak RSS", "faults": "Page faults"}
OF_TIME = ("time", "processor")
LEAST = 1.0  # of any figure, so that nothing is not infinitely better


def ratio_of(row: dict[str, list[float]], name: str, other: str) -> Ratio | None:
    if name not in row or other not in row:
        return None
    return of_rounds([max(own, LEAST) / max(its, LEAST) for own, its in zip(row[name], row[other], strict=True)])


def print_results(screen: Console, results: Results, names: list[str]) -> None:
    for target in dict.fromkeys(target for target, _, _ in results.values):
        for figure, title in TITLES.items():
            sheet = Sheet(f"{title} on {TARGETS[target]}, and its ratio to snug's", [Column("", "left"), *(Column(name) for name in names)])
            for load, row in rows_of(results, target, figure).items():
                sheet.add(load, *(cell(row, name, figure) for name in names))
                unit = FIGURES[figure][0]
                sheet.add("", *(Text(interval(Sample(tuple(row[name])), unit) if name in row else "", "dim") for name in names))
            show_panels(screen, sheet)
            screen.print()
    for sentence in sentences(results):
        say_words(screen, sentence)


def rows_of(results: Results, target: str, figure: str) -> dict[str, dict[str, list[float]]]:
    """By load."""
    return {load: row for (its_target, load, its_figure), row in results.values.items() if (its_target, its_figure) == (target, figure)}


def cell(row: dict[str, list[float]], name: str, figure: str) -> Text:
    if name not in row:
        return Text(NOTHING)
    median, judged = quantity(Sample(tuple(row[name])).median, FIGURES[figure][0]), ratio_of(row, name, SNUG)
    return Text(f"{median} {ratio_text(judged.value)}" if judged and name != SNUG else median)


def sentences(results: Results) -> list[str]:
    """What a reader must know first; then what snug is, beside each of the others. Time is not judged in noise."""
    noise = noise_among(results)
    found = [f"{noise.sentence}."] if noise.too_noisy else []
    for target in dict.fromkeys(target for target, _, _ in results.values):
        rows = {f"{load}/{figure}": row for (its_target, load, figure), row in sorted(results.values.items())
                if its_target == target and not (noise.too_noisy and figure in OF_TIME)}
        found += [f"{target}: {sentence}" for sentence in against(SNUG, rows, ratio_of)]
    return found + [f"{load} on {name}, {target}: {why}." for (target, load, name), why in results.absent.items()]


def noise_among(results: Results) -> Noise:
    """Of all runs, and of the ratios of wall time."""
    ratios = [ratio_of(row, name, SNUG) for (_, _, figure), row in results.values.items() if figure == "time"
              for name in row if name != SNUG]
    return noise_of(others_share(results.processors), [each.half_width for each in ratios if each and each.half_width is not None])


def as_json(results: Results, host: dict[str, Any], wish: dict[str, Any]) -> dict[str, Any]:
    def ratio_value(row: dict[str, list[float]], name: str) -> float | None:
        judged = ratio_of(row, name, SNUG)
        return judged.value if judged else None

    return {"host": host, "wish": wish, "repetitions": results.repetitions, "others_share": others_share(results.processors),
            "outputs": results.outputs,
            "figures": [{"target": target, "load": load, "figure": figure, "unit": FIGURES[figure][0], "contender": name, "values": values,
                         "median": Sample(tuple(values)).median, "ratio_to_snug": ratio_value(row, name)}
                        for (target, load, figure), row in results.values.items() for name, values in row.items()],
            "absent": [{"target": target, "load": load, "contender": name, "reason": why}
                       for (target, load, name), why in results.absent.items()]}
