"""The cache server under redis-cli and redis-benchmark, its bounds, its end, and its memory after deletions.

SNUG_SOURCE and CACHE_SERVER name the sources and the program. Where Redis's clients are not installed their tests are
skipped; the others speak to the server themselves.
"""

import os
import random
import resource
import select
import shutil
import signal
import socket
import subprocess
import sys
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(os.environ["SNUG_SOURCE"]) / "examples" / "cache_server"))
sys.path.insert(0, str(Path(os.environ["SNUG_SOURCE"]) / "bench" / "loads" / "programs"))
from measured_server import CacheServer  # from the first folder just named
from redis_server import Client  # from the second

PROGRAM = os.environ["CACHE_SERVER"]
IS_SANITIZED = bool(os.environ.get("SNUG_SANITIZE"))


def refused(*options: str) -> tuple[int, str]:
    done = subprocess.run([PROGRAM, *options], capture_output=True, text=True)
    return done.returncode, done.stderr


class Served(unittest.TestCase):
    server: CacheServer

    def client_of(self, server: CacheServer) -> Client:
        client = Client(server.port)
        self.addCleanup(client.socket.close)
        self.addCleanup(client.replies.close)
        return client

    def raw(self, sent: bytes) -> bytes:
        """What comes back before the server closes the connection, which it must."""
        with socket.create_connection(("127.0.0.1", self.server.port)) as connection:
            connection.sendall(sent)
            received = b""
            while piece := connection.recv(65536):
                received += piece
            return received


class Session(Served):
    def setUp(self) -> None:
        self.server = CacheServer(PROGRAM, ["--value-limit", "1M", "--clients", "60"])
        self.addCleanup(self.server.kill)

    def tool(self, program: str, *arguments: str, text: str | None = None) -> str:
        if shutil.which(program) is None:
            self.skipTest(f"{program} is not installed")
        done = subprocess.run([program, "-p", str(self.server.port), *arguments], input=text, capture_output=True,
                              text=True, check=True)
        return done.stdout


class RedisTools(Session):
    def test_cli(self) -> None:
        script = 'PING\nSET greeting "two words" EX 100\nGET greeting\nEXISTS greeting nothing\nDBSIZE\nDEL greeting\nGET greeting\n'
        self.assertEqual(self.tool("redis-cli", text=script), "PONG\nOK\ntwo words\n1\n1\n1\n\n")
        self.assertIn("unknown command 'LPUSH'", self.tool("redis-cli", "LPUSH", "a", "b"))
        self.assertIn("compaction:on", self.tool("redis-cli", "INFO", "memory"))
        self.tool("redis-cli", text="".join(f"SET key{n} v\n" for n in range(500)))
        self.assertEqual(set(self.tool("redis-cli", "--scan").split()), {f"key{n}" for n in range(500)})
        self.assertEqual(set(self.tool("redis-cli", "--scan", "--pattern", "key1?").split()), {f"key1{n}" for n in range(10)})
        self.assertEqual(self.tool("redis-cli", "FLUSHALL"), "OK\n")

    def test_benchmark(self) -> None:
        load = self.tool("redis-benchmark", "-n", "20000", "-r", "5000", "-d", "300", "-P", "16", "-t", "ping,set,get", "--csv")
        rates = [line.split(",")[1] for line in load.splitlines()[1:]]
        self.assertEqual(len(rates), 4, load)
        self.assertTrue(all(float(rate.strip('"')) > 0 for rate in rates), load)
        client = self.client_of(self.server)
        self.assertGreater(int(client.call("DBSIZE")), 4000)
        self.assertIn(b"total_commands_processed:8", client.call("INFO", "stats"))


class Protocol(Session):
    def test_what_is_no_request_is_told_and_closed(self) -> None:
        self.assertEqual(self.raw(b"*1\r\n$4\r\nPING\r\n*1\r\n+\r\n"), b"+PONG\r\n-ERR Protocol error: expected '$', got '+'\r\n")
        self.assertEqual(self.raw(b"*1\r\n$1048577\r\n"), b"-ERR Protocol error: invalid bulk length\r\n")
        self.assertEqual(self.raw(b"SET k 'v\r\n"), b"-ERR Protocol error: unbalanced quotes in request\r\n")

    def test_quit_is_answered(self) -> None:
        self.assertEqual(self.raw(b"set k v\r\nGET k\r\nQUIT\r\nGET k\r\n"), b"+OK\r\n$1\r\nv\r\n+OK\r\n")

    def test_a_client_that_takes_no_replies_costs_little(self) -> None:
        client = self.client_of(self.server)
        client.call("SET", "large", "x" * 1_000_000)
        before = self.server.memory()
        greedy = socket.create_connection(("127.0.0.1", self.server.port))
        self.addCleanup(greedy.close)
        greedy.sendall(b"GET large\r\n" * 1000)  # a gigabyte of replies
        # After a reply has begun, the server answers the next client only when it has no more to do for this one.
        self.assertTrue(select.select([greedy], [], [])[0])
        self.assertEqual(client.call("PING"), b"PONG")
        if not IS_SANITIZED:
            self.assertLess(self.server.memory() - before, 8 << 20)
        received = 0
        while received < 20_000_000:
            piece = greedy.recv(1 << 20)
            self.assertTrue(piece, f"the server has closed the connection after {received} bytes")
            received += len(piece)
        greedy.close()
        self.assertEqual(client.call("PING"), b"PONG")

    def test_clients_are_counted(self) -> None:
        clients = [self.client_of(self.server) for _ in range(60)]
        self.assertEqual({client.call("PING") for client in clients}, {b"PONG"})
        self.assertEqual(self.raw(b""), b"-ERR max number of clients reached\r\n")
        clients[0].replies.close()
        clients[0].socket.close()
        clients[1].call("PING")
        self.assertEqual(self.client_of(self.server).call("PING"), b"PONG")

    def test_values_go_by_the_clock(self) -> None:
        client = self.client_of(self.server)
        client.run(("SET", f"key{n}", "v", "PX", "3600000") for n in range(500))
        client.call("SET", "stays", "v")
        self.assertEqual(client.call("DBSIZE"), b"501")
        client.run(("SET", f"key{n}", "v", "PX", "300") for n in range(500))
        while client.call("DBSIZE") != b"1":  # swept, without being asked for
            time.sleep(0.05)


