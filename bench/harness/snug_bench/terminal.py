"""The verdict in a terminal: standings, overall costs and losses, from left to right what decides first."""

from rich.console import Console
from rich.text import Text

from snug_bench.comparison import BROKEN, Comparison
from snug_bench.overview import KIND_NAMES, overview_sentence
from snug_bench.quantity import NOTHING, count_of, interval, quantity, ratio
from snug_bench.ratio import BETTER, EQUAL, UNCLEAR, WORDS, WORSE
from snug_bench.sheet import GAP, Column, Sheet, packed, say_words, show, show_stack, wrapped
from snug_bench.verdict import DEFINITION, FAILED, NOT_RUN, SCORED, Loss, Row, Verdict

STYLES = {BETTER: "green", EQUAL: "", WORSE: "red", UNCLEAR: "yellow", FAILED: "red reverse", NOT_RUN: ""}
NAMED = 3  # failed cells in the closing sentence; all stand above it


def print_verdict(console: Console, verdict: Verdict) -> None:
    for key, title in (("time", "Time"), ("memory", "Peak RSS")):
        print_standings(console, verdict, key, title)
    for kind in KIND_NAMES:
        if said := overview_sentence(verdict, kind):
            say_words(console, f"{said}.", indent=2)
    console.print()
    ratios = costs(verdict)
    show_stack(console, ratios if ratios.width <= console.width else ratios.without("version"))
    console.print()
    show_stack(console, words_sheet(verdict))
    console.print()
    show(console, [Text(line, "dim") for line in wrapped(DEFINITION, console.width)])
    print_losses(console, verdict)
    print_failures(console, verdict)


def print_standings(console: Console, verdict: Verdict, key: str, title: str) -> None:
    """With as many of the other allocators as there is width for, the best first chosen."""
    others = [name for name in verdict.results.names() if name != verdict.subject]
    chosen = by_cost(verdict, key, others)
    while chosen and standings(verdict, key, title, chosen).width > console.width:
        chosen.pop()
    show_stack(console, standings(verdict, key, title, [name for name in others if name in chosen]))
    if left_out := len(others) - len(chosen):
        say_words(console, f"{count_of(left_out, 'allocator')} more: on a wider terminal (or COLUMNS=200), in Markdown and page.",
                  "dim")
    console.print()


def standings(verdict: Verdict, key: str, title: str, others: list[str]) -> Sheet:
    """A row a load, with the subject's median and the others' ratios to the subject."""
    subject = verdict.subject
    sheet = Sheet(f"{title}: {subject}'s median, and the others as multiples of it", [
        Column("load", "left"), Column(subject), Column("interval"), Column("verdict", "left"), Column("best peer", "left"),
        *map(Column, others)])
    for row in verdict.rows:
        sample, standing = row.sample(subject, key), row.standing(subject, key)
        if not is_judged(verdict, key) and standing in WORDS:
            standing = UNCLEAR
        unit = row.metric(key).unit
        sheet.add(row.name, quantity(sample.median, unit) if sample else NOTHING, interval(sample, unit) if sample else "",
                  Text(standing, STYLES[standing]), best_text(row, key, subject),
                  *(other_text(row, name, key, subject) for name in others))
    return sheet


def by_cost(verdict: Verdict, key: str, names: list[str]) -> list[str]:
    def cost(name: str) -> float:
        means = [verdict.overall[kind, key, name].mean for kind in KIND_NAMES]
        return min((mean for mean in means if mean is not None), default=float("inf"))
    return sorted(names, key=cost)


def best_text(row: Row, key: str, subject: str) -> str:
    best = row.best_peer(key)
    return f"{ratio(row.multiple(best, key, subject))} {best}" if best else NOTHING


def other_text(row: Row, name: str, key: str, subject: str) -> Text:
    if name not in row.cells:
        return Text(NOTHING)
    if row.sample(name, key) is None:
        return Text("failed", "red reverse") if row.cells[name].failed else Text(NOTHING)
    return Text(ratio(row.multiple(name, key, subject)), "bold" if name == row.best_peer(key) else "")


def costs(verdict: Verdict) -> Sheet:
    """A row an allocator: overall costs, and places on the frontier."""
    kinds = [kind for kind in KIND_NAMES if verdict.rows_of(kind)]
    sheet = Sheet(f"Cost over all rows in multiples of {verdict.subject}'s (geometric mean)", [
        Column("allocator", "left"), Column("version", "left"),
        *(Column(f"{kind}\n{key}") for kind in kinds for key in SCORED), Column("on the\nfrontier"), Column("rows\nfailed")])
    for allocator in verdict.results.allocators:
        name = allocator["name"]
        failed = sum(row.cells[name].failed for row in verdict.rows if name in row.cells)
        sheet.add(name, allocator["version"],
                  *(ratio(verdict.overall[kind, key, name].mean) for kind in kinds for key in SCORED),
                  frontier_text(verdict, name), str(failed))
    return sheet


