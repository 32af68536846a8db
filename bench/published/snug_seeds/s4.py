"""S4: bulk_alloc: five loads with batches off and on, against malloc."""

from pathlib import Path
from typing import Any

from snug_bench.contender import Contender
from snug_bench.problem import Problem

from snug_seeds.bench import Bench, sample
from snug_seeds.plot import draw_batches
from snug_seeds.published import PUBLISHED
from snug_seeds.section import Section, Table, Verdict, judge, not_worse, quotient, spread

PROGRAM = "workloads/seed_s4"
RULES = {"first": "written in the first round only, as bulk_alloc's own program did",
         "every": "written in every round, as its table says"}
ROWS = tuple(PUBLISHED["s4"])
BOUND = 16  # blocks of each class
BOUNDED = f"3,4,7,18,{BOUND},20,{BOUND}"  # the default map otherwise
SETTINGS = {"off": "batch:one", "on": "", "off, bounded": "batch:one,classes:{bounded}", "on, bounded": "classes:{bounded}"}
RAISED = "glibc, trim threshold raised"
TUNABLE = "glibc.malloc.trim_threshold=1073741824"
GAIN = 1.3


def trips(statistics: dict[str, int]) -> float:
    """Refills and flushes for 10⁶ allocations and frees."""
    operations = 2 * statistics["allocations"] - statistics["blocks_in_use"]
    return 1e6 * (statistics["refills"] + statistics["flushes"]) / operations


def with_trips(figures: dict[str, float], reports: list[dict[str, int]]) -> dict[str, float]:
    """Each row is a child process that ends before the next one begins; the last report is the program's own."""
    loads = [name for name in figures if not name.endswith("/rss")]
    if len(reports) != len(loads) + 1:
        raise Problem(f"{PROGRAM}: {len(reports)} processes reported instead of {len(loads) + 1}: build again", 1)
    return figures | {f"trips/{name}": trips(report) for name, report in zip(loads, reports, strict=False)}


def measure(bench: Bench) -> dict[str, Any]:
    with bench.map_file(BOUNDED) as bounded:
        def ours(settings: str):
            configuration = settings.format(bounded=bounded)
            return lambda seed: with_trips(*bench.reported(PROGRAM, "--seed", str(seed), configuration=configuration))

        def peer(allocator: Contender, *words: str, **environment: str):
            return lambda seed: bench.figures(PROGRAM, *words, "--seed", str(seed), on=allocator, **environment)

        cells = {name: ours(settings) for name, settings in SETTINGS.items()}
        cells |= {each.name: peer(each) for each in bench.peers}
        glibc = next(each for each in bench.peers if each.name == "glibc")
        cells[RAISED] = peer(glibc, "--only", "*/FIX_M+FULL", GLIBC_TUNABLES=TUNABLE)
        return {"runs": bench.interleaved("S4", cells)}


def section(data: dict[str, Any], folder: Path) -> Section:
    published = PUBLISHED["s4"]
    peers = [name for name in data["runs"] if name not in SETTINGS and name != RAISED]
    section = Section("S4", "bulk_alloc: batches off and on")
    for rule, meaning in RULES.items():
        columns = ["load", "published: malloc", "off", "on", *(f"snug {name}" for name in SETTINGS), *peers]
        rows = [[load, published_malloc(published[load]), f"{1e3 * published[load]['off']:.1f}",
                 f"{1e3 * published[load]['on']:.1f}",
                 *(f"{sample(data, name, f'{rule}/{load}').median:.1f}" for name in [*SETTINGS, *peers])]
                for load in ROWS]
        section.tables.append(Table(f"ms, median of runs; blocks {meaning}", columns, rows))
    section.tables.append(Table("Central trips (refills and flushes) for 10⁶ allocations and frees", [
        "load, written in the first round", *(f"snug {name}" for name in SETTINGS)], [
        [load, *(f"{sample(data, name, f'trips/first/{load}').median:.0f}" for name in SETTINGS)] for load in ROWS]))
    for rule in RULES:
        for size, suffix in (("the default", ""), (f"{BOUND} of each class", ", bounded")):
            section.verdicts += [
                judge(f"{rule}/{load}, capacity {size}: off takes {GAIN} times as long as on, or more",
                      quotient(*(sample(data, batches + suffix, f"{rule}/{load}") for batches in ("off", "on"))),
                      least=GAIN) for load in ROWS[1:]]
        section.verdicts += [against_best(data, rule, load, peers) for load in ROWS]
    slowed = quotient(sample(data, "glibc", "first/FIX_M+FULL"), sample(data, RAISED, "first/FIX_M+FULL"))
    section.verdicts.append(judge(
        "glibc's slow FIX_M is trimming: with the threshold raised it is twice as fast or more", slowed, least=2))
    section.remarks = [
        "bulk_alloc's cache bounds the list of each class, and its text does not say how: off and on are "
        f"shown at snug's default capacity and with at most {BOUND} blocks of each class cached (snug classes {BOUNDED}). "
        "Off is the same library and capacity with batches of one (SNUG_CONF=batch:one).",
        "The 99.85% in futex is no cost of malloc: strace without -f sees the main thread only, and that waits for its "
        "one thread to end (2 calls, 1.107 s of 1.109 s).",
        "glibc's slow FIX_M: each round frees more at the arena's top than the trim threshold allows to stay, so that the "
        f"top goes to the OS and faults in again. With {TUNABLE}: "
        f"{sample(data, RAISED, 'first/FIX_M+FULL').median:.1f} ms instead of "
        f"{sample(data, 'glibc', 'first/FIX_M+FULL').median:.1f} ms, {spread(slowed)} times as fast.",
        "The RAN loads leak what they do not free, as those of bulk_alloc do: they measure fresh memory."]
    bars = {load: {name: 1e3 * published[load].get("malloc_off" if name == "malloc" else name, 0)
                   for name in ("malloc", "off", "on")} for load in ROWS}
    here = {load: {name: sample(data, "glibc" if name == "malloc" else name, f"first/{load}").median
                   for name in ("malloc", "off", "on", "off, bounded", "on, bounded")} for load in ROWS}
    section.plots = draw_batches(folder, {"published": bars, "here": here})
    return section


def published_malloc(row: dict[str, float]) -> str:
    return " / ".join(f"{1e3 * row[key]:.1f}" if key in row else "–" for key in ("malloc_off", "malloc_on"))


def against_best(data: dict[str, Any], rule: str, load: str, peers: list[str]) -> Verdict:
    ours = sample(data, "on", f"{rule}/{load}")
    best = min(peers, key=lambda name: sample(data, name, f"{rule}/{load}").median)
    theirs = sample(data, best, f"{rule}/{load}")
    return Verdict(f"{rule}/{load}: snug is better than the best peer, or equal", not_worse(ours, theirs),
                   f"{ours.median:.1f} ms against {theirs.median:.1f} of {best}, {len(ours.values)} runs")
