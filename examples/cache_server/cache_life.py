"""A cache's life: filled, 70% of it deleted at random, filled again with values of other sizes; its memory all the while.

The client keeps to a timetable, so that servers of any speed can be drawn over one another: of a phase so much is done
as its time has passed. Where a server is slower than that, its samples stand where they would have been in time.
"""

import itertools
import random
import time
from dataclasses import dataclass, field

FIRST_SIZES, LATER_SIZES = (64, 512), (512, 4096)  # of values, in bytes
DELETED = 0.7
BATCH = 100  # commands at once
SAMPLES = 40  # a phase


@dataclass(frozen=True)
class Plan:
    bytes_stored: int  # of keys and values, when it is full
    busy: float  # seconds of each of the three busy phases
    idle: float  # seconds after each of them
    seed: int = 1

    def phases(self):
        """What happens, and from when to when."""
        start, found = 0.0, []
        for name in ("fill", "delete 70%", "other sizes"):
            found += [(name, start, start + self.busy), ("", start + self.busy, start + self.busy + self.idle)]
            start += self.busy + self.idle
        return found


@dataclass
class Life:
    seconds: list[float] = field(default_factory=list)
    stored: list[int] = field(default_factory=list)
    resident: list[int] = field(default_factory=list)

    def at(self, moment):
        """What is stored and what is resident at the last sample until then."""
        index = max(i for i, second in enumerate(self.seconds) if second <= moment + 1e-9)
        return self.stored[index], self.resident[index]


class Cache:
    """What a client knows of what it has stored."""

    def __init__(self, plan):
        self.plan = plan
        self.random = random.Random(plan.seed)
        self.sizes = {}
        self.stored = 0
        self.made = 0

    def fill(self, sizes):
        """Until so much is stored as the plan says."""
        while self.stored < self.plan.bytes_stored:
            key, size = f"key:{self.made:08d}", self.random.randint(*sizes)
            self.made += 1
            self.sizes[key] = size
            self.stored += len(key) + size
            yield "SET", key, "v" * size

    def delete(self):
        for key in self.random.sample(list(self.sizes), int(len(self.sizes) * DELETED)):
            self.stored -= len(key) + self.sizes.pop(key)
            yield "DEL", key


def live(server, client, plan):
    """The server's life, as the plan says."""
    cache, life = Cache(plan), Life()
    work = {"fill": (lambda: cache.fill(FIRST_SIZES), plan.bytes_stored),
            "delete 70%": (cache.delete, plan.bytes_stored * (1 - DELETED)),
            "other sizes": (lambda: cache.fill(LATER_SIZES), plan.bytes_stored)}

    def sample(second):
        life.seconds.append(second)
        life.stored.append(cache.stored)
        life.resident.append(server.memory())

    sample(0)
    for name, begin, end in plan.phases():
        if name in work:
            make, aim = work[name]
            for share in run_paced(client, make(), cache, aim, end - begin):
                sample(begin + (end - begin) * share)
        else:
            for step in range(1, SAMPLES + 1):
                time.sleep((end - begin) / SAMPLES)
                sample(begin + (end - begin) * step / SAMPLES)
    if int(client.call("DBSIZE")) != len(cache.sizes):
        raise RuntimeError("the server does not hold what it was given")
    return life


def run_paced(client, commands, cache, aim, seconds):
    """Yields, at each sample's time, what share is done: by the bytes that are stored, which `aim` says of the end."""
    start, first, sampled = time.monotonic(), cache.stored, 0
    while batch := list(itertools.islice(commands, BATCH)):
        client.run(batch)
        share = min(1.0, (cache.stored - first) / (aim - first))
        time.sleep(max(0.0, start + share * seconds - time.monotonic()))
        if share * SAMPLES >= sampled + 1 and share < 1:
            sampled = int(share * SAMPLES)
            yield share
    yield 1.0
