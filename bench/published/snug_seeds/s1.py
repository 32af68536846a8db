"""S1: DenseSizeClassMap: its table, and a server on it against the map that it replaced and snug's default."""

import json
from pathlib import Path
from typing import Any

from snug_bench.statistics import Sample

from snug_seeds.bench import Bench, named, sample
from snug_seeds.published import PUBLISHED
from snug_seeds.section import Plot, Section, Table, Verdict, fact, judge, not_worse, quotient, spread

BEFORE = "3,4,8,17,128,16"
PEERS = ("glibc", "mimalloc", "jemalloc")
DENSE = "3,4,8,17,8,10"
LOADS = ("short", "long")
FIGURES = {"requests": "k/s", "peak_rss": "KiB"}
# The lines with which Dense was proposed for Scudo, as they were printed there.
TEXT = Path(__file__).resolve().parents[3] / "tests" / "golden" / "dense_size_classes.txt"


def measure(bench: Bench) -> dict[str, Any]:
    plain = bench.run("snug", "classes", "dense", "--compat")
    tables = {name: json.loads(bench.run("snug", "classes", name, "--json")) for name in ("dense", BEFORE, "default")}
    with bench.map_file(BEFORE) as before:
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
    return {"compat": plain, "tables": tables, "runs": runs, "maps": list(maps), "plots": list(plots)}


def total_cached(compat: str) -> int:
    return int(compat.rpartition("Total cached: ")[2].split()[0])


def expected(parameters: str) -> tuple[list[tuple[int, int, int]], int]:
    """(size, cached, id) of each class, the batch class last, and the total, from Scudo's formulas."""
    bits, least_log, mid_log, most_log, most_cached, bytes_log = map(int, parameters.split(","))
    steps, mid = 1 << (bits - 1), 1 << (mid_log - least_log)
    sizes = [c << least_log for c in range(mid + 1)]
    for log in range(mid_log, most_log):
        sizes += [(1 << log) + (1 << log) // steps * step for step in range(1, steps + 1)]
    batch = 8 * most_cached  # a batch is an array of that many pointers
    rows = [(size, max(1, min(most_cached, (1 << bytes_log) // size)) if size else 0,
             next(c for c, each in enumerate(sizes) if each >= size)) for size in [*sizes, batch]]
    return rows, sum(size * cached for size, cached, _ in rows)


def wrong_rows(table: dict[str, Any], parameters: str) -> list[str]:
    """The classes of `snug classes --json` that are not as the formulas have them."""
    rows, total = expected(parameters)
    shown = [(row["size"], row["cached"], row["id"]) for row in [*table["classes"], table["batch_class"]]]
    wrong = [f"class {c}" for c, (row, right) in enumerate(zip(shown, rows, strict=False)) if row != right]
    wrong += [f"{len(shown)} classes instead of {len(rows)}"] * (len(shown) != len(rows))
    return wrong + [f"total {table['total']['bytes_cached']}"] * (table["total"]["bytes_cached"] != total)


def table_verdicts(data: dict[str, Any]) -> list[Verdict]:
    published, cache = PUBLISHED["s1"], data["tables"]["dense"]["thread_cache"]
    total, page = total_cached(data["compat"]), published["cache_page"]
    theirs, ours = TEXT.read_text().splitlines(), data["compat"].splitlines()
    same = sum(a == b for a, b in zip(theirs, ours, strict=False))
    wrong = {name: wrong_rows(data["tables"][map_name], name) for name, map_name in
             ((DENSE, "dense"), (BEFORE, BEFORE))}
    whole = cache["header_bytes"] + cache["array_bytes"]
    return [
        fact("snug classes dense --compat prints Scudo's published lines", theirs == ours, f"{same} of {len(theirs)} lines"),
        *(fact(f"{name}: size, cached and id of every row and the total follow from the parameters", not each,
               ", ".join(each) or f"{len(expected(name)[0])} rows") for name, each in wrong.items()),
        fact(f"{published['total_cached']} bytes cached at most", total == published["total_cached"], str(total)),
        fact(f"the whole header of a thread's cache takes at most {page} bytes", cache["header_bytes"] <= page,
             f"{cache['header_bytes']} bytes, whatever the map"),
        fact(f"header and arrays of Dense take at most {page} bytes with every class in use", whole <= page,
             f"{cache['header_bytes']} + {cache['array_bytes']} bytes")]


def section(data: dict[str, Any], folder: Path) -> Section:
    published, before = PUBLISHED["s1"], data["maps"][0]
    section = Section("S1", "Scudo's Dense size classes")
    lines = [line for line in data["compat"].splitlines() if "=> s:" in line]
    section.tables.append(Table("The lines published for Scudo's Dense size classes, regenerated (with the ids of that text)",
                                ["row"], [[line.strip()] for line in lines]))
    rows = []
    for load in LOADS:
        for name in data["runs"]:
            row = [f"{load}, {name}"]
            for figure, unit in FIGURES.items():
                values = sample(data, name, f"{figure}/{load}")
                row.append(f"{values.median:.1f} {unit}")
                change = changes(values, sample(data, before, f"{figure}/{load}"))
                row.append("–" if name == before else spread(change, "+.1f"))
            rows.append(row)
    section.tables.append(Table("A server of 32 threads (published: +3% requests, −10% peak RSS)", [
        "load, map or malloc", "requests", "% more than before", "peak RSS", "% more than before"], rows))
    section.tables.append(Table("What a thread's cache takes", [
        "map", "blocks at most", "bytes in blocks at most", "header, bytes", "arrays with every class in use, bytes"], [
        [name, *(str(table["total"][key]) for key in ("cached", "bytes_cached")),
         *(str(table["thread_cache"][key]) for key in ("header_bytes", "array_bytes"))]
        for name, table in data["tables"].items()]))
    section.verdicts = table_verdicts(data)
    for load in LOADS:
        # What was published compares with the map before Dense only; beside snug's default it should not be worse.
        more, less = published["requests"], published["peak_rss"]
        dense, base, default = ({figure: sample(data, name, f"{figure}/{load}") for figure in FIGURES}
                                for name in ("dense", before, "default"))
        section.verdicts += [
            judge(f"{load}: Dense serves at least {more:g}% more than {before}",
                  changes(dense["requests"], base["requests"]), least=more, form="+.1f"),
            judge(f"{load}: Dense's peak RSS is at least {-less:g}% below {before}",
                  changes(dense["peak_rss"], base["peak_rss"]), most=less, form="+.1f"),
            # A rate costs its reciprocal: the default's requests against Dense's.
            Verdict(f"{load}: Dense serves no less than default", not_worse(default["requests"], dense["requests"]),
                    spread(changes(dense["requests"], default["requests"]), "+.1f") + " %"),
            Verdict(f"{load}: Dense's peak RSS is not above default's", not_worse(dense["peak_rss"], default["peak_rss"]),
                    spread(changes(dense["peak_rss"], default["peak_rss"]), "+.1f") + " %")]
    section.plots = [Plot(f"S1: waste against size, and bytes cached of each class, of {name}", folder / f"s1_{name}.svg")
                     for name in data["plots"]]
    return section


def changes(values: Sample, base: Sample) -> Sample:
    """In percent, run by run."""
    return Sample(tuple(100 * (each - 1) for each in quotient(values, base).values))