def overall_text(verdict: Verdict, kind: str, key: str, name: str) -> str:
    """1.14× [1.12–1.16], worse"""
    found = verdict.overall[kind, key, name].ratio
    if found is None or name == verdict.subject:
        return ratio(found.value if found else None)
    between = f" [{found.interval.low:.2f}–{found.interval.high:.2f}]" if found.interval else ""
    word = UNCLEAR if key == "time" and verdict.noise.disturbed else found.word
    return f"{ratio(found.value)}{between}, {word}"


def words_sheet(verdict: Verdict) -> Sheet:
    """A row an allocator: how many rows have each word."""
    keys = [key for key in SCORED if is_judged(verdict, key)]
    sheet = Sheet("Rows of each word" + ("" if "time" in keys else f" ({verdict.noise.sentence})"), [
        Column("allocator", "left"), *(Column(f"{key}\n{word}") for key in keys for word in WORDS)])
    for name in verdict.results.names():
        sheet.add(name, *(str(verdict.standings(name, key)[word]) for key in keys for word in WORDS))
    return sheet


def is_judged(verdict: Verdict, key: str) -> bool:
    return key != "time" or not verdict.noise.too_noisy


def frontier_text(verdict: Verdict, name: str) -> str:
    return f"{verdict.frontier[name]} of {len(verdict.rows)}" if is_judged(verdict, "time") else NOTHING


def counts_text(verdict: Verdict, name: str, key: str) -> str:
    counts = verdict.standings(name, key)
    return " / ".join(str(counts[word]) for word in WORDS) if is_judged(verdict, key) else NOTHING


def repetitions_text(verdict: Verdict) -> str:
    """What was measured; what was planned only where that is something else."""
    fewest, most = verdict.repetitions()
    planned = verdict.results.grid["repetitions"]
    there = count_of(most, "repetition") if fewest == most else f"{fewest} to {count_of(most, 'repetition')}"
    return there + (f" of each cell ({planned} were planned)" if (fewest, most) != (planned, planned) else "")


def print_losses(console: Console, verdict: Verdict) -> None:
    losses = verdict.losses(verdict.subject)
    count = f": {len(losses)}" if is_judged(verdict, "time") else ", of time as far as it can be told"
    console.print(f"\nWhere {verdict.subject} is worse{count}" + (", the worst first" if losses else ""), markup=False,
                  style="bold")
    for loss in losses:
        show(console, [Text("  ") + line for line in packed(loss_items(loss), console.width - GAP, indent=8, gap=1)])


def loss_items(loss: Loss) -> list[Text]:
    unit = loss.metric.unit
    figures = [f"{quantity(loss.own.median, unit)},", f"{loss.rival} {quantity(loss.best.median, unit)}"] \
        if loss.own and loss.best else ["failed"]
    return [Text(each) for each in (f"{ratio(loss.ratio)}  {loss.row.name},", f"{loss.metric.title}:", *figures)]


def print_failures(console: Console, verdict: Verdict) -> None:
    if lines := failure_lines(verdict):
        console.print("\nFailed, and not counted", style="bold red")
        for line in lines:
            say_words(console, line, head="  ", indent=2)


def failure_lines(verdict: Verdict) -> list[str]:
    return [f"{row} on {name}: {what}" for row, name, what in verdict.failures()] + \
           [f"{each['name']} was not to be had: {each['reason']}" for each in verdict.results.unavailable]


def closing_sentence(verdict: Verdict) -> str:
    """For a reader of the last line only: how much was measured, what failed, and where the subject stands."""
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
    sheet = Sheet("", [Column("load", "left"), Column("allocator", "left"), Column("figure", "left"), Column("old"),
                       Column("new"), Column("new/old"), Column("", "left")], keys=3)
    for change in comparison.changes if everything else comparison.changed:
        style = "red" if change.is_worse else "green" if change.is_better else ""
        old, new = (f"{quantity(sample.median, change.metric.unit)} {interval(sample, change.metric.unit)}" if sample else NOTHING
                    for sample in (change.old, change.new))
        sheet.add(*(Text(cell, style) for cell in (change.row, change.allocator, change.metric.title, old, new,
                                                   ratio(change.ratio) if change.old else NOTHING, change.outcome)))
    if sheet.rows:
        show_stack(console, sheet)
    for change in comparison.changed:
        if change.note:
            say_words(console, f"{change.row} on {change.allocator} {change.outcome}: {change.note}", indent=4)
    for warning in comparison.warnings:
        say_words(console, f"warning: {warning}", indent=4)
    broken = sum(change.outcome == BROKEN for change in comparison.changes)
    say_words(console, f"better in {count_of(len(comparison.better), 'figure')}, equal in {len(comparison.equal)}, worse in "
              f"{len(comparison.worse)} ({broken} of them fail), unclear in {len(comparison.unclear)}", "bold")
