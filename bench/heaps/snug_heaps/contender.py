"""The contenders: kinds of heaps, each a program of bench/heaps/programs that is compiled with its library."""

import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from snug_bench.allocator import load_allocators
from snug_bench.preparation import Unavailable, prepare
from snug_bench.problem import Problem

FLAGS = ["-std=c++20", "-O2", "-g", "-Wall", "-Wextra", "-fno-builtin-malloc", "-fno-builtin-free", "-pthread"]
SHARED_SOURCES = ("heaps/programs/peak.cpp", "loads/workloads/workload.cpp")


@dataclass(frozen=True)
class Kind:
    name: str
    title: str
    peer: str = ""  # of bench/harness/allocators, for its library
    adapter: str = ""  # the file in programs/, if it is not the name

    @property
    def source(self) -> str:
        return f"{self.adapter or self.name}.cpp"


SNUG = "snug"
KINDS = {kind.name: kind for kind in (
    Kind(SNUG, "snug_heap_create, _malloc, snug_free, snug_heap_destroy"),
    Kind("mimalloc", "mi_heap_new, _malloc, mi_free, mi_heap_destroy of mimalloc 3", "mimalloc3"),
    Kind("mi_nothp", "the same without huge pages, which mimalloc asks for", "mimalloc3-nothp", "mimalloc"),
    Kind("jemalloc", "arenas.create, mallocx and dallocx without a cache, arena.destroy", "jemalloc_tikv"),
    Kind("pmr_monotonic", "std::pmr::monotonic_buffer_resource: frees nothing before its end"),
    Kind("pmr_pool", "std::pmr::unsynchronized_pool_resource; with a mutex where threads share it"),
    Kind("malloc", "malloc of glibc, and a free for each block"),
)}


@dataclass(frozen=True)
class Contender:
    kind: Kind
    program: Path
    version: str = ""
    environment: dict[str, str] = field(default_factory=dict)  # with the library in it


def compiled(root: Path, build: Path, kind: Kind, say: Callable[[str], None]) -> Contender:
    """Raises Unavailable if its library cannot be had."""
    library, version, environment = None, "", {}
    if kind.name == SNUG:
        library = build / "lib" / "libsnug.so"
        if not library.is_file():
            raise Problem(f"no {library}: build first, with `cmake --preset release && ninja -C build/release libsnug.so`")
        version = "of " + str(build)
    elif kind.peer:
        prepared = prepare(load_allocators(root / "bench" / "harness" / "allocators")[kind.peer], root / "build" / "peers", say)
        library, version, environment = prepared.library, prepared.version, dict(prepared.environment)
    folder = root / "build" / "heaps"
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / f"heaps_{kind.name}"
    bench = root / "bench"
    sources = [bench / "heaps" / "programs" / kind.source, *(bench / each for each in SHARED_SOURCES)]
    read = [*sources, *(bench / "heaps" / "programs").glob("*.h"), *(bench / "loads" / "workloads").glob("*.h"),
            root / "include" / "snug" / "heap.h", *filter(None, [library])]
    if not program.is_file() or any(each.stat().st_mtime > program.stat().st_mtime for each in read):
        say(f"{kind.name}: compiling")
        # The library's own name need not be that of its file: it is preloaded, and so found whatever it is called.
        command = [os.environ.get("CXX", "c++"), *FLAGS, f"-I{root / 'include'}", f"-I{bench / 'loads' / 'workloads'}",
                   *map(str, sources), *([str(library)] if library else []), "-ldl", "-o", str(program)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise Unavailable(f"its program cannot be compiled: {(done.stderr.strip().splitlines() or ['no word why'])[0]}")
    preload = {"LD_PRELOAD": str(library)} if library else {}
    return Contender(kind, program, version, environment | preload)
