"""The verdict in a terminal: standings, scores and losses, from left to right what decides first.

Names come from command lines and files: they are escaped, since a bracket in a table would be taken for markup.
"""

from rich.console import Console
from rich.markup import escape
from rich.measure import Measurement as Width
from rich.table import Table

from snug_bench.comparison import BROKEN, Comparison
from snug_bench.contender import SNUG
from snug_bench.quantity import NOTHING, count_of, interval, quantity, ratio
from snug_bench.ratio import BETTER, EQUAL, UNCLEAR, WORDS, WORSE
from snug_bench.verdict import DEFINITION, FAILED, NOT_RUN, SCORED, Row, Verdict
from snug_bench.workload import REAL, SYNTHETIC

STYLES = {BETTER: "green", EQUAL: "", WORSE: "red", UNCLEAR: "yellow", FAILED: "red reverse", NOT_RUN: ""}
NAMED = 3  # failed cells in the closing sentence; all stand above it
WIDEST = 1000  # no table needs as much
WIDE = 400  # columns, for files and pipes, which scroll
LEFT_COLUMNS = 68  # about what stands left of the other allocators, but the load's name
KIND_NAMES = {REAL: "real programs", SYNTHETIC: "synthetic workloads"}


def print_verdict(console: Console, verdict: Verdict) -> None:
    if not console.is_terminal:
        console.width = WIDE
    for key, title in (("time", "Time"), ("memory", "Peak RSS")):
        print_whole(console, standings(verdict, key, title, console.width))
    print_whole(console, scores(verdict))
    subject = subject_of(verdict)
    console.print(DEFINITION, markup=False, style="dim")
    print_losses(console, verdict, subject)
    print_failures(console, verdict)


def print_whole(console: Console, table: Table) -> None:
    """Never cut: a line that is wrapped by the terminal, or scrolls, can be read, and "3.7…" cannot."""
    width = console.width
    console.width = max(width, Width.get(console, console.options.update(width=WIDEST), table).maximum)
    try:
        console.print(table)
    finally:
        console.width = width


def subject_of(verdict: Verdict) -> str:
    return verdict.subject


