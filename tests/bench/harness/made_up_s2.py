"""Runs of S2 that were never made: each part's figures as its claims have them, on a machine with eight cores."""

from snug_seeds import s2_drift, s2_latency, s2_pauses, s2_threads, s2_transient
from snug_seeds.published import PUBLISHED

RUNS = 6


def changed(cells: dict, changes: dict[str, float]) -> dict:
    """{cell: runs} of {cell: figures}, some of which are other ones: {figure: value}."""
    for name, value in changes.items():
        cell = next(each for each in cells.values() if name in each)
        cell[name] = value
    return {cell: [dict(figures) for _ in range(RUNS)] for cell, figures in cells.items()}


def threads(changes: dict[str, float] | None = None, cores: int = 8) -> dict:
    figures = {}
    for count in s2_threads.THREADS:
        for heap in s2_threads.HEAPS:
            figures |= {f"threads={count}/{heap}/waits_{level}": 0.0 for level in ("heap", "classes", "handles", "pages")}
            figures[f"threads={count}/{heap}/throughput"] = 10.0 * (count if heap.endswith(("private", "cores")) else 1)
        figures |= {f"threads={count}/{kind}/{owner}sharing={every}/throughput": 10.0 * (count if every == "none" else 1)
                    for kind in s2_threads.KINDS for owner in s2_threads.OWNERS for every in s2_threads.SHARING}
        figures |= {f"threads={count}/{load}/increment={increment}/throughput": 10.0 - at
                    for load in s2_threads.LOADS for at, increment in enumerate(s2_threads.INCREMENTS)}
    cells = {s2_threads.CELL: figures} | {
        f"malloc of {name}": {f"threads={count}/malloc/throughput": 50.0 * count for count in s2_threads.THREADS}
        for name in s2_threads.MALLOCS}
    return {"cores": cores, "runs": changed(cells, changes or {})}


def pauses(changes: dict[str, float] | None = None) -> dict:
    figures = {}
    for what in ("free", "slice"):
        for at, kappa in enumerate(s2_pauses.kappas_of(what)):
            for increment in s2_pauses.INCREMENTS:
                value = 0.2 / (at + 1) if what == "free" else 99.5
                figures |= {f"{what}/kappa={kappa}/increment={increment}/{name}": value for name in s2_pauses.NAMES}
    return {"runs": changed({s2_pauses.CELL: figures}, changes or {})}


def latency(changes: dict[str, float] | None = None, cores: int = 8) -> dict:
    figures = {f"{heap}/size={size}/{of}{operation}/{name}": 1.0 for heap in s2_latency.HEAPS for size in s2_latency.SIZES
               for of in (s2_latency.OF_SMALLEST, "") for operation in s2_latency.OPERATIONS for name in s2_latency.SHOWN}
    return {"cores": cores, "runs": changed({s2_latency.CELL: figures}, changes or {})}


def transient(changes: dict[str, float] | None = None, cores: int = 8) -> dict:
    figures = {f"increment={increment}/{name}": 1.0 + at for at, increment in enumerate(s2_transient.INCREMENTS)
               for name in s2_transient.SHOWN}
    figures |= {f"increment={increment}/most_in_flight": 4.0 for increment in s2_transient.INCREMENTS}
    figures["bound"] = PUBLISHED["s2"]["bound"]["bytes"]
    return {"cores": cores, "runs": changed({s2_transient.CELL: figures}, changes or {})}


def drift() -> dict:
    figures = {"ratio": 1.05, "peak_ratio": 1.1, "ns": 100.0}
    of_ours = {"not_full_least": 0.002, "not_full_most": 0.016} | dict.fromkeys(s2_drift.PARTS, 0.01)
    series = [[turn, 100, 105, 0.01] for turn in range(5)]
    return {order: {"compact": {"series": series, "figures": figures | of_ours},
                    "malloc of glibc": {"series": series, "figures": figures | {"ratio": 1.5}}} for order in s2_drift.ORDERS}


def parts() -> dict:
    return {"drift": drift(), "threads": threads(), "latency": latency(), "transient": transient(), "pauses": pauses()}
