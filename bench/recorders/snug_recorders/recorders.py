"""Recorders: what stands before a program's command, or in its environment, so that its memory is recorded."""

import importlib.util
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from snug_bench.preparation import Unavailable

PLAIN = "plain"
OWN = {"snug": "", "profile": "profile:512K,profile_out:{file}"}  # in SNUG_CONF, of those that run on snug


@dataclass(frozen=True)
class Recorder:
    name: str
    title: str
    writes: bool = True  # a file
    only_python: bool = False

    def command(self, program: list[str], file: Path, build: Path) -> list[str]:
        tool = str(build / "bin" / "snug")
        match self.name:
            case "record":
                return [tool, "record", "-o", str(file), "--", *program]
            case "stacks":
                return [tool, "record", "--stacks", "-o", str(file), "--", *program]
            case "heaptrack":
                return ["heaptrack", "-o", str(file), *program]
            case "memray":
                return [program[0], "-m", "memray", "run", "-q", "-o", str(file), *program[1:]]
            case "memray_native":
                return [program[0], "-m", "memray", "run", "-q", "--native", "-o", str(file), *program[1:]]
        return program

    def environment(self, file: Path, build: Path) -> dict[str, str]:
        if self.name not in OWN:
            return {}
        settings = OWN[self.name].format(file=file)
        return {"LD_PRELOAD": str(build / "lib" / "libsnug.so")} | ({"SNUG_CONF": settings} if settings else {})

    def require(self, build: Path) -> None:
        """Raises Unavailable."""
        if self.name == "heaptrack" and shutil.which("heaptrack") is None:
            raise Unavailable("no heaptrack; Debian has a package of it")
        if self.name == "heaptrack" and shutil.which("heaptrack_gui") is not None:
            raise Unavailable("heaptrack_gui is installed, which it would open after each run")
        if self.only_python and importlib.util.find_spec("memray") is None:
            raise Unavailable("memray is not installed here: `scripts/uv run --project bench --group recorders` has it")
        for needed in (build / "bin" / "snug", build / "lib" / "libsnug.so"):
            if not needed.is_file():
                raise Unavailable(f"no {needed}: build first, with `cmake --preset release && ninja -C build/release product`")


RECORDERS = {each.name: each for each in (
    Recorder(PLAIN, "the program alone, on its own allocator", writes=False),
    Recorder("record", "snug record: each call, with its thread and time"),
    Recorder("stacks", "snug record --stacks: also the stack of each allocation"),
    Recorder("snug", "the program on snug, which records nothing", writes=False),
    Recorder("profile", "the same with its sampled heap profile, SNUG_CONF=profile:512K, written at the end"),
    Recorder("heaptrack", "heaptrack, which records stacks"),
    Recorder("memray", "memray run, of Python programs alone: Python's stacks", only_python=True),
    Recorder("memray_native", "memray run --native: native frames as well", only_python=True),
)}


def written(file: Path) -> int:
    """Bytes of what a recorder has left: it may have given the file an ending of its own, or the process's number."""
    return sum(path.stat().st_size for path in file.parent.glob(f"{file.name}*") if path.is_file())


def versions() -> dict[str, str]:
    found = {"python": sys.version.split()[0]}
    if shutil.which("heaptrack"):
        said = subprocess.run(["heaptrack", "--version"], capture_output=True, text=True, check=False, env=dict(os.environ, LC_ALL="C"))
        found["heaptrack"] = version_in(said.stdout)
    if importlib.util.find_spec("memray"):
        found["memray"] = version("memray")
    return found


def version_in(text: str) -> str:
    """The first word of a program's answer that begins with a digit."""
    return next((word for word in text.split() if word[:1].isdigit()), "?")
