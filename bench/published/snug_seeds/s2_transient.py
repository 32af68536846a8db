"""S2's transient size-class fragmentation: what moves hold twice while eight threads use the heap, by the increment."""

from pathlib import Path
from typing import Any

from snug_bench.statistics import Sample

from snug_seeds.bench import Bench, sample
from snug_seeds.machine import cores, on_cores
from snug_seeds.plot_threads import draw_by_steps
from snug_seeds.published import PUBLISHED
from snug_seeds.section import Plot, Table, Verdict, fact, judge

PROGRAM = "seeds/s2_transient"
CELL = "transient"
THREADS, CLASSES = 8, 4
INCREMENTS = ("none", "32768", "4096", "1024", "256", "64", "16")
SHOWN = {"samples": "looked at in a run", "in_flight": "moves under way, average", "most_in_flight": "at most",
         "held": "bytes held twice, average", "most_held": "at most", "beyond": "rows of pages beyond kappa, average",
         "most_beyond": "at most", "not_full": "free in pages not full, average", "most_not_full": "at most"}
COUNTS = ("in_flight", "beyond")


def measure(bench: Bench) -> dict[str, Any]:
    return {"cores": cores(), "runs": bench.interleaved("S2, transient fragmentation", {
        CELL: lambda seed: bench.figures(PROGRAM, "--seed", str(seed))})}


def transient(data: dict[str, Any], increment: str, name: str) -> Sample:
    return sample(data, CELL, f"increment={increment}/{name}")


def tables(data: dict[str, Any]) -> list[Table]:
    rows = [["whole moves" if increment == "none" else increment,
             *(f"{transient(data, increment, name).median:.{2 if name in COUNTS else 0}f}" for name in SHOWN)]
            for increment in INCREMENTS]
    bound = PUBLISHED["s2"]["bound"]
    return [
        Table("(5) Transient size-class fragmentation by the compaction increment: 8 threads, kappa = 1, a lock a class",
              ["increment, bytes", *SHOWN.values()], rows),
        Table("Size-class fragmentation at most, kappa = 1, all classes in use, bytes", ["classes", "published", "here"], [
            ["Compact-fit's, from 16 B", f"{bound['bytes']:.0f}", f"{sample(data, CELL, 'bound').median:.0f}"]])]


def verdicts(data: dict[str, Any]) -> list[Verdict]:
    most = max(max(transient(data, increment, "most_in_flight").values) for increment in INCREMENTS)
    small, whole = (transient(data, increment, "held") for increment in (INCREMENTS[-1], INCREMENTS[0]))
    more = Sample(tuple(a - b for a, b in zip(small.values, whole.values, strict=True)))
    ours, published = sample(data, CELL, "bound").median, PUBLISHED["s2"]["bound"]["bytes"]
    return [
        fact(f"one block more for each move in flight: of {CLASSES} classes at most {CLASSES} moves are under way", most <= CLASSES,
             f"{most:.0f}"),
        *on_cores(data["cores"], THREADS, [judge(
            f"transient fragmentation grows with small increments: {THREADS} threads, in parts of 16 B moves hold no less than as a "
            "whole; bytes more", more, least=0, form=".0f")]),
        fact(f"size-class fragmentation with kappa = 1 is at most {published:.0f} bytes", ours <= published, f"{ours:.0f}")]


REMARKS = (
    "Transient fragmentation is of blocks of 3.5 to 4 KiB in four classes; each that is on its way counts 4096 bytes. Pages beyond "
    "kappa wait for threads that look at blocks: a thread that loses its core meanwhile keeps moves waiting.",)


def plots(data: dict[str, Any], folder: Path) -> list[Plot]:
    return [draw_by_steps(
        folder / "s2_transient.svg", "S2: transient size-class fragmentation by the compaction increment", "bytes, logarithmic",
        "increment, bytes", ["whole", *INCREMENTS[1:]], {
            title: [transient(data, increment, name).median for increment in INCREMENTS]
            for name, title in {"held": "held twice", "most_held": "at most", "most_not_full": "not full"}.items()})]
