"""S2's pauses: for how long the compacting heap keeps its thread in a free, and in a step that is given 100 µs."""

from pathlib import Path
from typing import Any

from snug_bench.statistics import Sample

from snug_seeds.bench import Bench, sample
from snug_seeds.plot_threads import draw_by_steps
from snug_seeds.section import OPEN, Plot, Table, Verdict, judge, quotient

PROGRAM = "seeds/s2_pauses"
CELL = "pauses"
KAPPAS = ("1", "4", "64", "inf")
INCREMENTS = ("64", "1024", "4096", "32768")
SHOWN = ("p50", "p99", "p99.9", "p99.99", "p99.999", "max")
NAMES = ("count", "mean", *SHOWN)
ASKED = 100  # µs, kept with an increment of at most 4096 B
DEFAULT = "4096"


def measure(bench: Bench) -> dict[str, Any]:
    return {"runs": bench.interleaved("S2, pauses", {CELL: lambda seed: bench.figures(PROGRAM, "--seed", str(seed))})}


def pause(data: dict[str, Any], what: str, kappa: str, increment: str, name: str) -> Sample | None:
    """None where some run had too few operations to tell it."""
    found = sample(data, CELL, f"{what}/kappa={kappa}/increment={increment}/{name}")
    return found if min(found.values) >= 0 else None


def kappas_of(what: str) -> tuple[str, ...]:
    return KAPPAS if what == "free" else KAPPAS[1:]


def tables(data: dict[str, Any]) -> list[Table]:
    titles = {"free": "A free's time, µs: median of runs",
              "slice": f"A step's time, µs, of those that use up the {ASKED} µs that they are given: median of runs"}
    return [Table(title, ["kappa", "increment, bytes", "in a run", *SHOWN], [
        [kappa, increment, *(told(pause(data, what, kappa, increment, name), ".0f" if name == "count" else ".2f")
                             for name in ("count", *SHOWN))]
        for kappa in kappas_of(what) for increment in INCREMENTS]) for what, title in titles.items()]


def told(found: Sample | None, form: str) -> str:
    return f"{found.median:{form}}" if found else "–"


def verdicts(data: dict[str, Any]) -> list[Verdict]:
    full, never = (pause(data, "free", kappa, DEFAULT, "p50") for kappa in ("1", "inf"))
    claim = "less compaction is shorter pauses: half of all frees take at most as long without as with full compaction"
    is_told = full and never and min(full.values) > 0
    found = [judge(claim, quotient(never, full), most=1) if is_told else Verdict(claim, OPEN, "too short to tell")]
    for increment in INCREMENTS[:-1]:
        slices = pause(data, "slice", "inf", increment, "p99.9")
        claim = f"a step keeps to its time: given {ASKED} µs, with increments of {increment} B, 99.9% take at most that"
        found.append(judge(claim, slices, most=ASKED) if slices else Verdict(claim, OPEN, "too few steps in a run"))
    return found


REMARKS = (
    "Pauses are of 8192 blocks of 16 B to 32 KiB that are replaced by chance. A quantile is told where each run "
    "had an operation beyond it. A maximum is most often an interrupt. The document has no such table.",)


def plots(data: dict[str, Any], folder: Path) -> list[Plot]:
    def line(what: str, kappa: str, increment: str) -> list[float]:
        found = (pause(data, what, kappa, increment, name) for name in SHOWN)
        return [each.median if each else 0 for each in found]

    return [
        draw_by_steps(folder / "s2_pauses_free.svg", "S2: a free's time by kappa", "µs, logarithmic", "quantile", list(SHOWN),
                      {f"kappa = {kappa}": line("free", kappa, DEFAULT) for kappa in KAPPAS}),
        draw_by_steps(folder / "s2_pauses_step.svg", f"S2: a step's time by increment, {ASKED} µs given, kappa = inf",
                      "µs, logarithmic", "quantile", list(SHOWN),
                      {f"{increment} B": line("slice", "inf", increment) for increment in INCREMENTS})]
