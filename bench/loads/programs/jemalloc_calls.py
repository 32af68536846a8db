"""Lets any allocator serve a program that also calls jemalloc by names of its own.

Redis 8 and Valkey 8.1, as Debian 13 has them, take a block by mallocx and ask malloc_usable_size for its size, or free
by sdallocx what malloc gave. A preloaded allocator has one of the two names and jemalloc the other: the program ends at
its start, on glibc's malloc, too. A library of four functions, preloaded behind the allocator, leads jemalloc's names to
the standard ones. It is compiled where it is needed, so that no other program waits for it.
"""

import shutil
import subprocess
from pathlib import Path

CALLS = (b"mallocx", b"rallocx", b"dallocx", b"sdallocx")


def with_jemalloc_calls(preload, program, folder):
    """The LD_PRELOAD that lets what `preload` names serve the program whole; `folder` keeps the library, if any."""
    if not preload or "libjemalloc" in preload or not calls_jemalloc(program):
        return preload
    library = Path(folder) / "libjemalloc_calls.so"
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-fno-builtin", "-o", str(library),
                    str(Path(__file__).with_suffix(".c"))], check=True)
    return f"{preload}:{library}"


def calls_jemalloc(program):
    """Does one of these names stand in the program's tables? Redis 7 knows nallocx, mallctl and malloc_stats_print alone."""
    found = shutil.which(program)
    contents = Path(found).read_bytes() if found else b""
    return any(b"\0" + call + b"\0" in contents for call in CALLS)
