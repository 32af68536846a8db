"""The six programs: four loads of bench/loads, the compiler proper without its driver, and a Redis under redis-benchmark."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

from snug_bench.preparation import Unavailable
from snug_bench.workload import Load, load_loads

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "bench" / "loads" / "programs"))
from redis_server import Client, free_port  # from the folder just named

# Of bench/loads, with their threads.
LOADS = {"python": ("python_malloc", 1), "sqlite": ("sqlite", 1), "node": ("node", 1), "threads": ("server", 4)}
NAMES = ("python", "sqlite", "cc1plus", "node", "redis", "threads")
SECONDS = 600  # that a program may take under a recorder
# On the larger source of bench/loads heaptrack 1.4.0's interpreter ended by std::bad_alloc.
SOURCE = ["-include", "nlohmann/json.hpp", str(ROOT / "bench" / "loads" / "programs" / "small.cpp")]
REQUESTS = ["-n", "200000", "-r", "50000", "-P", "16", "-c", "20", "-d", "512", "-t", "set,get"]


@dataclass(frozen=True)
class Cost:
    """Of a recorder, the program, and all that they have waited for."""

    seconds: float  # of processors
    peak: int  # bytes resident in the largest of the processes


@dataclass(frozen=True)
class Program:
    name: str
    title: str
    command: list[str]
    environment: dict[str, str] = field(default_factory=dict)
    needs: tuple[str, ...] = ()
    is_python: bool = False
    port: int = 0  # at which it serves until it is told to end

    def require(self) -> None:
        """Raises Unavailable."""
        for need in (*self.needs, self.command[0]):
            if shutil.which(need) is None:
                raise Unavailable(f"{need} is not installed")

    def run(self, command: list[str], environment: dict[str, str]) -> tuple[Cost, str]:
        """What a run costs; or why it does not count."""
        process = subprocess.Popen(command, env=environment, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE, start_new_session=True)
        killer = threading.Timer(SECONDS, kill, [process])
        killer.start()
        try:
            answered = not self.port or serve(process, self.port)
            said = process.stderr.read().decode(errors="replace").strip().splitlines()
            # By this call alone the kernel says what a process and those it waited for have cost.
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        finally:
            killer.cancel()
            kill(process)
            process.stderr.close()
        cost = Cost(usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024)
        if process.returncode == 0 and answered:
            return cost, ""
        return cost, f"ended with {process.returncode}: {(said or ['it said nothing'])[-1]}"


def kill(process: subprocess.Popen) -> None:
    """With all that it has started, if it has not ended."""
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def serve(process: subprocess.Popen, port: int) -> bool:
    """Has the server serve redis-benchmark, and end by its own command. False if it ends before."""
    while True:
        with contextlib.suppress(OSError):
            client = Client(port)
            break
        if os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
            return False
        time.sleep(0.01)
    done = subprocess.run(["redis-benchmark", "-p", str(port), *REQUESTS], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL, check=False, timeout=SECONDS)
    client.send([("SHUTDOWN", "NOSAVE")])
    return done.returncode == 0


def programs(build: Path) -> dict[str, Program]:
    """By name, in the order of NAMES."""
    loads = load_loads(ROOT / "bench" / "loads")
    found = {name: of_load(name, loads[load], threads, build) for name, (load, threads) in LOADS.items()}
    found["cc1plus"] = Program("cc1plus", "the compiler proper of g++ on a large header, nlohmann/json.hpp", compiler(), needs=("g++",))
    port = free_port()
    found["redis"] = Program("redis", "Redis, which serves 400,000 requests of redis-benchmark",
                             ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"],
                             needs=("redis-benchmark",), port=port)
    return {name: found[name] for name in NAMES}


def of_load(name: str, load: Load, threads: int, build: Path) -> Program:
    command = load.command_line(ROOT, build, threads, 1, 1)
    is_python = command[0] == "python3"
    # memray is in the Python that runs here, and all are to be measured on the same.
    return Program(name, load.title, [sys.executable, *command[1:]] if is_python else command, load.environment, load.needs, is_python)


def compiler() -> list[str]:
    """g++ begins it as a child, which heaptrack does not follow."""
    def told(option: str) -> str:
        if shutil.which("g++") is None:
            return "g++"
        return subprocess.run(["g++", option], capture_output=True, text=True, check=False).stdout.strip()

    return [told("-print-prog-name=cc1plus"), "-quiet", "-imultiarch", told("-print-multiarch"), "-D_GNU_SOURCE", "-std=gnu++20", "-O1",
            *SOURCE, "-o", "/dev/null"]
