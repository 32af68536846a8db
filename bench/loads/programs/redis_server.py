#!/usr/bin/env python3
"""One life of a Redis server: load, overwrite with other sizes, delete 70%, idle; prints its figures as JSON.

    bench/loads/programs/redis_server.py [--preload LIBRARY] [--keys N]
    snug run --compare glibc,jemalloc -- bench/loads/programs/redis_server.py

The allocator under test serves the *server* alone. Under `snug run` that is the LD_PRELOAD this script is started
with: it starts itself again without it, and hands it to redis-server. The figures also go to $SNUG_FIGURES, from
which `snug run --compare` takes them.

Two clients. redis-benchmark, a program in C that one server cannot keep waiting, measures throughput: SET and GET of
one size. A pipelining client of our own, with a fixed seed, gives the heap its shape: keys of 16 B to 8 KiB, values
overwritten by values of other sizes, and deletions. It is slower than the server, so its commands are set against the
CPU time that the server spent on them, not against the clock.

RSS is what is resident at the moment (smaps_rollup), never a peak. That it hardly falls after random deletions is true
of the allocators here: a survivor lies in most pages, and jemalloc, which gives back most, takes ten seconds for it.
--delete oldest --idle 12 shows which allocator gives back what can be given back.

Debian's redis-server links libjemalloc.so.2, hence every allocator has to be preloaded, glibc's (libc.so.6) too.
From it the server imports (nm -D) malloc, calloc, realloc, free, malloc_usable_size, all of which a preloaded
allocator replaces, and three of jemalloc's own, which stay jemalloc's:
  - mallctl: statistics for INFO (they describe jemalloc's then idle heap; used_memory and RSS stay true, as Redis
    counts with malloc_usable_size and reads /proc), MEMORY PURGE (no effect on others; not used here), and the
    background thread: its start in an idle heap would charge its stack to the wrong allocator, so the script asks for
    it only when jemalloc serves, which is how Debian ships it;
  - nallocx: whether shrinking a string in place gains anything; on other allocators the answer is about jemalloc's
    classes, so a string may be copied once more or once less;
  - malloc_stats_print: only for MEMORY MALLOC-STATS.
Debian 13's Redis 8 takes and frees blocks by jemalloc's own calls besides: see jemalloc_calls.py.
Active defragmentation is off: only jemalloc can steer it. The idle jemalloc costs every other allocator some 0.1 MiB.
"""

import argparse
import itertools
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from jemalloc_calls import with_jemalloc_calls
from preload import inherited_preload, served_environment, unserved_environment

MINIMUM_VALUE, MAXIMUM_VALUE = 16, 8192
PIPELINE = 200
DELETIONS = ("random", "oldest")
START_SECONDS = 20
BENCHMARK_VALUE = 512


def main():
    options = parse_options()
    preload = inherited_preload() if options.preload is None else options.preload
    for program in ("redis-server", "redis-benchmark"):
        if shutil.which(program) is None:
            sys.exit(f"redis_server.py: {program} not found: apt-get install redis-server redis-tools")
    with tempfile.TemporaryDirectory(prefix="snug-redis-") as folder:
        with Server(preload, folder) as server:
            figures = live(server, options)
            proof = server.shut_down()
    result = {"figures": figures, "proof": proof}
    if "SNUG_FIGURES" in os.environ:
        Path(os.environ["SNUG_FIGURES"]).write_text(json.dumps(figures))
    print(json.dumps(result, indent=2))


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--preload", help="library for the server's LD_PRELOAD, '' for none; default: our own")
    parser.add_argument("--keys", type=int, default=80_000, help="keys of mixed sizes (default %(default)s)")
    parser.add_argument("--requests", type=int, default=600_000, help="of redis-benchmark (default %(default)s)")
    parser.add_argument("--idle", type=float, default=3, metavar="SECONDS", help="at the end (default %(default)s)")
    parser.add_argument("--delete", choices=DELETIONS, default="random", help="which 70%% of the keys die (default random)")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if options.keys < 1 or options.requests < 1 or not 0 <= options.idle <= 600:
        parser.error("--keys and --requests: at least 1; --idle: 0 to 600 seconds")
    return options


