"""The writers: a section in the terminal, by rich, and all of them as one Markdown page, and as the file that the page
of `snug-bench` takes them from."""

import dataclasses
import json
import os
from pathlib import Path
from typing import Any

from rich.console import Console
from snug_bench.problem import Problem
from snug_bench.sheet import Column, Sheet, say_words, show_panels
from snug_bench.source_documents import SCHEMA

from snug_seeds.bench import FULL, Effort
from snug_seeds.section import FAILS, HOLDS, Plot, Section, Table

COLOURS = {HOLDS: "green", FAILS: "red"}


def print_section(screen: Console, section: Section) -> None:
    screen.print(f"\n{section.name}: {section.title}", style="bold", markup=False)
    for table in section.tables:
        sheet = Sheet(table.title, [Column(column, "right" if at else "left") for at, column in enumerate(table.columns)])
        for row in table.rows:
            sheet.add(*row)
        show_panels(screen, sheet)
        screen.print()
    for verdict in section.verdicts:
        say_words(screen, str(verdict), COLOURS.get(verdict.outcome, "yellow"), indent=4)
    for remark in section.remarks:
        say_words(screen, remark)


def markdown(sections: list[Section], host: dict[str, str | int], folder: Path) -> str:
    lines = ["# Published tables, run again", "", "; ".join(f"{key} {value}" for key, value in host.items()), ""]
    for section in sections:
        lines += [f"## {section.name}: {section.title}", ""]
        lines += [f"- **{verdict.outcome}**: {verdict.claim}: {verdict.figures}" for verdict in section.verdicts] + [""]
        lines += [line for remark in section.remarks for line in (remark, "")]
        for table in section.tables:
            lines += [*table_lines(table), ""]
        lines += [line for plot in section.plots for line in (f"![{plot.title}]({os.path.relpath(plot.file, folder)})", "")]
    return "\n".join(lines)


def table_lines(table: Table) -> list[str]:
    def line(cells: list[str]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"

    return [f"**{table.title}**", "", line(table.columns), line(["---"] + ["---:"] * (len(table.columns) - 1)),
            *map(line, table.rows)]


def documents_text(sections: list[Section], host: dict[str, str | int], effort: Effort) -> str:
    """What snug_bench/source_documents.py reads. Less than the full effort is marked as quick there."""
    documents = [dataclasses.asdict(section) | {"plots": [plot_json(plot) for plot in section.plots]}
                 for section in sections]
    return json.dumps({"schema": SCHEMA, "host": host, "quick": effort != FULL, "documents": documents},
                      ensure_ascii=False, indent=1) + "\n"


def plot_json(plot: Plot) -> dict[str, Any]:
    try:
        return {"title": plot.title, "svg": plot.file.read_text(encoding="utf-8")}
    except (OSError, UnicodeDecodeError) as error:
        raise Problem(f"cannot read {plot.file}: {error}", 1) from None
