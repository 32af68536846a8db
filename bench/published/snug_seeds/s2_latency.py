"""S2's system latency: what single operations of one thread take while seven others use the heap, by their blocks' size."""

from pathlib import Path
from typing import Any

from snug_bench.statistics import Sample

from snug_seeds.bench import Bench, called_directly, sample
from snug_seeds.machine import cores, on_cores
from snug_seeds.plot_threads import draw_by_steps
from snug_seeds.section import OPEN, Plot, Table, Verdict, judge, quotient

PROGRAM = "seeds/s2_latency"
CELL = "latency"
THREADS = 8
SIZES = ("16", "64", "256", "1024", "4096", "16384")
HEAPS = {"full/lock": "compacting, one lock", "full/classes": "compacting, a lock a class",
         "never/classes": "not compacting, a lock a class", "TLSF/lock": "TLSF, one lock",
         "rlsf/lock": "rlsf, one lock"}
OPERATIONS = ("alloc", "free")
SHOWN = ("mean", "p99", "p99.9", "max")
OF_SMALLEST = "smallest_"
SMALL, LARGE, GROWS = "64", "16384", 2


def measure(bench: Bench) -> dict[str, Any]:
    names = ",".join(f"*/{name}" for name in SHOWN)
    return {"cores": cores(), "runs": bench.interleaved("S2, latency", {
        CELL: lambda seed: bench.figures(PROGRAM, "--seed", str(seed), "--only", names,
                                           **called_directly(bench.contenders))})}


def heaps(data: dict[str, Any]) -> dict[str, str]:
    """Without rlsf where it could not be had."""
    told = {figure.partition("/size=")[0] for figure in data["runs"][CELL][0]}
    return {heap: words for heap, words in HEAPS.items() if heap in told}


def latency(data: dict[str, Any], heap: str, size: str, operation: str, name: str) -> Sample | None:
    """None where some run had too few operations to tell it."""
    found = sample(data, CELL, f"{heap}/size={size}/{operation}/{name}")
    return found if min(found.values) >= 0 else None


def tables(data: dict[str, Any]) -> list[Table]:
    return [latency_table(data, "(4) System latency: a smallest block beside seven threads with blocks of a size, µs", OF_SMALLEST),
            latency_table(data, "(4) The same of a block of that size, µs", "")]


def latency_table(data: dict[str, Any], title: str, of: str) -> Table:
    rows = []
    for heap, words in heaps(data).items():
        for size in SIZES:
            found = [latency(data, heap, size, of + operation, name) for operation in OPERATIONS for name in SHOWN]
            rows.append([f"{words}: {size} B", *(f"{each.median:.2f}" if each else "–" for each in found)])
    return Table(title, ["heap: size", *(f"{operation}: {name}" for operation in OPERATIONS for name in SHOWN)], rows)


def verdicts(data: dict[str, Any]) -> list[Verdict]:
    found = []
    for operation in OPERATIONS:
        claim = (f"moves of large blocks do not delay small ones: a lock a class, {THREADS} threads, 99% of the {operation}s of a "
                 f"smallest block take at most {GROWS} times as long beside blocks of {LARGE} B as beside those of {SMALL} B")
        large, small = (latency(data, "full/classes", size, OF_SMALLEST + operation, "p99") for size in (LARGE, SMALL))
        is_told = large and small and min(small.values) > 0
        found.append(judge(claim, quotient(large, small), most=GROWS) if is_told else Verdict(claim, OPEN, "too few or too short to tell"))
    return on_cores(data["cores"], THREADS, found)


REMARKS = (
    "System latency is that of a thread which times single operations while seven others allocate and free batches of 64 blocks; "
    "the document plots it, and gives no figures. Where threads share a core, the tails are those of the scheduler.",)


def plots(data: dict[str, Any], folder: Path) -> list[Plot]:
    def line(heap: str) -> list[float]:
        found = (latency(data, heap, size, f"{OF_SMALLEST}free", "p99") for size in SIZES)
        return [each.median if each else 0 for each in found]

    return [draw_by_steps(folder / "s2_latency.svg", "S2: system latency of 8 threads by block size",
                          "µs, 99% of a smallest block's frees, logarithmic", "the others' block size, bytes", list(SIZES),
                          {heap: line(heap) for heap in heaps(data)})]
