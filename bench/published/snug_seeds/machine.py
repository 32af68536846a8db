"""The machine's cores, and what they leave open: threads that take turns on a core show nothing of locks."""

import os

from snug_seeds.section import OPEN, Verdict


def cores() -> int:
    """That this process may use."""
    return len(os.sched_getaffinity(0))


def on_cores(count: int, threads: int, verdicts: list[Verdict]) -> list[Verdict]:
    """As they are, if each thread has a core; else unclear."""
    if threads <= count:
        return verdicts
    why = f"; there are {count} cores" if count != 1 else "; there is one core"
    return [Verdict(each.claim, OPEN, each.figures + why) for each in verdicts]
