"""S2's long run: a store with growing objects, on the compacting heap and on every malloc: what stays resident, and of the
compacting heap where it lies."""

import json
from pathlib import Path
from typing import Any

from snug_bench.contender import Contender
from snug_bench.problem import Problem

from snug_seeds.bench import Bench
from snug_seeds.plot import draw_drift
from snug_seeds.section import FAILS, HOLDS, OPEN, Plot, Table, Verdict, fact

PROGRAM = "seeds/s2_drift"
BYTES, ORDERS = "1G", ("sweep", "chance")
OURS = "compact"
PARTS = {"rounding": "rounding up to classes", "holes": "pages that are not full", "tails": "ends of pages",
         "spare": "empty pages", "records": "records of pages", "handles": "handles", "elsewhere": "elsewhere",
         "kept": "of that, kept by the store"}
RATIO, AIM, NOT_FULL = 1.12, 1.08, 0.02


def measure(bench: Bench) -> dict[str, Any]:
    """{order: {heap: {series, figures}}}"""
    return {order: measure_order(bench, order) for order in ORDERS}


def measure_order(bench: Bench, order: str) -> dict[str, Any]:
    def run(*words: str, on: Contender | None = None) -> dict[str, Any]:
        output = bench.measured(PROGRAM, "--rounds", "1", "--scale", f"{bench.effort.scale:g}", "--bytes", BYTES,
                                "--order", order, *words, on=on)
        try:
            found = json.loads(output.splitlines()[-1])
            return {"series": found["series"], "figures": {row["name"]: row["value"] for row in found["results"]}}
        except (ValueError, KeyError, TypeError, IndexError):
            raise Problem("s2_drift printed no figures in its last line: build again", 1) from None

    bench.tell(f"S2: a store whose objects grow, order of {order}, {OURS}")
    runs = {OURS: run()}
    for each in bench.contenders:
        bench.tell(f"S2: a store whose objects grow, order of {order}, malloc of {each.name}")
        runs[f"malloc of {each.name}"] = run("--heap", "malloc", on=each)
    return runs


def tables(data: dict[str, Any]) -> list[Table]:
    return [ends_table(data), parts_table(data)]


def ends_table(data: dict[str, Any]) -> Table:
    rows = []
    for heap in data[ORDERS[0]]:
        row = [heap]
        for order in ORDERS:
            figures = data[order][heap]["figures"]
            row += [f"{figures['ratio']:.3f}", f"{figures['peak_ratio']:.3f}", f"{figures['ns']:.0f}",
                    not_full(figures) if heap == OURS else "–"]
        rows.append(row)
    names = ("resident / requested at the end", "the most", "ns a replacement", "pages not full")
    return Table(f"A store of {BYTES} whose objects grow from 256 to 2048 B",
                 ["heap", *(f"{order}: {name}" for order in ORDERS for name in names)], rows)


def not_full(figures: dict[str, float]) -> str:
    return f"{figures['not_full_least']:.2%} to {figures['not_full_most']:.2%}"


def parts_table(data: dict[str, Any]) -> Table:
    rows = []
    for order, heaps in data.items():
        for heap, run in heaps.items():
            figures = run["figures"]
            parts = [f"{100 * figures[part]:.1f}" if part in figures else "–" for part in PARTS]
            rows.append([f"{order}: {heap}", *parts, f"{100 * (figures['ratio'] - 1):.1f}"])
    return Table("Where what is resident at the end beyond what is requested lies, in percent of the latter",
                 ["order: heap", *PARTS.values(), "in all"], rows)


def verdicts(data: dict[str, Any]) -> list[Verdict]:
    found = []
    for order, heaps in data.items():
        ours = heaps[OURS]["figures"]
        ratios = {name.removeprefix("malloc of "): run["figures"]["ratio"] for name, run in heaps.items() if name != OURS}
        others = ", ".join(f"{name} {ratio:.3f}" for name, ratio in sorted(ratios.items(), key=lambda each: each[1]))
        aim = "reached" if ours["ratio"] <= AIM else "missed"
        found += [
            fact(f"drift, {order}: at the end resident memory is at most {RATIO} times what is requested",
                 ours["ratio"] <= RATIO, f"{ours['ratio']:.3f}, so that the aim of {AIM} is {aim}"),
            fact(f"drift, {order}: at the end every malloc takes more", ours["ratio"] < min(ratios.values()),
                 f"{ours['ratio']:.3f}; {others}"),
            Verdict(f"drift, {order}: at most {NOT_FULL:.0%} of the pages are not full",
                    HOLDS if ours["not_full_most"] <= NOT_FULL else FAILS if ours["not_full_least"] > NOT_FULL else OPEN,
                    f"{not_full(ours)}, as rows have one to eight pages")]
    return found


REMARKS = (
    "The compacting heap counts its parts itself; elsewhere is what is resident beyond its count: pages that snug's store keeps "
    "for the next, holes among the records of pages, and what the program has beside the store. What a malloc's excess consists "
    "of it does not say.",)


def plots(data: dict[str, Any], folder: Path) -> list[Plot]:
    return [draw_drift(folder, order, {heap: run["series"] for heap, run in heaps.items()}) for order, heaps in data.items()]
