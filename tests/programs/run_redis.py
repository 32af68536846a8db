"""run_redis.py: a Redis server under redis-benchmark and a fixed script; replies and the digest of all data equal.

The benchmark's keys are random, so its replies are judged as they stand (no errors, all requests served); the digest
is taken of a data set that a fixed script builds, after the benchmark's has been flushed.
"""

import socket
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench" / "loads" / "programs"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from jemalloc_calls import with_jemalloc_calls  # from the first of the folders just named
from processes import free_port  # from the second
from service import Allocator, Trial, fail, libraries_from_arguments, need

REQUESTS = 40_000


def fixed_script() -> str:
    """Every kind of value, grown, shrunk and deleted, in one order."""
    lines = []
    for n in range(6000):
        lines += [f"SET string:{n} {'v' * (n * 37 % 2500 + 1)}", f"HSET hash:{n % 300} field{n} {'h' * (n % 90 + 1)}",
                  f"RPUSH list:{n % 200} item{n}", f"SADD set:{n % 100} member{n * 7 % 5000}", f"ZADD zset:{n % 50} {n * 13 % 997} m{n}"]
        if n % 3 == 0:
            lines += [f"APPEND string:{n} {'a' * (n % 800 + 1)}", f"DEL string:{n // 2}", f"LPOP list:{n % 200}"]
        if n % 250 == 0:
            lines.append(f"SET big:{n} {'b' * 300_000}")
    lines += ["SORT set:7 ALPHA LIMIT 0 20", "ZRANGE zset:3 0 30 WITHSCORES", "LRANGE list:5 0 -1", "HMGET hash:9 field9 field309 field3309 field5709", "DBSIZE", "DEBUG DIGEST"]
    return "\n".join(lines) + "\n"


class Server:
    def __init__(self, allocator: Allocator, program: str) -> None:
        self.port = free_port()
        environment = allocator.environment()
        environment["LD_PRELOAD"] = with_jemalloc_calls(allocator.preload or "", program, allocator.folder)
        self.process = subprocess.Popen(
            [program, "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--enable-debug-command", "yes",
             "--dir", str(allocator.folder), "--logfile", str(allocator.folder / "log")],
            env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    def await_ready(self) -> None:
        while True:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            if self.process.poll() is not None:
                fail(f"the server ended with {self.process.returncode}: {self.process.stderr.read() if self.process.stderr else ''}")
            time.sleep(0.05)

    def finish(self, allocator: Allocator) -> None:
        _, said = self.process.communicate()
        if self.process.returncode != 0 or "snug:" in said:
            fail(f"{allocator.name}: the server ended with {self.process.returncode}: {said}")


def serve(allocator: Allocator, plain: Allocator, server_program: str, cli: str, benchmark: str) -> str:
    server = Server(allocator, server_program)
    try:
        server.await_ready()
        # The clients stay on the system's malloc: the server is what is tried.
        ask = [cli, "-p", str(server.port)]
        load = plain.run(benchmark, "-p", str(server.port), "-q", "-n", str(REQUESTS), "-r", "20000", "-d", "200", "-P", "8", "-t",
                         "set,get,incr,lpush,rpop,sadd,hset,zadd,lrange_100", "--csv")
        if load.count('"') < 9 * 2 or "rror" in load:
            fail(f"{allocator.name}: the benchmark was not served: {load}")
        if plain.run(*ask, "PING") != "PONG\n":
            fail("no PONG")
        plain.run(*ask, "FLUSHALL")
        replies = plain.run(*ask, text=fixed_script())
        if "ERR" in replies:
            fail(f"{allocator.name}: {[line for line in replies.splitlines() if 'ERR' in line][:3]}")
        info = plain.run(*ask, "INFO", "stats")
        if allocator.name == "snug":
            # A background save forks the server while its heap is large.
            plain.run(*ask, "BGSAVE")
            while "rdb_bgsave_in_progress:0" not in plain.run(*ask, "INFO", "persistence"):
                time.sleep(0.1)
            if "rdb_last_bgsave_status:ok" not in plain.run(*ask, "INFO", "persistence"):
                fail("the background save failed")
            digest = plain.run(*ask, "DEBUG", "DIGEST")
            plain.run(*ask, "DEBUG", "RELOAD")
            if plain.run(*ask, "DEBUG", "DIGEST") != digest:
                fail("the data changed when it was saved and loaded")
        if "total_error_replies:0" not in info.replace("\r", "").replace("total_error_replies", "\ntotal_error_replies"):
            fail(f"{allocator.name}: errors among the replies: {info}")
        subprocess.run([*ask, "SHUTDOWN", "NOSAVE"], capture_output=True, check=False)
        server.finish(allocator)
        return replies
    finally:
        if server.process.poll() is None:
            server.process.kill()


def main() -> None:
    trial = Trial(libraries_from_arguments())
    programs = need("redis-server"), need("redis-cli"), need("redis-benchmark")
    # Debian's Redis links jemalloc, so the plain run is jemalloc's: what it stores must be equal all the same.
    trial.expect_equal("replies", {allocator.name: serve(allocator, trial.plain, *programs) for allocator in trial.all})
    trial.expect_service(("redis-server",), steady=False)
    trial.close()


main()
