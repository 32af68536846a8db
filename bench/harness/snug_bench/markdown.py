"""The verdict as Markdown, to be committed under docs/results: overall costs, losses, then every row."""

from snug_bench.overview import KIND_NAMES, overview_sentence
from snug_bench.quantity import NOTHING, interval, quantity, ratio
from snug_bench.ratio import WORDS
from snug_bench.terminal import (counts_text, failure_lines, frontier_text, is_judged, overall_text, repetitions_text,
                                 verdict_sentence)
from snug_bench.verdict import DEFINITION, SCORED, Cell, Row, Verdict


def markdown(verdict: Verdict) -> str:
    subject = verdict.subject
    parts = [heading(verdict), "## Over all loads", costs(verdict), f"## Where {subject} is worse", losses(verdict, subject)]
    for kind in KIND_NAMES:
        rows = verdict.rows_of(kind)
        if rows:
            parts += [f"## {KIND_NAMES[kind].capitalize()}", *(section(row, verdict) for row in rows)]
    parts += ["## What failed", failures(verdict), "## How to read this", quoted(DEFINITION)]
    return "\n\n".join(parts) + "\n"


def heading(verdict: Verdict) -> str:
    host, grid = verdict.results.host, verdict.results.grid
    shrink = "" if grid["shrink"] == 1 else \
        f"\n\n**Run with --scale {grid['shrink']:g}: too little work to judge anything by.**"
    return (f"# Allocators compared, {str(host['date'])[:10]}\n\n"
            f"{host['cpu']}, {host['cpus']} CPUs, {host['kernel']}, {host['libc']}, huge pages: "
            f"{host['transparent_huge_pages']}, {host['compiler']}, commit {host['commit']}, load average "
            f"{host['load_average']} at the start. {repetitions_text(verdict)} after a warm-up, interleaved in "
            f"random order, seed {grid['seed']}.{shrink}\n\n{sentences(verdict)}")


def sentences(verdict: Verdict) -> str:
    said = [overview_sentence(verdict, kind) for kind in KIND_NAMES] + [f"Row by row: {verdict_sentence(verdict)}"]
    return "\n\n".join(f"**{each}.**" for each in said if each)


def losses(verdict: Verdict, subject: str) -> str:
    lines = []
    for loss in verdict.losses(subject):
        own, best = (quantity(sample.median if sample else None, loss.metric.unit) for sample in (loss.own, loss.best))
        lines.append([ratio(loss.ratio), loss.row.name, loss.metric.title, own, f"{loss.rival or NOTHING} {best}"])
    if not lines:
        return "Nothing."
    noisy = "" if is_judged(verdict, "time") else "Time was too noisy to judge: of it, what is worse all the same.\n\n"
    return noisy + table(["ratio", "load", "figure", subject, "than"], lines, right={0, 3})


def costs(verdict: Verdict) -> str:
    kinds = [kind for kind in KIND_NAMES if verdict.rows_of(kind)]
    titles = ["allocator", "version", "what it is", *(f"{kind} {key}" for kind in kinds for key in SCORED),
              "on the frontier", *(f"{key}: {' / '.join(WORDS)}" for key in SCORED)]
    lines = []
    for allocator in verdict.results.allocators:
        name = allocator["name"]
        lines.append([name, allocator["version"], allocator["title"],
                      *(overall_text(verdict, kind, key, name) for kind in kinds for key in SCORED),
                      frontier_text(verdict, name),
                      *(counts_text(verdict, name, key) for key in SCORED)])
    return (f"In multiples of {verdict.subject}'s, by the geometric mean over all rows of a kind; *worse* costs more than "
            f"{verdict.subject}.\n\n{table(titles, lines, right=set(range(3, len(titles))))}{distances(verdict)}")


def distances(verdict: Verdict) -> str:
    """Of the subject from the virtual best peer."""
    said = [f"{kind} {key} {ratio(verdict.distance[kind, key])}" for kind in KIND_NAMES for key in SCORED
            if verdict.distance[kind, key] is not None]
    return f"\n\n{verdict.subject} in multiples of the best peer of each row: {', '.join(said)}." if said else ""


def section(row: Row, verdict: Verdict) -> str:
    metrics = [metric for metric in row.metrics if metric.group in ("time", "memory")]
    subject, frontier = verdict.subject, row.frontier() if is_judged(verdict, "time") else []
    lines = []
    for name, cell in row.cells.items():
        line = [name + (" ◆" if name in frontier else "")]
        for metric in metrics:
            line += metric_cells(row, cell, metric, subject)
        faults = row.sample(name, "faults")
        lines.append([*line, quantity(faults.median if faults else None, "")])
    titles = ["allocator"]
    for metric in metrics:
        titles += [metric.title, "interval", f"to {subject}"]
    marks = " ◆ is on the frontier." if frontier else ""
    text = f"### {row.name}\n\n{sentence(row.load['stresses'])}{marks}\n\n" + \
        table([*titles, "page faults"], lines, right=set(range(1, len(titles) + 1)))
    figures = [metric for metric in row.metrics if metric.group == "figure"]
    if len(figures) > 1:
        names = list(row.cells)
        text += "\n\n" + table(
            ["figure", *names],
            [[metric.title + (" ↑" if metric.higher_is_better else ""),
              *(figure_cell(row, name, metric) for name in names)] for metric in figures],
            right=set(range(1, len(names) + 1)))
    return text


def metric_cells(row: Row, cell: Cell, metric, subject: str) -> list[str]:
    sample = cell.samples.get(metric.key)
    if sample is None:
        return ["failed" if cell.failed else NOTHING, "", ""]
    return [quantity(sample.median, metric.unit), interval(sample, metric.unit),
            ratio(row.multiple(cell.allocator, metric.key, subject))]


def figure_cell(row: Row, name: str, metric) -> str:
    sample = row.sample(name, metric.key)
    return quantity(sample.median if sample else None, metric.unit)


def failures(verdict: Verdict) -> str:
    return "\n".join(f"- {line}" for line in failure_lines(verdict)) or "Nothing."


def sentence(text: str) -> str:
    return text[:1].upper() + text[1:].rstrip(".") + "."


def quoted(text: str) -> str:
    return "> " + text.replace("\n", "\n> ")


def table(titles: list[str], lines: list[list[str]], right: set[int]) -> str:
    rule = ["--:" if column in right else "---" for column in range(len(titles))]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |"
                     for line in [titles, rule, *lines])
