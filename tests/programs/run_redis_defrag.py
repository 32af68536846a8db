"""run_redis_defrag.py: Debian's Redis source, patched for snug, built and defragmenting while it serves.

bench/defrag measures the same at length beside jemalloc. Here only what depends on no time: the patch is small and applies,
Redis moves blocks that snug names, its memory falls, and no value changes.
"""

import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench" / "defrag"))
from service import fail, libraries_from_arguments, skip
from snug_defrag.life import Broken, check_values, prove_served
from snug_defrag.server import Server
from snug_defrag.source import MOST_LINES, Unavailable, built, changed_lines, source
from snug_defrag.store import Store

KEYS = 60_000
PASSES = 6  # over all keys, after which it must have done what it can
FALLS_TO = 0.7


def defragment(server: Server, store: Store) -> None:
    """Until Redis finds little left to do, or has passed over all keys several times; it serves meanwhile."""
    server.defragment(True)
    begun = False
    while True:
        server.client.run(store.overwrite(20))
        info = server.info()
        running = info["active_defrag_running"] != "0"
        begun = begun or running
        looked_at = int(info["active_defrag_key_hits"]) + int(info["active_defrag_key_misses"])
        if begun and (not running or looked_at > PASSES * store.survivors):
            return


def main() -> None:
    build = Path(libraries_from_arguments().snug).resolve().parents[1]
    folder = build / "defrag"
    if changed_lines() > MOST_LINES:
        fail(f"the patch changes {changed_lines()} lines")
    try:
        source(folder)
    except Unavailable as reason:
        skip(str(reason))
    store = Store(KEYS, seed=1)
    with tempfile.TemporaryDirectory(prefix="snug-defrag-") as place:
        try:
            contender = built("snug", ROOT, build, folder)
        except Unavailable as reason:  # there is a source: then it must do
            fail(str(reason))
        with Server(contender, Path(place)) as server:
            prove_served(server, contender)
            server.client.run(store.fill())
            server.client.run(store.thin_out())
            server.client.call("MEMORY", "PURGE")
            before = server.rss()
            defragment(server, store)
            server.client.call("MEMORY", "PURGE")
            after, info = server.rss(), server.info()
            print(f"RSS {before >> 10} KiB, then {after >> 10} KiB; moved {info['active_defrag_hits']} blocks")
            if int(info["active_defrag_hits"]) == 0:
                fail("Redis has moved nothing")
            if after > FALLS_TO * before:
                fail("its memory has not fallen enough")
            if float(info["allocator_frag_ratio"]) < 1 or int(info["allocator_allocated"]) < int(info["used_memory"]):
                fail("snug's statistics do not agree with Redis's count")
            try:
                check_values(server, store)
            except Broken as what:
                fail(str(what))
            server.shut_down()


main()
