"""S1: DenseSizeClassMap: its table, and a server on it against the map that it replaced and snug's default."""

import json
import tempfile
from pathlib import Path
from typing import Any

from snug_bench.statistics import Sample

from snug_seeds.bench import Bench, named
from snug_seeds.published import PUBLISHED
from snug_seeds.section import Section, Table, fact, judge, quotient, spread

BEFORE = "3,4,8,17,128,16"
PEERS = ("glibc", "mimalloc", "jemalloc")
LOADS = ("short", "long")
FIGURES = {"requests": "k/s", "peak_rss": "KiB"}


def measure(bench: Bench) -> dict[str, Any]:
    plain = bench.run("snug", "classes", "dense", "--compat")
    table = json.loads(bench.run("snug", "classes", "dense", "--json"))
    with tempfile.TemporaryDirectory() as folder:
        before = Path(folder) / "before.map"
        bench.run("snug", "classes", BEFORE, "-o", str(before))
        maps = {f"before ({BEFORE})": str(before), "dense": "dense", "default": "default"}

        def on_map(classes: str):
            settings = f"classes:{classes}"
            return lambda seed: bench.reported("seeds/s1_server", "--seed", str(seed), configuration=settings)[0]

        def on_peer(peer):
            return lambda seed: bench.figures("seeds/s1_server", "--seed", str(seed), on=peer)

        cells = {name: on_map(classes) for name, classes in maps.items()}
        cells |= {peer.name: on_peer(peer) for peer in named(bench.peers, PEERS)}
        runs = bench.interleaved("S1", cells)
    plots = ("dense", "default")
    for name in plots:
        bench.run("snug", "classes", name, "--plot", str(bench.folder / f"s1_{name}.svg"))
    return {"compat": plain, "table": table, "runs": runs, "maps": list(maps), "plots": list(plots)}


def sample(data: dict[str, Any], name: str, figure: str) -> Sample:
    return Sample(tuple(run[figure] for run in data["runs"][name]))


def total_cached(compat: str) -> int:
    return int(compat.rpartition("Total cached: ")[2].split()[0])


def section(data: dict[str, Any], folder: Path) -> Section:
    published, before = PUBLISHED["s1"], data["maps"][0]
    section = Section("S1", "DenseSizeClassMap")
    lines = [line for line in data["compat"].splitlines() if "=> s:" in line]
    section.tables.append(Table("The document's lines, regenerated (ids as the document prints them)", ["row"],
                                [[line.strip()] for line in lines]))
    rows = []
    for load in LOADS:
        for name in data["runs"]:
            row = [load, name]
            for figure, unit in FIGURES.items():
                values = sample(data, name, f"{figure}/{load}")
                row.append(f"{values.median:.1f} {unit}")
                change = changes(values, sample(data, before, f"{figure}/{load}"))
                row.append("–" if name == before else spread(change, "+.1f"))
            rows.append(row)
    section.tables.append(Table("A server of 32 threads (document: +3% requests, −10% peak RSS)", [
        "load", "map or malloc", "requests", "% more than before", "peak RSS", "% more than before"], rows))
    total = total_cached(data["compat"])
    section.verdicts = [fact(f"{published['total_cached']} bytes cached at most", total == published["total_cached"],
                             str(total))]
    for load in LOADS:
        # The document compares with the map before Dense only; beside snug's default it should not be worse.
        for other, more, less in ((before, published["requests"], published["peak_rss"]), ("default", 0, 0)):
            base = {figure: sample(data, other, f"{figure}/{load}") for figure in FIGURES}
            dense = {figure: sample(data, "dense", f"{figure}/{load}") for figure in FIGURES}
            section.verdicts += [
                judge(f"{load}: Dense serves at least {more:g}% more than {other}",
                      changes(dense["requests"], base["requests"]), least=more, form="+.1f"),
                judge(f"{load}: Dense's peak RSS is at least {-less:g}% below {other}",
                      changes(dense["peak_rss"], base["peak_rss"]), most=less, form="+.1f")]
    section.plots = [folder / f"s1_{name}.svg" for name in data["plots"]]
    return section


def changes(values: Sample, base: Sample) -> Sample:
    """In percent, run by run."""
    return Sample(tuple(100 * (each - 1) for each in quotient(values, base).values))
