"""What S2 claims, and what is asked of the compacting heap, judged by the runs."""

from itertools import pairwise
from typing import Any

from snug_bench.statistics import Sample

from snug_seeds.published import PUBLISHED
from snug_seeds.s2_runs import BY_KAPPA, RLSF, TRACES, figure, had
from snug_seeds.section import FAILS, HOLDS, OPEN, Verdict, fact, judge, quotient, spread, too_few

REFERENCE = "TLSF/16"
REFERENCES = {REFERENCE: "TLSF's", RLSF: "rlsf's"}
OURS = "CF16/direct"
MOST_MEMORY = {"emacs": 1.35, "hummingbird": 1.20}  # of TLSF's, as published: 1.346 and 1.204
FREE_WITH_MOVES = 3
FULL_COMPACTION = 2


def verdicts(data: dict[str, Any]) -> list[Verdict]:
    found = [Verdict(**each) for each in data["profile"]]
    for trace in TRACES:
        found += memory_verdicts(data, trace) + time_verdicts(data, trace) + kappa_verdicts(data, trace)
    return found


def memory_of(data: dict[str, Any], trace: str, heap: str, name: str = "peak") -> float:
    return data["memory"][f"{trace}/{heap}/{name}"]


def references(data: dict[str, Any]) -> dict[str, str]:
    return {heap: REFERENCES[heap] for heap in had(data["memory"], tuple(REFERENCES))}


def memory_verdicts(data: dict[str, Any], trace: str) -> list[Verdict]:
    tlsf, most = memory_of(data, trace, REFERENCE), MOST_MEMORY[trace]
    found = []
    for reference, its in references(data).items():
        for heap in (OURS, "CF16/1"):
            ratio = memory_of(data, trace, heap) / memory_of(data, trace, reference)
            what = "non-compacting CF" if heap == OURS else "CF with handles and kappa = 1"
            found.append(fact(f"{trace}: {what} takes at most {most:g} times {its} memory", ratio <= most, f"{ratio:.3f}"))
    more, lost = memory_of(data, trace, OURS) - tlsf, memory_of(data, trace, OURS, "not_full")
    found.append(fact(f"{trace}: partitioning dominates: of what CF takes beyond TLSF less than half is size-class fragmentation",
                      more <= 0 or lost < more / 2,
                      f"{lost / 1e6:.2f} of {more / 1e6:.2f} MB" if more > 0 else f"CF takes {-more / 1e6:.2f} MB less"))
    share = lost / memory_of(data, trace, OURS)
    bound = PUBLISHED["s2"][trace]["cf16"]["fragmentation"] / PUBLISHED["s2"][trace]["cf16"]["memory"]
    found.append(fact(f"{trace}: size-class fragmentation is at most {bound:.1%} of CF's memory", share <= bound, f"{share:.2%}"))
    return found


def time_verdicts(data: dict[str, Any], trace: str) -> list[Verdict]:
    found = []
    for reference, its in references(data).items():
        for operation in ("malloc", "free"):
            published = PUBLISHED["s2"][trace][operation]
            bound = published["cf"][0] / published["tlsf"][0]
            found.append(judge(f"{trace}: CF is only slightly slower: {operation} takes at most {bound:.2f} times {its}",
                               of_ticks(data, trace, OURS, reference, f"{operation}_average"), most=bound))
        found.append(judge(f"{trace}: free that compacts (kappa = 1) takes at most {FREE_WITH_MOVES} times {its}",
                           of_ticks(data, trace, "CF16/1", reference, "free_average"), most=FREE_WITH_MOVES))
    maxima = [of_ticks(data, trace, OURS, REFERENCE, f"{operation}_max") for operation in ("malloc", "free")]
    found.append(any_of(f"{trace}: CF's maxima are sometimes lower than TLSF's", maxima, below=1))
    return found


def of_ticks(data: dict[str, Any], trace: str, heap: str, reference: str, name: str) -> Sample:
    return quotient(figure(data, trace, heap, name), figure(data, trace, reference, name))


def any_of(claim: str, ratios: list[Sample], below: float) -> Verdict:
    """Holds if one of them is surely below, fails if all are surely above."""
    told = ", ".join(spread(each) for each in ratios)
    if any(too_few(len(each.values)) for each in ratios):
        return Verdict(claim, OPEN, told)
    if any(each.interval.high < below for each in ratios):
        return Verdict(claim, HOLDS, told)
    return Verdict(claim, FAILS if all(each.interval.low > below for each in ratios) else OPEN, told)


def kappa_verdicts(data: dict[str, Any], trace: str) -> list[Verdict]:
    throughput = {heap: figure(data, trace, heap, "throughput") for heap in BY_KAPPA}
    full, *less = BY_KAPPA
    slowed = [quotient(throughput[full], throughput[heap]) for heap in less]
    lost = [memory_of(data, trace, heap, "most_not_full") for heap in BY_KAPPA]
    taken = [memory_of(data, trace, heap) for heap in BY_KAPPA]
    return [
        any_of(f"{trace}: less compaction may be faster: full compaction does less than some other kappa", slowed, below=1),
        judge(f"{trace}: full compaction costs at most {FULL_COMPACTION} times what none does",
              quotient(throughput[less[-1]], throughput[full]), most=FULL_COMPACTION),
        fact(f"{trace}: size-class fragmentation increases with less compaction", lost[-1] > lost[0] and
             all(a <= b for a, b in pairwise(lost)), ", ".join(f"{each / 1e6:.2f}" for each in lost) + " MB"),
        fact(f"{trace}: total memory may not: some step to less compaction takes no more", any(a >= b for a, b in pairwise(taken)),
             ", ".join(f"{each / 1e6:.2f}" for each in taken) + " MB")]
