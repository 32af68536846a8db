"""A Redis server of our own and what is known of it from outside: its answers, and what the kernel says is resident."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from snug_defrag.source import Contender

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "loads" / "programs"))
from redis_server import Client, free_port  # from the folder just named

# LD_PRELOAD and what steers an allocator by accident.
STEERING = ("LD_PRELOAD", "SNUG_CONF", "GLIBC_TUNABLES", "MALLOC_CONF", "JE_MALLOC_CONF")
# Redis's own defaults but these two: it looks after the heap from 5% of fragmentation on (10%), and 1 MiB (100 MiB).
DEFRAG_SETTINGS = ("--active-defrag-threshold-lower", "5", "--active-defrag-ignore-bytes", "1mb")


class Server:
    """On a free port of the loopback; writes nothing to disk but its log."""

    def __init__(self, contender: Contender, folder: Path) -> None:
        self.port = free_port()
        self.log = folder / "log"
        environment = {name: value for name, value in os.environ.items() if not name.startswith(STEERING)}
        self.process = subprocess.Popen(
            [contender.server, "--port", str(self.port), "--bind", "127.0.0.1", "--dir", folder, "--save", "", "--appendonly", "no",
             "--activedefrag", "no", *DEFRAG_SETTINGS, "--logfile", self.log],
            env=environment | contender.environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        self.client = self.connected()

    def connected(self) -> Client:
        while True:
            with contextlib.suppress(OSError):
                return Client(self.port)
            if self.process.poll() is not None:
                raise RuntimeError(f"the server ended with {self.process.returncode}: {self.log.read_text()[-500:]}")
            time.sleep(0.01)

    def __enter__(self) -> "Server":
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()

    def info(self) -> dict[str, str]:
        """INFO as it is now: Redis measures RSS once a tenth of a second, so ours is rss()."""
        lines = self.client.call("INFO", "everything").decode().splitlines()
        return dict(line.split(":", 1) for line in lines if ":" in line)

    def rss(self) -> int:
        for line in Path(f"/proc/{self.process.pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Rss:"):
                return int(line.split()[1]) * 1024
        raise RuntimeError("no Rss in smaps_rollup")

    def defragment(self, wanted: bool) -> None:
        self.client.call("CONFIG", "SET", "activedefrag", "yes" if wanted else "no")

    def shut_down(self) -> None:
        """By its own command, so that its exit handlers run."""
        self.client.send([("SHUTDOWN", "NOSAVE")])
        if self.process.wait() != 0:
            raise RuntimeError(f"the server ended with {self.process.returncode}: {self.log.read_text()[-500:]}")
