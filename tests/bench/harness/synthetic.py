"""Results that were never measured: the tests plant what a verdict must find in them."""

import random

from snug_bench.measurement import Figure, Measurement
from snug_bench.results import Results

HOST = {"date": "2026-01-01T00:00:00Z", "cpu": "a CPU", "cpus": 2, "kernel": "Linux", "transparent_huge_pages": "madvise",
        "libc": "glibc", "compiler": "g++", "commit": "0", "load_average": "0"}


def load(name, kind="synthetic", figures=("*",), settles=False):
    return {"name": name, "title": name, "kind": kind, "stresses": "nothing", "resembles": "", "figures": list(figures),
            "settles": settles}


def allocator(name):
    family = "snug" if name.startswith("snug") else name
    return {"name": name, "title": name, "family": family, "version": "1", "library": "", "environment": {}}


def run(name, repetition, time, memory, on="load", threads=1, objection="", figures=None, ending="exited"):
    """`time` in ns an operation."""
    cost = {"wall_seconds": time / 1e9, "user_seconds": 0.0, "system_seconds": 0.0, "peak_rss_bytes": float(memory),
            "minor_faults": 1.0, "major_faults": 0.0, "voluntary_switches": 0.0, "involuntary_switches": 0.0,
            "instructions": None, "last_rss_bytes": float(memory)}
    figures = {"op": Figure(time, "ns")} if figures is None else figures
    return Measurement(on, threads, name, repetition, "id", ending, objection, cost, figures if not objection else {},
                       ((0.0, 1.0), (0.1, 2.0), (0.2, float(memory))), "1", "1 of 1 programs", 0.0)


def results(runs, loads=None, **grid):
    names = list(dict.fromkeys(each.allocator for each in runs))
    loads = loads or [load(name) for name in dict.fromkeys(each.load for each in runs)]
    plan = {"name": "planted", "threads": [1], "repetitions": 6, "seed": 1, "shrink": 1.0, **grid}
    return Results(dict(HOST), plan, loads, [allocator(name) for name in names], [], runs)


def series(name, time, memory, count=6, noise=0.01, seed=1, **more):
    """`count` runs around the two medians."""
    source = random.Random(f"{name}/{seed}")
    return [run(name, repetition, time * source.uniform(1 - noise, 1 + noise),
                memory * source.uniform(1 - noise / 10, 1 + noise / 10), **more) for repetition in range(1, count + 1)]