class Files(Served):
    def begin(self, soft: int, hard: int, *options: str) -> None:
        self.server = CacheServer(PROGRAM, options, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard)))
        self.addCleanup(self.server.kill)

    def end(self) -> str:
        self.server.process.send_signal(signal.SIGTERM)
        return self.server.process.communicate()[1]

    def test_there_are_no_more_clients_than_files(self) -> None:
        self.begin(20, 40)
        clients = [self.client_of(self.server) for _ in range(8)]
        self.assertEqual({client.call("PING") for client in clients}, {b"PONG"})
        self.assertEqual(self.raw(b""), b"-ERR max number of clients reached\r\n")
        self.assertEqual(self.end(), "cache_server: --clients 1000: there may be 40 open files (ulimit -n), so it is 8\n")

    def test_the_limit_is_raised_as_far_as_it_may_be(self) -> None:
        self.begin(20, 100, "--clients", "50")
        clients = [self.client_of(self.server) for _ in range(50)]
        self.assertEqual({client.call("PING") for client in clients}, {b"PONG"})
        self.assertEqual(self.end(), "")


class Program(Served):
    def test_options_are_refused_in_one_line(self) -> None:
        for options, said in (
            (["--port", "70000"], "--port: wants a number from 0 to 65535, not '70000'"),
            (["--port"], "--port: wants a number from 0 to 65535, not ''"),
            (["--compaction", "maybe"], "--compaction: wants on or off, not 'maybe'"),
            (["--bind", "localhost"], "--bind: wants an address of IPv4, not 'localhost'"),
            (["--value-limit=3Q"], "--value-limit: wants a number from 1 to 536870912, not '3Q'"),
            (["--what"], "--what: is no option; --help lists them"),
            (["7000"], "7000: is no option; --help lists them"),
        ):
            self.assertEqual(refused(*options), (2, f"cache_server: {said}\n"), options)

    def test_a_port_that_is_taken(self) -> None:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            place = f"127.0.0.1:{taken.getsockname()[1]}"
            status, said = refused("--port", place.partition(":")[2])
        self.assertEqual((status, said), (1, f"cache_server: cannot listen on {place}: Address already in use\n"))

    def test_help_names_every_option(self) -> None:
        said = subprocess.run([PROGRAM, "--help"], capture_output=True, text=True, check=True).stdout
        for option in ("--port", "--bind", "--compaction", "--value-limit", "--clients", "--buffer-limit"):
            self.assertIn(f"\n  {option} ", said)

    def test_it_ends_cleanly(self) -> None:
        for ending in (signal.SIGTERM, signal.SIGINT):
            server = CacheServer(PROGRAM, [])
            client = self.client_of(server)
            client.call("SET", "k", "v")
            server.process.send_signal(ending)
            said, errors = server.process.communicate()
            self.assertEqual((server.process.returncode, said, errors), (0, "ended: 1 keys, 1 commands\n", ""))


@unittest.skipIf(IS_SANITIZED, "what a sanitizer takes is beside the point")
class Memory(Served):
    """RSS after 70% of the values are gone, of which none is asked for any more."""

    def settled(self, server: CacheServer, aim: float, seconds: float) -> int:
        """The server keeps house when it is idle: until it takes so little, or for so long."""
        until = time.monotonic() + seconds
        while server.memory() >= aim and time.monotonic() < until:
            time.sleep(0.1)
        return server.memory()

    def resident_after_deletions(self, compaction: str, seconds: float) -> tuple[int, int]:
        server = CacheServer(PROGRAM, ["--compaction", compaction])
        self.addCleanup(server.kill)
        client = self.client_of(server)
        rng = random.Random(1)
        keys = [f"key:{n}" for n in range(60_000)]
        client.run(("SET", key, "v" * rng.randrange(100, 700)) for key in keys)
        full = server.memory()
        client.run(("DEL", key) for key in rng.sample(keys, 42_000))
        settled = self.settled(server, 0.45 * full, seconds)
        self.assertEqual(client.call("DBSIZE"), b"18000")
        return full, settled

    def test_it_falls_with_compaction(self) -> None:
        full, settled = self.resident_after_deletions("on", 1200)  # less than a second, and until it has a processor
        self.assertLess(settled, 0.45 * full)
        full_without, settled_without = self.resident_after_deletions("off", 4)
        self.assertGreater(settled_without, 0.7 * full_without)


if __name__ == "__main__":
    unittest.main()
