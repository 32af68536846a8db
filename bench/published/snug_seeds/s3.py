"""S3: Pool(3C++): a linked list of N nodes, built and deleted, with pools and with the mallocs of today."""

import re
from pathlib import Path
from typing import Any

from snug_bench.quantity import count_of
from snug_bench.statistics import Sample

from snug_seeds.bench import Bench, named
from snug_seeds.machine import cores, on_cores
from snug_seeds.plot import draw_lists
from snug_seeds.published import PUBLISHED
from snug_seeds.section import FAILS, HOLDS, OPEN, Section, Table, Verdict, judge, not_worse, quotient, spread, too_few

PEERS = ("glibc", "mimalloc", "jemalloc", "mimalloc3", "snmalloc")
OURS, GLIBC = "snug::Pool", "new on glibc"
POOL_PEERS = ("boost::pool", "boost::fast", "foonathan", "std::pmr unsync", "mi_heap")
SHARED_OURS = "snug::Pool cached"
SHARED = re.compile(r"(.+)/pools=(\d+)/threads=(\d+)")  # a maker that threads share


def measure(bench: Bench) -> dict[str, Any]:
    glibc, *others = named(bench.contenders, ("glibc",)) + named(bench.contenders, ("snug", *PEERS[1:]))

    def on(allocator, *words: str):
        return lambda seed: bench.figures("seeds/s3_list", *words, "--seed", str(seed), on=allocator)

    # The pools get their blocks from the C library's malloc, as a program without a preload does.
    cells = {"pools": on(glibc)}
    cells |= {each.name: on(each, "--only", "new/*") for each in others}
    return {"cores": cores(), "runs": bench.interleaved("S3", cells)}


def samples_of(data: dict[str, Any]) -> dict[str, dict[int, Sample]]:
    """{maker: {N: sample}}; the names of makers that threads share are as SHARED has them."""
    samples: dict[str, dict[int, Sample]] = {}
    for cell, runs in data["runs"].items():
        for figure in runs[0]:
            maker, _, nodes = figure.rpartition("/N=")
            if maker.partition("/")[0] == "new":
                maker = maker.replace("new", f"new on {'glibc' if cell == 'pools' else cell}", 1)
            samples.setdefault(maker, {})[int(nodes)] = Sample(tuple(run[figure] for run in runs))
    return samples


def section(data: dict[str, Any], folder: Path) -> Section:
    published, samples = PUBLISHED["s3"], samples_of(data)
    lengths = published["nodes"]
    gains = [quotient(samples[GLIBC][n], samples[OURS][n]) for n in lengths]
    section = Section("S3", "Pool(3C++): a list of N nodes built and deleted")
    machines = published["vax"], published["microvax"]
    rows = [[str(n), *(f"{machine[side][at]:g}" for machine in machines for side in ("with", "without")),
             *(f"{machine['without'][at] / machine['with'][at]:.2f}" for machine in machines),
             f"{samples[OURS][n].median * n / 1e6:.3g}", f"{samples[GLIBC][n].median * n / 1e6:.3g}", spread(gains[at])]
            for at, n in enumerate(lengths)]
    alone = {name: each for name, each in samples.items() if not SHARED.fullmatch(name)}
    shared = shared_of(samples)
    section.tables = [Table("ms for the list, and the gain by pools", [
        "N", "VAX 8550 with", "without", "MicroVAX with", "without", "gain, VAX", "gain, MicroVAX", "snug::Pool here",
        "new on glibc", "gain here"], rows)]
    lines = {f"{name}, {count_of(pools, 'pool')}, {threads} threads": each
             for (threads, pools), makers in shared.items() for name, each in makers.items()}
    for title, group in (("ns a node, one thread: median of runs", alone),
                         ("ns a node in each of the threads, which share pools or the malloc; with 4 pools each node is of 32, 48, "
                          "64 or 96 bytes, drawn at random: median of runs", lines)):
        section.tables.append(Table(title, ["", *(f"N = {n}" for n in lengths)], [
            [name, *(f"{each[n].median:.2f}" for n in lengths)] for name, each in group.items()]))
    least = round(min(a / b for a, b in zip(published["vax"]["without"], published["vax"]["with"], strict=True)), 2)
    section.verdicts = [judge(f"N = {n}: snug::Pool is {least} times as fast as glibc or more", gain, least=least)
                        for n, gain in zip(lengths, gains, strict=True)]
    section.verdicts.append(not_slower("snug::Pool is better than every pool peer, or equal", samples, OURS,
                                       [name for name in POOL_PEERS if name in samples]))
    for (threads, pools), makers in shared.items():
        section.verdicts += on_cores(data["cores"], threads, [not_slower(
            f"{count_of(pools, 'pool')}, {threads} threads: snug::Pool cached is better than every shared pool peer, or equal", makers,
            SHARED_OURS, [name for name in makers if "snug" not in name and not name.startswith("new")])])
    section.plots = draw_lists(folder, lengths, alone)
    return section


def shared_of(samples: dict[str, dict[int, Sample]]) -> dict[tuple[int, int], dict[str, dict[int, Sample]]]:
    """{(threads, pools): {maker: {N: sample}}}, ascending."""
    shared: dict[tuple[int, int], dict[str, dict[int, Sample]]] = {}
    for name, each in samples.items():
        if found := SHARED.fullmatch(name):
            shared.setdefault((int(found[3]), int(found[2])), {})[found[1]] = each
    return dict(sorted(shared.items()))


def not_slower(claim: str, samples: dict[str, dict[int, Sample]], ours: str, peers: list[str]) -> Verdict:
    if too_few(runs := min(len(each.values) for peer in [ours, *peers] for each in samples[peer].values())):
        return Verdict(claim, OPEN, f"{count_of(runs, 'run')} of each: too few")
    pairs = [(peer, n, not_worse(samples[ours][n], each)) for peer in peers for n, each in samples[peer].items()]
    outcome = next((each for each in (FAILS, OPEN) if any(found == each for _, _, found in pairs)), HOLDS)
    told = "; ".join(f"{peer} at N = {n}, {samples[peer][n].median:.2f} against {samples[ours][n].median:.2f} ns"
                     for peer, n, found in pairs if found == outcome != HOLDS)
    return Verdict(claim, outcome, told or f"against {', '.join(peers)}, at every N")
