"""What an allocation trace is made of, and whether it is like what was published of Hummingbird's. Knows nothing of how
`snug trace synth hummingbird` makes one."""

import gzip
import math
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from snug_bench.problem import Problem

from snug_seeds.section import Verdict, fact


@dataclass(frozen=True)
class TraceProfile:
    sizes: Counter[int]  # allocations of each size
    allocations: int
    frees: int
    live: int  # bytes at the end
    most_live: int

    @property
    def bytes(self) -> int:
        return sum(size * count for size, count in self.sizes.items())

    def share_of_bytes(self, size: int) -> float:
        return size * self.sizes[size] / self.bytes

    def below(self, limit: int) -> dict[int, int]:
        return {size: count for size, count in self.sizes.items() if size < limit}

    def exponent(self, low: int, high: int) -> float:
        """Of the frequencies of the sizes in (low, high) against their rank, the shortest being the first: the slope of
        the least squares in logarithmic scale, over doublings of the rank, so that sizes which are rare count together."""
        points, rank = [], 1
        while low + 2 * rank <= high:
            count = sum(self.sizes[size] for size in range(low + rank, low + 2 * rank))
            if count:
                points.append((math.log(rank * 1.5), math.log(count / rank)))
            rank *= 2
        if len(points) < 3:
            return math.nan
        x, y = (sum(axis) / len(points) for axis in zip(*points, strict=True))
        return -sum((a - x) * (b - y) for a, b in points) / sum((a - x) ** 2 for a, b in points)


def read_profile(trace: Path) -> TraceProfile:
    sizes: Counter[int] = Counter()
    blocks: dict[bytes, int] = {}
    live = most = frees = number = 0
    try:
        with gzip.open(trace, "rb") if trace.suffix == ".gz" else trace.open("rb") as lines:
            for number, line in enumerate(lines, 1):
                if line.startswith(b"#"):
                    continue
                kind, *fields = line.split()
                if kind != b"a":
                    frees += 1
                    live -= blocks.pop(fields[0])
                if kind != b"f":
                    blocks[fields[-2]] = size = int(fields[-1])
                    sizes[size] += 1
                    live += size
                    most = max(most, live)
    except (OSError, EOFError) as error:
        raise Problem(f"cannot read {trace}: {error}") from None
    except (KeyError, ValueError, IndexError):
        raise Problem(f"{trace}:{number}: no event of a trace") from None
    return TraceProfile(sizes, sum(sizes.values()), frees, live, most)


def profile_verdicts(found: TraceProfile, published: dict[str, Any], live_scale: float = 1) -> list[Verdict]:
    """`live_scale`: of a trace with smaller caches than the published ones."""
    small, near = found.below(published["metadata"]), published["near"]
    largest, cluster = max(found.sizes), published["cluster"]
    live, table = published["live"] * live_scale, published["largest"] * live_scale
    exponent = found.exponent(published["metadata"], cluster)
    kept = 1 - found.frees / found.allocations
    return [
        fact(f"Hummingbird: {live / 1e6:.1f} MB live at the end", abs(found.live / live - 1) <= near, f"{found.live / 1e6:.1f} MB"),
        fact(f"Hummingbird: the largest block has {table / 1e6:.1f} MB", abs(largest / table - 1) <= near,
             f"{largest / 1e6:.1f} MB"),
        fact(f"Hummingbird: below {published['metadata']} bytes a few fixed sizes, with most of the allocations",
             0 < len(small) <= published["metadata_sizes"] and 2 * sum(small.values()) > found.allocations,
             f"{len(small)} sizes, {sum(small.values()) / found.allocations:.1%} of the allocations"),
        fact(f"Hummingbird: clusters of {cluster} bytes are more than half of all bytes allocated",
             found.share_of_bytes(cluster) > published["cluster_share"], f"{found.share_of_bytes(cluster):.1%}"),
        fact(f"Hummingbird: the other sizes are Zipf's, exponent {published['exponent']:g} ± {published['exponent_near']:g}, and "
             "the cluster is more frequent than a straight line has it",
             abs(exponent - published["exponent"]) <= published["exponent_near"] and
             found.sizes[cluster] > 10 * found.sizes[cluster - 1], f"exponent {exponent:.2f}, {found.sizes[cluster]} clusters"),
        fact(f"Hummingbird: {published['kept']:.0%} of the blocks or more stay until the end", kept >= published["kept"],
             f"{kept:.1%}")]
