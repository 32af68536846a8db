"""Processor time: what all programs of the machine, the hypervisor and we ourselves took while a run lasted."""

import os
import resource
from dataclasses import dataclass
from pathlib import Path

STAT = Path("/proc/stat")
IDLE = (3, 4)  # of its fields: idle, and waiting for a disk
FIELDS = 8  # user to steal; what follows is contained in the first two


@dataclass(frozen=True)
class ProcessorTime:
    """In seconds of all processors together. Either since the machine or this program began, or of a run."""

    total: float
    taken: float  # by anybody, the hypervisor included
    own: float  # by this program and all that it waited for

    def since(self, before: "ProcessorTime") -> "ProcessorTime":
        return ProcessorTime(*(round(now - then, 3) for now, then in (
            (self.total, before.total), (self.taken, before.taken), (self.own, before.own))))


def processor_time() -> ProcessorTime:
    """All 0 where the machine does not tell."""
    try:
        with STAT.open(encoding="ascii", errors="replace") as lines:
            line = lines.readline()
    except OSError:
        line = ""
    ours = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    own = sum(usage.ru_utime + usage.ru_stime for usage in ours)
    total, taken = total_and_taken(line, os.sysconf("SC_CLK_TCK"))
    return ProcessorTime(total, taken, own)


def total_and_taken(line: str, ticks_a_second: int) -> tuple[float, float]:
    """Of the first line of /proc/stat: cpu user nice system idle iowait irq softirq steal …"""
    name, *words = line.split() or [""]
    if name != "cpu" or len(words) < FIELDS or not all(word.isdecimal() for word in words[:FIELDS]):
        return 0.0, 0.0
    ticks = [int(word) / ticks_a_second for word in words[:FIELDS]]
    return sum(ticks), sum(ticks) - sum(ticks[at] for at in IDLE)
