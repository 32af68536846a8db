"""The servers that are drawn: each listens, can be asked for its memory, proves what it is, and is ended."""

import re
import select
import shutil
import subprocess
import tempfile
from pathlib import Path

from redis_server import Client, Server  # of bench/loads/programs


def resident_bytes(process_id):
    """By the walk behind smaps_rollup: the counters of `status` lag behind."""
    for line in Path(f"/proc/{process_id}/smaps_rollup").read_text().splitlines():
        if line.startswith("Rss:"):
            return int(line.split()[1]) * 1024
    raise RuntimeError("no Rss in /proc/PID/smaps_rollup")


class CacheServer:
    """The cache server of this folder, on a free port. `how` is for Popen."""

    def __init__(self, program, options, **how):
        self.process = subprocess.Popen([str(program), "--port", "0", *options], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **how)
        ready, _, _ = select.select([self.process.stdout], [], [], 20)
        first = self.process.stdout.readline() if ready else ""
        found = re.fullmatch(r"ready on [\d.]+:(\d+), compaction (?:on|off)\n", first)
        if not found:
            self.kill()
            raise RuntimeError(f"{program} does not begin: {first!r}")
        self.port = int(found[1])

    def memory(self):
        return resident_bytes(self.process.pid)

    def prove(self):
        """By what it says itself."""
        if b"\r\nmem_allocator:snug-" not in Client(self.port).call("INFO", "memory"):
            raise RuntimeError("the cache server does not name its allocator")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()


def has_redis():
    return shutil.which("redis-server") is not None and shutil.which("redis-benchmark") is not None


class Redis:
    """redis-server, preloaded by a library; by none if it is ''."""

    def __init__(self, library):
        self.library = library
        self.folder = tempfile.TemporaryDirectory(prefix="snug-redis-")
        self.server = Server(library, self.folder.name)

    def __enter__(self):
        self.server.__enter__()
        self.port = self.server.port
        return self

    def __exit__(self, *error):
        self.server.__exit__(*error)
        self.folder.cleanup()

    def memory(self):
        return resident_bytes(self.server.process.pid)

    def prove(self):
        """By what is mapped: the library that was asked for, or jemalloc alone."""
        allocator = self.library or "libjemalloc"
        if not any(allocator in library for library in self.server.mapped_libraries()):
            raise RuntimeError(f"redis-server did not map {allocator}")
