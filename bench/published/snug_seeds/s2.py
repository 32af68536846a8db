"""S2: Compact-fit against TLSF, and the long run of a store with growing objects: tables, plots and remarks."""

from pathlib import Path
from typing import Any

from snug_seeds import s2_drift, s2_latency, s2_pauses, s2_runs, s2_threads, s2_transient
from snug_seeds.bench import Bench
from snug_seeds.plot import draw_by_kappa
from snug_seeds.published import PUBLISHED
from snug_seeds.s2_claims import verdicts
from snug_seeds.s2_runs import BY_KAPPA, KAPPAS, MEMORY, RLSF, TRACES, figure, had, heaps_of
from snug_seeds.section import Section, Table, quotient, spread

__all__ = ["measure", "section"]
MB = 1e6
PARTS = {"drift": s2_drift, "threads": s2_threads, "latency": s2_latency, "transient": s2_transient, "pauses": s2_pauses}


def measure(bench: Bench) -> dict[str, Any]:
    return s2_runs.measure(bench) | {name: part.measure(bench) for name, part in PARTS.items()}


def section(data: dict[str, Any], folder: Path) -> Section:
    section = Section("S2", "Compact-fit against TLSF: a heap that compacts")
    section.tables = [memory_table(data), *(ticks_table(data, trace) for trace in TRACES),
                      *(kappa_table(data, trace) for trace in TRACES), parts_table(data)]
    section.verdicts = verdicts(data)
    if data["scale"] != 1:
        section.remarks.append(f"The first {data['scale']:.0%} of each trace only: the published memory is of whole ones.")
    section.remarks += [
        "Emacs is recorded anew (scripts/record_programs), Hummingbird synthesised from what its authors tell of it "
        "(snug trace synth hummingbird --help): compare ratios with the published, not bytes.",
        "Memory is all that a heap took from the system: of the compacting heap pages, handles and records; of TLSF the "
        "smallest pool in which the whole trace is served; of malloc what became resident, with every page of every block "
        "written. TLSF here is snug's cell heap in TLSF's bins; its smallest cell has 32 B, its blocks lie at multiples of "
        "8 or 16; claims are judged against the latter, whose blocks lie as those of the others. rlsf is TLSF of that crate, over "
        "one pool too and called as directly; malloc of tlsf is the same behind malloc's functions and a lock.",
        "Ticks are those of rdtsc around each operation without the clock's own, the first ten left out; a maximum is most "
        "often an interrupt or a page fault, here as in 2009.",
        "The document plots its throughput, and gives no figures of it."]
    section.plots = [draw_by_kappa(folder, trace, KAPPAS, {
        "throughput": [figure(data, trace, heap, "throughput").median for heap in BY_KAPPA],
        "memory": [data["memory"][f"{trace}/{heap}/peak"] / MB for heap in BY_KAPPA],
        "not full": [data["memory"][f"{trace}/{heap}/most_not_full"] / MB for heap in BY_KAPPA]}) for trace in TRACES]
    for name, part in PARTS.items():
        section.tables += part.tables(data[name])
        section.verdicts += part.verdicts(data[name])
        section.remarks += part.REMARKS
        section.plots += part.plots(data[name], folder)
    return section


def memory_table(data: dict[str, Any]) -> Table:
    def ours(heap: str, name: str) -> list[str]:
        return [f"{data['memory'][f'{trace}/{heap}/{name}'] / MB:.2f}" for trace in TRACES]

    def published(*keys: str) -> list[str]:
        row = []
        for trace in TRACES:
            found: Any = PUBLISHED["s2"][trace]
            for key in keys:
                found = found[key]
            row.append(f"{found:g}")
        return row

    none = ["–"] * len(TRACES)
    rows = [["requested at the peak", *none, *ours("CF16/direct", "requested")],
            ["TLSF, to 16 B", *published("tlsf"), *ours("TLSF/16", "peak")], ["TLSF, to 8 B", *none, *ours("TLSF/8", "peak")]]
    rows += [["TLSF of rlsf, to 32 B", *none, *ours(heap, "peak")] for heap in had(data["memory"], (RLSF,))]
    for bits in ("16", "32"):
        rows += [[f"CF, {bits} B blocks, no handles", *published(f"cf{bits}", "memory"), *ours(f"CF{bits}/direct", "peak")],
                 ["  of it size-class fragmentation", *published(f"cf{bits}", "fragmentation"), *ours(f"CF{bits}/direct", "not_full")],
                 ["  the same, kappa = 1 with handles", *none, *ours(f"CF{bits}/1", "peak")]]
    rows += [["cells on pages", *none, *ours("cells", "peak")]]
    rows += [[heap, *none, *ours(heap, "peak")] for heap in heaps_of(data, TRACES[0]) if heap.startswith("malloc")]
    return Table("(2) Memory at its peak, MB", ["heap", *(f"{trace}, published" for trace in TRACES),
                                                *(f"{trace}, here" for trace in TRACES)], rows)


def ticks_table(data: dict[str, Any], trace: str) -> Table:
    published, rows = PUBLISHED["s2"][trace], []
    theirs = {"TLSF/16": "tlsf", "CF16/direct": "cf"}
    for heap in heaps_of(data, trace):
        row = [heap]
        for operation in ("malloc", "free"):
            figures = published[operation].get(theirs.get(heap, ""), ())
            row += [" / ".join(f"{each:.0f}" for each in figures) or "–",
                    f"{figure(data, trace, heap, f'{operation}_average').median:.0f}",
                    f"{figure(data, trace, heap, f'{operation}_max').median:.0f}"]
        rows.append(row)
    return Table(f"(2) Clock ticks, {trace}: median of runs", [
        "heap", "malloc, published: average / maximum", "average", "maximum", "free, published: average / maximum",
        "average", "maximum"], rows)


def kappa_table(data: dict[str, Any], trace: str) -> Table:
    base, rows = figure(data, trace, "CF16/1", "throughput"), []
    for heap in (*BY_KAPPA, "CF16/direct"):
        throughput = figure(data, trace, heap, "throughput")
        memory = {name: data["memory"][f"{trace}/{heap}/{name}"] for name in MEMORY}
        rows.append([heap.removeprefix("CF16/"), f"{throughput.median:.2f}", spread(quotient(throughput, base)),
                     f"{memory['peak'] / MB:.2f}", f"{memory['end'] / MB:.2f}", f"{memory['not_full'] / MB:.3f}",
                     f"{memory['most_not_full'] / MB:.3f}", f"{memory['moves']:.0f}"])
    return Table(f"(6) {trace}, 16 B blocks, by kappa", [
        "kappa", "throughput, M/s", "by that of 1", "memory, MB", "at the end", "size-class fragmentation, MB",
        "at its worst", "moves"], rows)


def parts_table(data: dict[str, Any]) -> Table:
    parts = ("requested", "rounding", "not_full", "tails", "spare", "handles", "records")
    rows = []
    for trace in TRACES:
        for heap in ("CF16/1", "CF16/direct", "CF32/1", "CF32/direct"):
            memory = {name: data["memory"][f"{trace}/{heap}/{name}"] for name in (*parts, "peak", "resident")}
            rest = memory["peak"] - sum(memory[name] for name in parts)
            rows.append([f"{trace}, {heap}", *(f"{memory[name] / MB:.3f}" for name in parts), f"{rest / MB:.3f}",
                         f"{memory['peak'] / MB:.2f}", f"{memory['resident'] / MB:.2f}"])
    return Table("What the memory is, MB, at its peak", [
        "trace, heap", "requested", "rounding", "not full", "tails of pages", "spare pages", "handles", "records", "else", "all", "became resident"], rows)
