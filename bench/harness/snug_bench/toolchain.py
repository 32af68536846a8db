"""What compiles peers and runs them: the system's compiler, or the one that a build for another C library left in its folder.

A build for musl lies in build/PROCESSOR-linux-musl, and bench/musl/build puts beside its library

    toolchain/cc, c++, ar, ranlib   the compiler, as build scripts call it
    toolchain/probe                 served_probe.py's work as a program of that C library
"""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from snug_bench.problem import Problem

TOOLS = {"CC": "cc", "CXX": "c++", "AR": "ar", "RANLIB": "ranlib"}


@dataclass(frozen=True)
class Toolchain:
    c_library: str  # of the programs that it makes
    environment: Mapping[str, str] = field(default_factory=dict)  # of a build script
    probe: tuple[str, ...] = ()  # a command; the library's name comes behind it

    @property
    def compiler(self) -> str:
        return self.environment.get("CC", "cc")


NATIVE = Toolchain("glibc", {}, (sys.executable, "-I", str(Path(__file__).with_name("served_probe.py"))))


def toolchain_of(build: Path) -> Toolchain:
    """Of the programs that are measured with the library of this build."""
    if not build.name.endswith("-musl"):
        return NATIVE
    folder = build / "toolchain"
    if not os.access(folder / "probe", os.X_OK):
        raise Problem(f"no {folder}/probe: bench/musl/build makes it")
    return Toolchain("musl", {name: str(folder / tool) for name, tool in TOOLS.items()}, (str(folder / "probe"),))


def peers_of(root: Path, build: Path) -> Path:
    """Where the peers of a build lie: those of another C library beside its own library."""
    return root / "build" / "peers" if toolchain_of(build) is NATIVE else build / "peers"
