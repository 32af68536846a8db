"""The loads of the matrix: which workload runs with which options, and which of its figures are judged.

A run takes a second or less on most allocators, or seven of them in six rounds would take too long. So fewer inner
rounds and operations are asked for than a workload does by itself, as the rounds of the comparison give the median;
sizes, numbers of live blocks and threads are the workload's own, since another one would be another load.
"""

from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path


@dataclass(frozen=True)
class Load:
    """One program of bench/workloads with its options. Only the figures judged are measured at all."""

    name: str
    program: str
    figures: tuple[str, ...]  # patterns of their names
    size: int = 0  # 0: the program's own set
    rounds: int = 1  # inside one run
    scale: float = 1.0  # of the number of operations

    def command(self, workloads: Path, shrink: float = 1.0) -> list[str]:
        """The command line, with `shrink` of the operations."""
        size = ["--size", str(self.size)] if self.size else []
        return [str(workloads / self.program), *size, "--rounds", str(self.rounds),
                "--scale", f"{self.scale * shrink:g}", "--only", ",".join(self.figures)]


LATENCIES = ("malloc/p50", "malloc/p99", "malloc/p99.9", "free/p50", "free/p99", "free/p99.9")

LOADS = (
    Load("batches_64", "batches", ("*/1000",), size=64, rounds=5, scale=2),
    Load("batches_4000", "batches", ("*/1000",), size=4000, rounds=3, scale=0.1),
    Load("lifetimes", "lifetimes", ("*",)),
    Load("churn", "churn", ("1000", "20000"), rounds=3),
    Load("producer_consumer", "producer_consumer", ("*",), scale=0.5),
    Load("swap", "swap", ("*",), rounds=5),
    Load("server", "server", ("replacements",), rounds=7),
    Load("many_sizes", "many_sizes", ("replacements",), rounds=3),
    Load("fresh_fill", "fresh_fill", ("ns/*",)),
    Load("large_cycles", "large_cycles", ("*/1", "8192K/3"), rounds=2),
    Load("growing_realloc", "growing_realloc", ("*/alone", "*/neighbours")),
    Load("fragmentation", "fragmentation", ("trimmed/rss", "refilled/rss")),
    Load("latency", "latency", LATENCIES),
    Load("calloc_large", "calloc_large", ("*",), rounds=3),
    Load("burst", "burst", ("first", "repeat", "freed", "trimmed"), rounds=2),
    Load("cold_start", "cold_start", ("*",)),
    Load("seed_s0", "seed_s0", ("pair",), rounds=10),
    Load("seed_s3", "seed_s3", ("N=1000", "N=1000000"), rounds=5),
    Load("seed_s4_first", "seed_s4", ("first/*+FULL", "first/*+RAN")),
    Load("seed_s4_every", "seed_s4", ("every/*+FULL", "every/*+RAN")),
    Load("symbolic", "symbolic", ("*",), scale=0.5),
    Load("lisp", "lisp", ("cells",)),
    Load("tree_building", "tree_building", ("depth/*",), scale=0.3),
    Load("batch_lifetimes", "batch_lifetimes", ("private", "crossed"), scale=0.5),
    Load("asymmetric", "asymmetric", ("*/64", "*/mixed"), scale=0.2),
    Load("thread_churn", "thread_churn", ("lives", "rss"), scale=0.5),
    Load("false_sharing", "false_sharing", ("active/*", "passive/*")),
    Load("leak", "leak", ("steps", "rss")),
    Load("size_drift", "size_drift", ("steps", "rss/top", "rss/end")),
)


def loads_matching(patterns: str) -> list[Load]:
    """The loads whose name matches one of the patterns, which commas separate."""
    return [load for load in LOADS if any(fnmatchcase(load.name, pattern) for pattern in patterns.split(","))]
