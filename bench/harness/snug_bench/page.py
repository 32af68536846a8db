"""The verdict as one HTML page that needs nothing else: data, styles and scripts inside, no network."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import jinja2

from snug_bench.contender import SNUG
from snug_bench.legend import figure_sentence, load_sentence
from snug_bench.overview import KIND_NAMES, overview_sentence, overviews
from snug_bench.palette import styles_of
from snug_bench.problem import Problem
from snug_bench.quantity import NOTHING, count_of, interval, quantity, ratio
from snug_bench.ratio import WORDS
from snug_bench.source_documents import FAILS, HOLDS, OPEN, SourceDocuments, read_source_documents
from snug_bench.statistics import FEWEST_FOR_LEVEL, Sample
from snug_bench.terminal import counts_text, frontier_text, overall_text, repetitions_text, verdict_sentence
from snug_bench.verdict import DEFINITION, SCORED, Cell, Row, Verdict
from snug_bench.workload import REAL, SYNTHETIC

TEMPLATES = Path(__file__).with_name("templates")
TIMELINE_POINTS = 64
SHOWN_COSTS = ("wall", "user", "system", "faults", "waits", "preempted", "instructions")
OUTCOME_CLASSES = {HOLDS: "holds", FAILS: "fails", OPEN: "open"}
LONG_TABLE = 16  # rows from which a published table is folded
SCRIPTS = ("quantity.js", "table.js", "chart.js", "grid.js", "scatter.js", "lines.js", "page.js")


def page(verdict: Verdict, say, seeds: Path | None = None) -> str:
    """`seeds`: the file of the published tables, which join the page if it is there."""
    environment = jinja2.Environment(loader=jinja2.FileSystemLoader(TEMPLATES), autoescape=True, trim_blocks=True,
                                     lstrip_blocks=True, undefined=jinja2.StrictUndefined)
    scripts = "\n".join((TEMPLATES / name).read_text(encoding="utf-8") for name in SCRIPTS)
    results = verdict.results
    return environment.get_template("page.html.j2").render(
        subject=verdict.subject, host=results.host, grid=results.grid, kinds=KIND_NAMES,
        present=[kind for kind in (REAL, SYNTHETIC) if verdict.rows_of(kind)], scored=SCORED,
        absent=[kind for kind in (REAL, SYNTHETIC) if not verdict.rows_of(kind)],
        sentence=verdict_sentence(verdict), overall_text=overall_text,
        over_all=[said for kind in KIND_NAMES if (said := overview_sentence(verdict, kind))], frontier_text=frontier_text, counts_text=counts_text, words=WORDS,
        failed=sum(cell.failed for row in verdict.rows for cell in row.cells.values()),
        overviews=overviews(verdict), palette=palette(verdict),
        verdict=verdict, losses=losses(verdict), failures=failures(verdict), definition=DEFINITION,
        allocators=results.allocators, ratio=ratio, rows=len(verdict.rows),
        count_of=count_of, repetitions=repetitions_text(verdict), intervals=spreads_text(verdict),
        sources=source_documents(seeds, say),
        outcomes=OUTCOME_CLASSES, long_table=LONG_TABLE,
        data=embedded(data(verdict)),
        style=(TEMPLATES / "page.css").read_text(encoding="utf-8"), scripts=scripts)


def spreads_text(verdict: Verdict) -> str:
    fewest, most = verdict.repetitions()
    if fewest >= FEWEST_FOR_LEVEL:
        return "95% intervals for the medians."
    if most < FEWEST_FOR_LEVEL:
        return "Fewer than six repetitions: spreads are minimum and maximum, not intervals."
    return "95% intervals for the medians; where there are fewer than six repetitions, spreads are minimum and maximum."


def source_documents(seeds: Path | None, say) -> SourceDocuments | None:
    if seeds is None or not seeds.exists():
        return None
    try:
        found = read_source_documents(seeds)
    except Problem as problem:
        say(f"the page has no published tables: {problem}")
        return None
    return found if found.documents else None


def embedded(document: Any) -> str:
    """As JSON that may stand in a script element: no value can end it."""
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def palette(verdict: Verdict) -> str:
    """The allocators' colours as variables: --a0 is the first one's."""
    pairs = (f"--a{at}: light-dark({style.light}, {style.dark});"
             for at, style in enumerate(styles_of(verdict.results.names()).values()))
    return f":root {{ {' '.join(pairs)} }}"


def data(verdict: Verdict) -> dict[str, Any]:
    styles = styles_of(verdict.results.names())
    noise = verdict.noise
    judged = tuple(key for key in ("time", "memory", "settled") if key != "time" or not noise.too_noisy)
    return {"subject": verdict.subject,
            "noise": {"others_share": noise.others_share, "half_width": noise.half_width, "too_noisy": noise.too_noisy,
                      "disturbed": noise.disturbed, "reasons": noise.reasons},
            "allocators": [{"name": each["name"], "title": each["title"], "snug": each["family"] == SNUG,
                            "path": styles[each["name"]].marker.path} for each in verdict.results.allocators],
            "overviews": [{"kind": view.kind, "caption": KIND_NAMES[view.kind], "points": [asdict(each) for each in view.points]}
                          for view in overviews(verdict)],
            "rows": [row_data(row, judged) for row in verdict.rows]}


def row_data(row: Row, judged: tuple[str, ...]) -> dict[str, Any]:
    """`judged`: the metrics that words are given for. The frontier is one of time."""
    frontier = row.frontier() if "time" in judged else []
    metrics = [metric for metric in row.metrics if metric.group != "cost" or metric.key in SHOWN_COSTS]
    with_values = [metric for metric in metrics if any(metric.key in cell.samples for cell in row.cells.values())]
    return {"name": row.name, "load": row.load["name"], "sentence": load_sentence(row.load), "threads": row.threads,
            "kind": row.load["kind"], "stresses": row.load["stresses"], "resembles": row.load.get("resembles", ""),
            "metrics": [{"key": metric.key, "title": metric.title, "unit": metric.unit, "group": metric.group,
                         "higher": metric.higher_is_better,
                         "sentence": figure_sentence(row.load["name"], metric.title) if metric.group == "figure" else None}
                        for metric in with_values],
            "cells": {name: cell_data(row, cell, judged) | {"frontier": name in frontier} for name, cell in row.cells.items()}}


def cell_data(row: Row, cell: Cell, judged: tuple[str, ...]) -> dict[str, Any]:
    standing = {key: row.standing(cell.allocator, key) for key in judged
                if any(metric.key == key for metric in row.metrics)}
    return {"samples": {key: sample_data(sample) for key, sample in cell.samples.items()},
            "standing": standing, "failures": cell.failures, "failed": cell.failed,
            "rss": thinned(cell.timeline)}


def sample_data(sample: Sample) -> list[float | None]:
    """Median, low, high, level."""
    bounds = sample.interval
    return [*(float(f"{value:.5g}") for value in (sample.median, bounds.low, bounds.high)), bounds.level]


def thinned(timeline: tuple[tuple[float, float], ...]) -> list[list[float]]:
    """Few enough points for a chart; seconds and MiB."""
    step = max(1, -(-len(timeline) // TIMELINE_POINTS))
    points = list(timeline[::step])
    if timeline and points[-1] != timeline[-1]:
        points.append(timeline[-1])
    return [[round(seconds, 3), round(size / 2**20, 2)] for seconds, size in points]


def losses(verdict: Verdict) -> list[dict[str, str]]:
    return [{"ratio": ratio(loss.ratio), "row": loss.row.name, "metric": loss.metric.title,
             "sentence": figure_sentence(loss.row.load["name"], loss.metric.title) if loss.metric.group == "figure" else None,
             "own": described(loss.own, loss.metric.unit), "rival": loss.rival or NOTHING,
             "best": described(loss.best, loss.metric.unit)} for loss in verdict.losses(verdict.subject)]


def described(sample: Sample | None, unit: str) -> str:
    return f"{quantity(sample.median, unit)} {interval(sample, unit)}" if sample else "failed"


def failures(verdict: Verdict) -> list[dict[str, str]]:
    found = [{"row": row, "allocator": name, "what": what} for row, name, what in verdict.failures()]
    return found + [{"row": "", "allocator": each["name"], "what": f"not to be had: {each['reason']}"}
                    for each in verdict.results.unavailable]
