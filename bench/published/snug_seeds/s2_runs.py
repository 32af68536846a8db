"""The runs of S2: traces replayed on the compacting heap, on cells in TLSF's bins, on rlsf's TLSF and on mallocs."""

from pathlib import Path
from typing import Any

from snug_bench.contender import Contender
from snug_bench.statistics import Sample

from snug_seeds.bench import TLSF, Bench, called_directly, named, sample
from snug_seeds.published import PUBLISHED
from snug_seeds.trace_profile import profile_verdicts, read_profile
from snug_seeds.traces import lines_of

ROOT = Path(__file__).resolve().parents[3]
TRACES = ("emacs", "hummingbird")
PROGRAM = "seeds/s2_traces"
PEERS = ("glibc", "mimalloc", "jemalloc", TLSF)
KAPPAS = ("1", "2", "4", "8", "16", "64", "inf")
BY_KAPPA = tuple(f"CF16/{kappa}" for kappa in KAPPAS)
RLSF = "rlsf"
TIMED = ("TLSF/8", "TLSF/16", RLSF, "cells", "CF16/1", "CF16/inf", "CF16/direct", "CF32/1", "CF32/direct")
IN_POOLS = ("TLSF/8", "TLSF/16", RLSF)
MEMORY = ("peak", "end", "requested", "requested_at_end", "not_full", "not_full_at_end", "most_not_full", "rounding",
          "tails", "spare", "handles", "records", "resident", "moves")
TICKS = ("malloc_average", "malloc_max", "free_average", "free_max")


def traces(bench: Bench) -> dict[str, Path]:
    return {name: lines_of(name, ROOT / "build" / "traces", bench.build, bench.tell) for name in TRACES}


def measure(bench: Bench) -> dict[str, Any]:
    files = traces(bench)
    bench.tell("S2: the profile of the synthesised trace")
    profile = [vars(each) for each in profile_verdicts(read_profile(files["hummingbird"]), PUBLISHED["s2"]["profile"])]
    scale = {"scale": bench.effort.scale}
    bench.tell("S2: memory on both traces")
    memory: dict[str, float] = {}
    for file in files.values():
        memory |= bench.figures(PROGRAM, "--only", ",".join(f"*/{name}" for name in MEMORY), str(file),
                                **called_directly(bench.contenders))
    mallocs = named(bench.contenders, ("snug", *PEERS))
    for trace, file in files.items():
        for each in mallocs:
            bench.tell(f"S2: memory of {trace} on malloc of {each.name}")
            found = bench.figures(PROGRAM, "--only", f"{trace}/malloc/peak,{trace}/malloc/end", str(file), on=each)
            memory |= {name.replace("/malloc/", f"/malloc of {each.name}/"): value for name, value in found.items()}
    cells = {}
    for trace, file in files.items():
        cells[trace] = replays(bench, trace, file, memory)
        cells |= {f"{trace}, malloc of {each.name}": malloc_replays(bench, trace, file, each) for each in mallocs}
    return {"profile": profile, "memory": memory, "runs": bench.interleaved("S2", cells)} | scale


def had(memory: dict[str, float], heaps: tuple[str, ...]) -> tuple[str, ...]:
    """The heaps of which memory was measured: rlsf is not to be had everywhere."""
    return tuple(heap for heap in heaps if f"{TRACES[0]}/{heap}/peak" in memory)


def replays(bench: Bench, trace: str, file: Path, memory: dict[str, float]):
    """Of all heaps that are called directly, in one process a round: they take turns there."""
    timed = had(memory, TIMED)
    only = [f"{trace}/{heap}/{name}" for heap in timed for name in TICKS]
    only += [f"{trace}/{heap}/throughput" for heap in dict.fromkeys([*timed, *BY_KAPPA])]
    pools = [word for heap in had(memory, IN_POOLS) for word in ("--pool", f"{heap}={memory[f'{trace}/{heap}/peak']:.0f}")]
    return lambda seed: bench.figures(PROGRAM, "--seed", str(seed), "--only", ",".join(only), *pools, str(file),
                                      **called_directly(bench.contenders))


def malloc_replays(bench: Bench, trace: str, file: Path, contender: Contender):
    only = ",".join(f"{trace}/malloc/{name}" for name in (*TICKS, "throughput"))
    return lambda seed: bench.figures(PROGRAM, "--seed", str(seed), "--only", only, str(file), on=contender)


def figure(data: dict[str, Any], trace: str, heap: str, name: str) -> Sample:
    """Of each run."""
    cell = f"{trace}, {heap}" if heap.startswith("malloc of ") else trace
    return sample(data, cell, f"{trace}/{heap.partition(' of ')[0]}/{name}")


def heaps_of(data: dict[str, Any], trace: str) -> list[str]:
    return [*had(data["memory"], TIMED), *(cell.partition(", ")[2] for cell in data["runs"] if cell.startswith(f"{trace}, "))]
