"""One life of a server: filled, 70% deleted, loaded as it is, then loaded while it defragments for as long as it does."""

import json
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from snug_defrag.server import Server
from snug_defrag.source import Contender
from snug_defrag.store import FIELDS, HASH_EACH, Store, name_of

GOAL = 1.15  # RSS for each byte of used_memory
LOOK_SECONDS = 0.1  # between two looks at RSS
QUIET_SECONDS = 3  # without defragmentation, after which it is over: Redis thinks of it once a second
CHECKED = 2000  # values that are read at the end

# A figure's name and its unit, in the order of the table.
UNITS = {"RSS before": "B", "RSS after": "B", "used after": "B", "RSS/used before": "", "RSS/used after": "",
         "time to 1.15": "s", "blocks moved": "", "p99 without": "ns", "p99 with": "ns", "p99 with/without": "",
         "p99 due without": "ns", "p99 due with": "ns", "max without": "ns", "max with": "ns"}


class Broken(Exception):
    """A server that has lost something, or was not served as it should."""


@dataclass(frozen=True)
class Wish:
    keys: int
    rate: float  # requests a second, or 0 for one after the other
    settle: float  # seconds before the first look, in which an allocator gives back by itself what it will
    seconds: float  # of the load without defragmentation
    most: float  # seconds of the load with it, which ends sooner where Redis has found enough
    seed: int


class Load:
    """The other process, for the time of a `with`; then `found` is what it has said."""

    def __init__(self, program: Path, server: Server, store: Store, wish: Wish) -> None:
        self.process = subprocess.Popen([program, str(server.port), str(store.survivors), f"{wish.rate:g}", str(wish.seed)],
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.found: dict[str, list[int]] = {}

    def __enter__(self) -> "Load":
        return self

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        said, trouble = self.process.communicate()
        if self.process.returncode != 0:
            raise Broken(f"the load ended with {self.process.returncode}: {trouble.strip()}")
        self.found = json.loads(said)


def live(contender: Contender, load: Path, wish: Wish) -> dict[str, float | None]:
    """The figures, by UNITS's names; None for a goal that was not reached."""
    store = Store(wish.keys, wish.seed)
    with tempfile.TemporaryDirectory(prefix="snug-defrag-") as folder, Server(contender, Path(folder)) as server:
        prove_served(server, contender)
        server.client.run(store.fill())
        server.client.run(store.thin_out())
        time.sleep(wish.settle)
        before, used_before = server.rss(), used_memory(server)
        with Load(load, server, store, wish) as without:
            time.sleep(wish.seconds)
        server.defragment(True)
        start = time.monotonic()
        reached, begun = None, False
        with Load(load, server, store, wish) as during:
            for moment, running in looks(server, start, wish.most):
                if reached is None and server.rss() <= GOAL * used_memory(server):
                    reached = moment
                begun = begun or running
        if not begun:
            raise Broken("the server has not begun to defragment")
        after, used = server.rss(), used_memory(server)
        moved = int(server.info()["active_defrag_hits"])
        check_values(server, store)
        server.shut_down()
    figures = {"RSS before": before, "RSS after": after, "used after": used, "RSS/used before": before / used_before,
               "RSS/used after": after / used, "time to 1.15": reached, "blocks moved": moved}
    for word, each in (("without", without), ("with", during)):
        figures |= {f"p99 {word}": each.found["sent"][1], f"p99 due {word}": each.found["due"][1],
                    f"max {word}": each.found["sent"][3]}
    return figures | {"p99 with/without": figures["p99 with"] / figures["p99 without"]}


def looks(server: Server, start: float, most: float) -> Iterator[tuple[float, bool]]:
    """Seconds since the start, and whether Redis defragments, until it has left off for a while, or `most`
    seconds."""
    last = start
    while (now := time.monotonic()) - last < QUIET_SECONDS and now - start < most:
        running = server.info()["active_defrag_running"] != "0"
        if running:
            last = now
        yield now - start, running
        time.sleep(LOOK_SECONDS)


def used_memory(server: Server) -> int:
    return int(server.info()["used_memory"])


def prove_served(server: Server, contender: Contender) -> None:
    said = server.info()["mem_allocator"]
    maps = Path(f"/proc/{server.process.pid}/maps").read_text()
    if not said.startswith(contender.name + "-") or ("libsnug" in maps) != (contender.name == "snug"):
        raise Broken(f"{said} serves the server that {contender.name} should")


def check_values(server: Server, store: Store) -> None:
    """Some strings of each size, and hashes, as they were set."""
    if int(server.client.call("DBSIZE")) != store.survivors + -(-store.survivors // HASH_EACH):
        raise Broken("keys are missing")
    for number in range(0, store.survivors, max(1, store.survivors // CHECKED)):
        if not store.is_whole(number, server.client.call("GET", name_of(number))):
            raise Broken(f"{name_of(number)} is not what was set")
    for number in range(0, store.survivors, HASH_EACH * 10):
        if int(server.client.call("HLEN", f"hash:{number}")) != FIELDS:
            raise Broken(f"hash:{number} is not what was set")