def live(server, options):
    """The server's life. Returns its figures, in the form that `snug run --compare` reads."""
    rng = random.Random(options.seed)
    keys = list(range(options.keys))
    client = server.client()

    throughput = benchmark(server.port, options.requests)
    client.call("FLUSHALL", "SYNC")
    cpu_before = server.cpu_seconds()
    commands = client.run(set_command(key, rng) for key in keys)
    # Half of the values are replaced, in random order, by values of other sizes, between reads.
    commands += client.run(command for key in rng.sample(keys, len(keys) // 2)
                           for command in (set_command(key, rng), ("GET", name_of(rng.choice(keys)))))
    full = server.memory()
    commands += client.run(("DEL", name_of(key)) for key in doomed(keys, options.delete, rng))
    mixed_cpu = server.cpu_seconds() - cpu_before
    survivors = int(client.call("DBSIZE"))
    if survivors != len(keys) - len(keys) * 7 // 10:
        raise RuntimeError(f"{survivors} keys left, which is wrong")
    deleted = server.memory()
    time.sleep(options.idle)
    settled = server.memory()

    return {
        "SET throughput": {"value": throughput["SET"], "unit": "op/s", "better": "higher"},
        "GET throughput": {"value": throughput["GET"], "unit": "op/s", "better": "higher"},
        "mixed sizes": {"value": commands / mixed_cpu, "unit": "op/CPU s", "better": "higher"},
        "server CPU": {"value": server.cpu_seconds(), "unit": "s", "better": "lower"},
        "peak RSS": {"value": max(settled["peak"], full["now"], deleted["now"], settled["now"]), "unit": "B", "better": "lower"},
        "full RSS": {"value": full["now"], "unit": "B", "better": "lower"},
        "RSS after delete": {"value": deleted["now"], "unit": "B", "better": "lower"},
        "settled RSS": {"value": settled["now"], "unit": "B", "better": "lower"},
    }


def doomed(keys, which, rng):
    """70% of the keys: any, as in a cache that evicts at random, or those that were set first, as when they expire."""
    count = len(keys) * 7 // 10
    return rng.sample(keys, count) if which == "random" else keys[:count]


def name_of(key):
    return f"key:{key:08d}"


def set_command(key, rng):
    # Sizes uniform in their logarithm: as many values of 16 to 32 bytes as of 4 to 8 KiB.
    size = int(MINIMUM_VALUE * (MAXIMUM_VALUE / MINIMUM_VALUE) ** rng.random())
    return "SET", name_of(key), "v" * size


def benchmark(port, requests):
    """Operations a second of SET and of GET, by redis-benchmark."""
    command = ["redis-benchmark", "-h", "127.0.0.1", "-p", str(port), "-n", str(requests), "-r", "50000", "-P", "16",
               "-c", "20", "-d", str(BENCHMARK_VALUE), "-t", "set,get", "--csv"]
    output = subprocess.run(command, env=unserved_environment(), stdout=subprocess.PIPE, check=True, text=True).stdout
    rows = [line.replace('"', "").split(",") for line in output.splitlines()]
    rates = {row[0]: float(row[1]) for row in rows if row[0] in ("SET", "GET")}
    # A benchmark of too few requests takes no time that it can measure, and prints inf.
    if set(rates) != {"SET", "GET"} or not all(0 < rate < float("inf") for rate in rates.values()):
        raise RuntimeError(f"redis-benchmark printed something else than expected: {output!r}")
    return rates


class Server:
    """A redis-server of our own: a free port of the loopback, nothing written to disk."""

    def __init__(self, preload, folder):
        self.preload = with_jemalloc_calls(preload, "redis-server", folder)
        self.port = free_port()
        self.log = Path(folder) / "log"
        served_by_jemalloc = "libjemalloc" in preload or not preload
        command = ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--dir", folder, "--save", "",
                   "--appendonly", "no", "--activedefrag", "no", "--daemonize", "no", "--logfile", str(self.log),
                   "--jemalloc-bg-thread", "yes" if served_by_jemalloc else "no"]
        self.process = subprocess.Popen(command, env=served_environment(self.preload), stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL)
        self.connection = None

    def __enter__(self):
        deadline = time.monotonic() + START_SECONDS
        while self.connection is None:
            if self.process.poll() is not None:
                sys.exit(f"redis_server.py: the server ended at once, with {self.process.returncode}: {self.last_words()}")
            try:
                self.connection = Client(self.port)
            except OSError:
                if time.monotonic() > deadline:
                    self.process.kill()
                    sys.exit("redis_server.py: the server does not answer")
                time.sleep(0.01)
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()

    def last_words(self):
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        return lines[-1] if lines else "no log"

    def client(self):
        return self.connection

    def memory(self):
        """Bytes resident now and at the peak: the kernel's view, not the allocator's.

        `status` sums counters of the CPUs that lag a little behind, so that its VmRSS may exceed its VmHWM; the walk
        behind smaps_rollup is exact.
        """
        return {"now": self.kibibytes("smaps_rollup", "Rss") * 1024, "peak": self.kibibytes("status", "VmHWM") * 1024}

    def kibibytes(self, file, field):
        for line in Path(f"/proc/{self.process.pid}/{file}").read_text().splitlines():
            if line.startswith(field + ":"):
                return int(line.split()[1])
        raise RuntimeError(f"no {field} in /proc/PID/{file}")

    def cpu_seconds(self):
        """User and system time of all threads, in the scheduler's nanoseconds rather than in clock ticks."""
        threads = Path(f"/proc/{self.process.pid}/task").iterdir()
        return sum(int((thread / "schedstat").read_text().split()[0]) for thread in threads) / 1e9

    def mapped_libraries(self):
        lines = Path(f"/proc/{self.process.pid}/maps").read_text().splitlines()
        return {line.split(maxsplit=5)[5] for line in lines if line.count("/")}

    def shut_down(self):
        """Ends the server by its own command, so that its exit handlers run, and says which allocator served it."""
        libraries = [str(Path(path).resolve()) for path in self.preload.split(":") if path]
        missing = sorted(set(libraries) - self.mapped_libraries())
        if missing:
            sys.exit(f"redis_server.py: the server did not map {', '.join(missing)}: nothing was measured of it")
        self.connection.send([("SHUTDOWN", "NOSAVE")])
        status = self.process.wait(timeout=START_SECONDS)
        if status != 0:
            sys.exit(f"redis_server.py: the server ended with {status}: {self.last_words()}")
        return {"preloaded": libraries}


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Client:
    """Just enough of RESP: many commands in one write, then their replies; an error reply is raised."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.replies = self.socket.makefile("rb")

    def send(self, commands):
        parts = []
        for command in commands:
            parts.append(f"*{len(command)}\r\n" + "".join(f"${len(word)}\r\n{word}\r\n" for word in command))
        self.socket.sendall("".join(parts).encode())

    def call(self, *command):
        self.send([command])
        return self.reply()

    def run(self, commands):
        """Sends all commands and takes all replies; how many they were."""
        commands = iter(commands)
        count = 0
        while batch := list(itertools.islice(commands, PIPELINE)):
            self.send(batch)
            for _ in batch:
                self.reply()
            count += len(batch)
        return count

    def reply(self):
        line = self.replies.readline()
        kind, rest = line[:1], line[1:-2]
        if kind == b"$" and rest != b"-1":
            return self.replies.read(int(rest) + 2)[:-2]
        if kind in (b"+", b":", b"$"):
            return rest
        raise RuntimeError(f"Redis answers {line!r}")


if __name__ == "__main__":
    main()
