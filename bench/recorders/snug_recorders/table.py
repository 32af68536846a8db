"""What was measured, as tables: of each figure a row for each program, a column for each recorder, in multiples of the program alone;
then the questions."""

from typing import Any

from rich.console import Console
from rich.text import Text
from snug_bench.noise import Noise, noise_of, others_share
from snug_bench.quantity import NOTHING, interval, quantity
from snug_bench.quantity import ratio as ratio_text
from snug_bench.ratio import Ratio, of_rounds
from snug_bench.sheet import Column, Sheet, say_words, show_panels
from snug_bench.statistics import Sample

from snug_recorders.questions import COLUMNS, QUESTIONS
from snug_recorders.recorders import PLAIN
from snug_recorders.run import FIGURES, Results

TITLES = {"processor": "Processor time, of program and recorder, in multiples of the program alone",
          "peak": "Peak RSS of the largest process, in multiples of the program alone", "file": "What it has written"}


def ratio_of(row: dict[str, list[float]], name: str) -> Ratio | None:
    """To the same round's run of the program alone."""
    if name not in row or PLAIN not in row:
        return None
    return of_rounds([own / alone for own, alone in zip(row[name], row[PLAIN], strict=True)])


def print_results(screen: Console, results: Results, names: list[str]) -> None:
    for figure, title in TITLES.items():
        shown = [name for name in names if any(name in row for row in rows_of(results, figure).values())]
        sheet = Sheet(title, [Column("", "left"), *(Column(name) for name in shown)])
        for program, row in rows_of(results, figure).items():
            cells = [cell(row, name, figure) for name in shown]
            sheet.add(program, *(first for first, _ in cells))
            sheet.add("", *(Text(second, "dim") for _, second in cells))
        show_panels(screen, sheet)
        screen.print()
    sheet = Sheet("Questions", [Column("", "left"), *(Column(name, "left") for name in COLUMNS)])
    for question, answers in QUESTIONS:
        sheet.add(question, *answers)
    show_panels(screen, sheet)
    for sentence in sentences(results):
        say_words(screen, sentence)


def rows_of(results: Results, figure: str) -> dict[str, dict[str, list[float]]]:
    """By program."""
    return {program: row for (program, its), row in results.values.items() if its == figure}


def cell(row: dict[str, list[float]], name: str, figure: str) -> tuple[str, str]:
    """A figure, and its spread; the program alone, and files, in their own unit."""
    if name not in row:
        return NOTHING, ""
    sample, unit = Sample(tuple(row[name])), FIGURES[figure]
    judged = ratio_of(row, name) if name != PLAIN else None
    if judged is None:
        return quantity(sample.median, unit), interval(sample, unit)
    ratios = Sample(tuple(own / alone for own, alone in zip(row[name], row[PLAIN], strict=True)))
    return ratio_text(judged.value), interval(ratios, "")


def sentences(results: Results) -> list[str]:
    noise = noise_among(results)
    found = [f"{noise.sentence}."] if noise.too_noisy else []
    return found + [f"{program} under {name}: {why}." for (program, name), why in results.absent.items()]


def noise_among(results: Results) -> Noise:
    ratios = [ratio_of(row, name) for row in rows_of(results, "processor").values() for name in row if name != PLAIN]
    return noise_of(others_share(results.processors), [each.half_width for each in ratios if each and each.half_width is not None])


def as_json(results: Results, host: dict[str, Any], wish: dict[str, Any]) -> dict[str, Any]:
    def multiple(row: dict[str, list[float]], name: str) -> float | None:
        judged = ratio_of(row, name)
        return judged.value if judged else None

    return {"host": host, "wish": wish, "rounds": results.rounds, "others_share": others_share(results.processors),
            "figures": [{"program": program, "figure": figure, "unit": FIGURES[figure], "recorder": name, "values": values,
                         "median": Sample(tuple(values)).median, "ratio_to_plain": multiple(row, name)}
                        for (program, figure), row in results.values.items() for name, values in row.items()],
            "questions": [{"question": question} | dict(zip(COLUMNS, answers, strict=True)) for question, answers in QUESTIONS],
            "absent": [{"program": program, "recorder": name, "reason": why} for (program, name), why in results.absent.items()]}