def standings(verdict: Verdict, key: str, title: str, width: int) -> Table:
    """A row a load, with the subject's median and the others' ratios to the subject, as many as there is width for."""
    subject = subject_of(verdict)
    table = Table(title=f"{title}: {escape(subject)}'s median, and the others as multiples of it", title_justify="left",
                  title_style="bold", box=None, pad_edge=False, header_style="bold")
    table.add_column("load", no_wrap=True)
    table.add_column(escape(subject), justify="right", no_wrap=True)
    table.add_column("interval", justify="right", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    table.add_column("best peer", no_wrap=True)
    others = shown_others(verdict, key, subject, width)
    if len(others) < len(verdict.results.names()) - 1:
        table.caption = "A wider terminal shows more allocators; the page shows all."
    for name in others:
        table.add_column(escape(name), justify="right", no_wrap=True)
    for row in verdict.rows:
        sample, standing = row.sample(subject, key), row.standing(subject, key)
        unit = row.metric(key).unit
        shown = f"[{STYLES[standing]}]{standing}[/]" if STYLES[standing] else standing
        table.add_row(escape(row.name), escape(quantity(sample.median, unit)) if sample else NOTHING,
                      interval(sample, unit) if sample else "", shown, best_text(row, key, subject),
                      *(other_text(row, name, key, subject) for name in others))
    return table


def shown_others(verdict: Verdict, key: str, subject: str, width: int) -> list[str]:
    """Those that fit, the ones with the best scores first chosen; in the order of the grid."""
    names = [name for name in verdict.results.names() if name != subject]
    def cost(name: str) -> float:
        means = [verdict.scores[kind, key, name].mean for kind in (REAL, SYNTHETIC)]
        return min((mean for mean in means if mean is not None), default=float("inf"))
    left = width - max([len(row.name) for row in verdict.rows] + [4]) - LEFT_COLUMNS
    chosen = []
    for name in sorted(names, key=cost):
        left -= max(len(name), 6) + 2
        if left >= 0:
            chosen.append(name)
    return [name for name in names if name in chosen]


def best_text(row: Row, key: str, subject: str) -> str:
    best = row.best_peer(key)
    return f"{ratio(row.multiple(best, key, subject))} {escape(best)}" if best else NOTHING


def other_text(row: Row, name: str, key: str, subject: str) -> str:
    if name not in row.cells:
        return NOTHING
    if row.sample(name, key) is None:
        return "[red reverse]failed[/]" if row.cells[name].failed else NOTHING
    text = ratio(row.multiple(name, key, subject))
    return f"[bold]{text}[/]" if name == row.best_peer(key) else text


def scores(verdict: Verdict) -> Table:
    """A row an allocator: geometric means against the virtual best peer, frontier, and what it held."""
    table = Table(title="Cost in multiples of the virtual best peer's (geometric mean), and places", box=None,
                  title_justify="left", title_style="bold", pad_edge=False, header_style="bold")
    table.add_column("allocator", no_wrap=True)
    table.add_column("version", no_wrap=True)
    for kind in (REAL, SYNTHETIC):
        for key in SCORED:
            table.add_column(f"{kind}\n{key}", justify="right")
    table.add_column("on the\nfrontier", justify="right")
    for key in SCORED:
        table.add_column(f"{key}: {' / '.join(WORDS[:2])}\n/ {' / '.join(WORDS[2:])}", justify="right")
    table.add_column("failed\nrows", justify="right")
    for allocator in verdict.results.allocators:
        name = allocator["name"]
        means = [ratio(verdict.scores[kind, key, name].mean) for kind in (REAL, SYNTHETIC) for key in SCORED]
        held = [counts_text(verdict, name, key) for key in SCORED]
        failed = sum(row.cells[name].failed for row in verdict.rows if name in row.cells)
        table.add_row(escape(name), escape(allocator["version"]), *means, frontier_text(verdict, name), *held, str(failed))
    return table


def frontier_text(verdict: Verdict, name: str) -> str:
    return NOTHING if verdict.noise.too_noisy else f"{verdict.frontier[name]} of {len(verdict.rows)}"


def counts_text(verdict: Verdict, name: str, key: str) -> str:
    if key == "time" and verdict.noise.too_noisy:
        return NOTHING
    counts = verdict.standings(name, key)
    return " / ".join(str(counts[word]) for word in WORDS)


def repetitions_text(verdict: Verdict) -> str:
    """What was measured; what was planned only where that is something else."""
    fewest, most = verdict.repetitions()
    planned = verdict.results.grid["repetitions"]
    there = count_of(most, "repetition") if fewest == most else f"{fewest} to {count_of(most, 'repetition')}"
    return there + (f" of each cell ({planned} were planned)" if (fewest, most) != (planned, planned) else "")


def print_losses(console: Console, verdict: Verdict, subject: str) -> None:
    losses = verdict.losses(subject)
    console.print(f"\nWhere {subject} is worse: {len(losses)}" + (", the worst first" if losses else ""), markup=False,
                  style="bold")
    for loss in losses:
        unit = loss.metric.unit
        text = f"{ratio(loss.ratio)}  {loss.row.name}, {loss.metric.title}: " + (
            f"{quantity(loss.own.median, unit)}, {loss.rival} {quantity(loss.best.median, unit)}"
            if loss.own and loss.best else "failed")
        console.print("  " + text, markup=False, soft_wrap=True)


def print_failures(console: Console, verdict: Verdict) -> None:
    if lines := failure_lines(verdict):
        console.print("\nFailed, and not counted", style="bold red")
        console.print("\n".join(f"  {line}" for line in lines), markup=False, soft_wrap=True)


def failure_lines(verdict: Verdict) -> list[str]:
    return [f"{row} on {name}: {what}" for row, name, what in verdict.failures()] + \
           [f"{each['name']} was not to be had: {each['reason']}" for each in verdict.results.unavailable]


def closing_sentence(verdict: Verdict) -> str:
    """For who reads the last line only: how much was measured, what failed, and where the subject stands."""
    cells = [(f"{row.name} on {name}", cell) for row in verdict.rows for name, cell in row.cells.items()]
    done = [f"{count_of(sum(cell.counted > 0 for _, cell in cells), 'cell')} measured"]
    if failed := [name for name, cell in cells if cell.failed]:
        more = [f"and {len(failed) - NAMED} more"] if len(failed) > NAMED else []
        done.append(f"{len(failed)} failed ({', '.join(failed[:NAMED] + more)})")
    if partly := sum(bool(cell.failures) and not cell.failed for _, cell in cells):
        done.append(f"{partly} with a run that failed")
    if absent := [each["name"] for each in verdict.results.unavailable]:
        done.append(f"not to be had: {' '.join(absent)}")
    if len(done) == 1:
        done.append("nothing failed")
    return f"{', '.join(done)}; {verdict_sentence(verdict)}"


def verdict_sentence(verdict: Verdict) -> str:
    """Of the subject: in how many rows each word is its own, all four, always; but none of time if it was too noisy."""
    if len(verdict.results.names()) == 1:
        return f"there is nobody to compare {verdict.subject} with"
    memory = rows_clause(verdict, "memory")
    if verdict.noise.too_noisy:
        return f"{verdict.noise.sentence}; {verdict.subject}'s {memory}"
    return f"{verdict.subject}'s {rows_clause(verdict, 'time')}; its {memory}"


def rows_clause(verdict: Verdict, key: str) -> str:
    counts = verdict.standings(verdict.subject, key)
    failed = f", failed in {counts[FAILED]}" if counts[FAILED] else ""
    return (f"{key} is better in {counts[BETTER]} of {count_of(counts.total(), 'row')}, equal in {counts[EQUAL]}, worse in "
            f"{counts[WORSE]}, unclear in {counts[UNCLEAR]}{failed}")


def print_comparison(console: Console, comparison: Comparison, *, everything: bool) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title, side in (("load", "left"), ("allocator", "left"), ("figure", "left"), ("old", "right"), ("", "right"),
                        ("new", "right"), ("", "right"), ("new/old", "right"), ("", "left")):
        table.add_column(title, justify=side, no_wrap=True)
    shown = comparison.changes if everything else comparison.changed
    for change in shown:
        cells = []
        for sample in (change.old, change.new):
            cells += [quantity(sample.median, change.metric.unit), interval(sample, change.metric.unit)] \
                if sample else [NOTHING, ""]
        style = "red" if change.is_worse else "green" if change.is_better else ""
        words = [change.row, change.allocator, change.metric.title, *cells, ratio(change.ratio) if change.old else NOTHING,
                 f"{change.outcome} {change.note}".strip()]
        table.add_row(*map(escape, words), style=style)
    if shown:
        print_whole(console, table)
    for warning in comparison.warnings:
        console.print(f"warning: {warning}", markup=False, soft_wrap=True)
    broken = sum(change.outcome == BROKEN for change in comparison.changes)
    console.print(f"better in {count_of(len(comparison.better), 'figure')}, equal in {len(comparison.equal)}, worse in "
                  f"{len(comparison.worse)} ({broken} of them fail), unclear in {len(comparison.unclear)}", style="bold",
                  soft_wrap=True)
