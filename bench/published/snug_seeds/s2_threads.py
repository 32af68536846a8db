"""S2 on several threads: throughput by the way in which they share a heap, what they wait for, and throughput by the
compaction increment."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from snug_bench.statistics import Sample

from snug_seeds.bench import Bench, called_directly, named, sample
from snug_seeds.machine import cores, on_cores
from snug_seeds.plot_threads import draw_by_steps
from snug_seeds.section import Plot, Table, Verdict, judge, quotient, spread

PROGRAM = "seeds/s2_threads"
THREADS, SOME_THREADS = tuple(range(1, 9)), (1, 2, 4, 8)
INCREMENT_THREADS = (1, 8)
SEVERAL = SOME_THREADS[1:]
HEAPS = {
    "full/lock": "compacting, one lock", "full/classes": "compacting, a lock a class", "full/cores": "compacting, a heap a core",
    "full/private": "compacting, a heap a thread",
    "never/lock": "not compacting, one lock", "never/classes": "not compacting, a lock a class",
    "never/cores": "not compacting, a heap a core", "never/private": "not compacting, a heap a thread",
    "TLSF/lock": "TLSF, one lock", "TLSF/private": "TLSF, a heap a thread",
    "rlsf/lock": "rlsf, one lock", "rlsf/private": "rlsf, a heap a thread"}
LEVELS = {"full/lock": ("heap",), "never/lock": ("heap",), "full/classes": ("classes", "handles", "pages"),
          "never/classes": ("classes", "handles", "pages"), "full/cores": ("heap",), "never/cores": ("heap",)}
KINDS = {"full": "compacting", "never": "not compacting"}
OWNERS = {"": "a heap a thread", "cores/": "a heap a core"}
SHARING = {"none": "none", "8": "every 8th batch", "2": "every other batch", "1": "every batch"}
INCREMENTS = ("none", "32768", "4096", "1024", "256", "64", "16")
LOADS = ("mixed", "large")
GROUPS = ("full", "never", "TLSF", "rlsf", *LOADS)
MALLOCS = ("snug", "glibc")
CELL = "heaps"

COSTS_MORE = 1.25
SCALES = 0.75
SHARING_COSTS = 0.9


def runs(bench: Bench) -> dict[str, Callable[[int], dict[str, Any]]]:
    """All heaps that are called directly in one process a round, each malloc in one of its own."""
    only = ",".join(f"*/{group}/*" for group in GROUPS)
    cells: dict[str, Callable[[int], dict[str, Any]]] = {
        CELL: lambda seed: bench.figures(PROGRAM, "--seed", str(seed), "--only", only,
                                           **called_directly(bench.contenders))}
    for each in named(bench.contenders, MALLOCS):
        cells[f"malloc of {each.name}"] = lambda seed, each=each: bench.figures(
            PROGRAM, "--seed", str(seed), "--only", "*/malloc/throughput", on=each)
    return cells


def measure(bench: Bench) -> dict[str, Any]:
    return {"cores": cores(), "runs": bench.interleaved("S2, threads", runs(bench))}


def throughput(data: dict[str, Any], heap: str, threads: int) -> Sample:
    cell, name = (heap, "malloc") if heap.startswith("malloc of ") else (CELL, heap)
    return sample(data, cell, f"threads={threads}/{name}/throughput")


def heaps(data: dict[str, Any]) -> dict[str, str]:
    """Without rlsf where it could not be had; with each malloc."""
    direct = {heap: title for heap, title in HEAPS.items() if f"threads=1/{heap}/throughput" in data["runs"][CELL][0]}
    return direct | {cell: cell for cell in data["runs"] if cell != CELL}


def tables(data: dict[str, Any]) -> list[Table]:
    return [threads_table(data), waits_table(data), sharing_table(data), increments_table(data)]


def threads_table(data: dict[str, Any]) -> Table:
    rows = [[title, *(f"{throughput(data, heap, threads).median:.2f}" for threads in THREADS)]
            for heap, title in heaps(data).items()]
    return Table("(1) Throughput by threads, M/s: median of runs", ["heap", *columns(THREADS)], rows)


def waits_table(data: dict[str, Any]) -> Table:
    rows = [[f"{HEAPS[heap]}: {level}",
             *(f"{sample(data, CELL, f'threads={threads}/{heap}/waits_{level}').median:.0f}" for threads in THREADS)]
            for heap, levels in LEVELS.items() for level in levels]
    return Table("(1) How often a thread waited for a lock, for 10⁶ operations", ["heap: level", *columns(THREADS)], rows)


def sharing_table(data: dict[str, Any]) -> Table:
    rows = [[f"{title}, {owner}, {words}",
             *(f"{throughput(data, f'{kind}/{prefix}sharing={every}', threads).median:.2f}" for threads in SOME_THREADS)]
            for kind, title in KINDS.items() for prefix, owner in OWNERS.items() for every, words in SHARING.items()]
    return Table("(1) Throughput by sharing, M/s: heaps with a lock each", [
        "heap, what is freed of the next thread's", *columns(SOME_THREADS)], rows)


def increments_table(data: dict[str, Any]) -> Table:
    header, rows = ["increment, bytes"], []
    for load in LOADS:
        for threads in INCREMENT_THREADS:
            header += [f"{load}, {columns((threads,))[0]}: M/s", "by that of whole moves"]
    for increment in INCREMENTS:
        row = ["whole moves" if increment == "none" else increment]
        for load in LOADS:
            for threads in INCREMENT_THREADS:
                found, whole = (throughput(data, f"{load}/increment={each}", threads) for each in (increment, "none"))
                row += [f"{found.median:.3f}", spread(quotient(found, whole))]
        rows.append(row)
    return Table("(3) Throughput by the compaction increment: kappa = 1, a lock a class", header, rows)


def columns(counts: tuple[int, ...]) -> list[str]:
    return ["1 thread" if count == 1 else f"{count} threads" for count in counts]


def verdicts(data: dict[str, Any]) -> list[Verdict]:
    found = []
    for threads in SEVERAL:
        each = [judge(f"global size-class locks do not scale: {title}, {threads} threads do at most {threads / 2:g} times what "
                      "one does", gain(data, f"{kind}/classes", threads), most=threads / 2) for kind, title in KINDS.items()]
        each += [
            judge(f"full compaction costs a constant factor: with a heap a thread {threads} threads pay at most {COSTS_MORE} times "
                  "what one pays", quotient(cost(data, threads), cost(data, 1)), most=COSTS_MORE),
            *(judge(f"without sharing throughput scales: not compacting, {HEAPS[heap].split(', ')[1]}, {threads} threads do at "
                    f"least {SCALES * threads:g} times what one does", gain(data, heap, threads), least=SCALES * threads)
              for heap in ("never/private", "never/cores"))]
        each += [judge(f"sharing determines scalability: {title}, {threads} threads that free each other's batches do at most "
                       f"{SHARING_COSTS} times what those do that free their own",
                       quotient(throughput(data, f"{kind}/sharing=1", threads), throughput(data, f"{kind}/sharing=none", threads)),
                       most=SHARING_COSTS) for kind, title in KINDS.items()]
        found += on_cores(data["cores"], threads, each)
    for threads in INCREMENT_THREADS:
        ratio = quotient(*(throughput(data, f"large/increment={each}", threads) for each in ("16", "none")))
        found += on_cores(data["cores"], threads, [judge(
            f"small increments cost throughput: {columns((threads,))[0]}, large blocks, in parts of 16 B at most what whole moves "
            "do", ratio, most=1)])
    return found


def gain(data: dict[str, Any], heap: str, threads: int) -> Sample:
    return quotient(throughput(data, heap, threads), throughput(data, heap, 1))


def cost(data: dict[str, Any], threads: int) -> Sample:
    """Of full compaction: how many times as fast it is without."""
    return quotient(throughput(data, "never/private", threads), throughput(data, "full/private", threads))


REMARKS = (
    "The load on threads is Compact-fit's: 512 blocks are allocated and 512 freed, over and over, each thread with 32 batches. "
    "The document plots it, and gives no figures. Not compacting here has handles, as compacting; its plot has none.",
    "By increments also a load of large blocks, 512 B to 32 KiB: most blocks of the document's load are copied by one "
    "increment of 64 B.")


def plots(data: dict[str, Any], folder: Path) -> list[Plot]:
    by_threads = {heap: [throughput(data, heap, threads).median for threads in THREADS] for heap in heaps(data)}
    by_increment = {f"{load}, {threads} thr.": [
        throughput(data, f"{load}/increment={each}", threads).median / throughput(data, f"{load}/increment=none", threads).median
        for each in INCREMENTS] for load in LOADS for threads in INCREMENT_THREADS}
    return [
        draw_by_steps(folder / "s2_threads.svg", "S2: throughput by threads", "M/s, logarithmic", "threads",
                      list(map(str, THREADS)), by_threads),
        draw_by_steps(folder / "s2_increments.svg", "S2: throughput by the compaction increment",
                      "by that of whole moves, logarithmic", "increment, bytes", ["whole", *INCREMENTS[1:]], by_increment)]
