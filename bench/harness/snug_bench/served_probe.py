"""A small program that preparation.py preloads a library into: does the library really serve malloc, and work?

    LD_PRELOAD=LIBRARY PYTHONMALLOC=malloc python3 -I served_probe.py LIBRARY

Prints "served" and nothing else if each function of the malloc family that this process resolves lies in LIBRARY, and
blocks of many sizes keep what is written in them, over threads, reallocs and a fork. Otherwise one line says what does not.
"""

import ctypes
import os
import sys
import threading

FAMILY = ("malloc", "free", "calloc", "realloc", "aligned_alloc", "posix_memalign", "malloc_usable_size")
SIZES = (0, 1, 16, 100, 1000, 5000, 40_000, 300_000, 3_000_000)
THREADS = 4


class DlInfo(ctypes.Structure):
    _fields_ = [("file", ctypes.c_char_p), ("base", ctypes.c_void_p), ("symbol", ctypes.c_char_p), ("at", ctypes.c_void_p)]


process = ctypes.CDLL(None)
for name in ("malloc", "calloc", "realloc", "aligned_alloc"):
    getattr(process, name).restype = ctypes.c_void_p
process.malloc_usable_size.restype = ctypes.c_size_t


class LinkMap(ctypes.Structure):
    """One loaded object; what dlopen returns is a pointer to it."""


LinkMap._fields_ = [("base", ctypes.c_void_p), ("name", ctypes.c_char_p), ("dynamic", ctypes.c_void_p),
                    ("next", ctypes.POINTER(LinkMap))]
process.dlsym.restype = ctypes.c_void_p


def object_at(address: int | None) -> str:
    info = DlInfo()
    if not address or not process.dladdr(pointer(address), ctypes.byref(info)) or not info.file:
        return ""
    return os.path.realpath(os.fsdecode(info.file))


def file_of(name: str) -> str:
    """The object with the definition of `name` that serves this process."""
    found = object_at(ctypes.cast(getattr(process, name), ctypes.c_void_p).value)
    if found != os.path.realpath("/proc/self/exe"):
        return found
    # A program that is not position-independent and takes a function's address, as Debian 13's Python does of malloc,
    # stands for it with a jump of its own. The jump goes to the first object behind the program that defines it.
    loaded = ctypes.cast(process._handle, ctypes.POINTER(LinkMap)).contents.next
    while loaded:
        file = os.path.realpath(os.fsdecode(loaded.contents.name or b""))
        if os.path.isfile(file) and object_at(process.dlsym(ctypes.c_void_p(ctypes.CDLL(file)._handle), name.encode())) == file:
            return file
        loaded = loaded.contents.next
    return found


def pointer(address: int) -> ctypes.c_void_p:
    return ctypes.c_void_p(address)


def use_blocks(seed: int) -> str:
    """What is wrong with a block; empty if nothing is."""
    blocks = []
    for size in SIZES * 3:
        address = process.malloc(ctypes.c_size_t(size))
        if not address or address % 8 != 0:
            return f"malloc({size}) returned {address}"
        if process.malloc_usable_size(pointer(address)) < size:
            return f"malloc_usable_size is less than the {size} bytes asked for"
        ctypes.memset(address, seed, size)
        blocks.append((address, size))
    for alignment in (64, 4096):
        address = process.aligned_alloc(ctypes.c_size_t(alignment), ctypes.c_size_t(2 * alignment))
        if not address or address % alignment != 0:
            return f"aligned_alloc({alignment}) returned {address}"
        process.free(pointer(address))
    for address, size in blocks:
        grown = process.realloc(pointer(address), ctypes.c_size_t(2 * size + 1))
        if not grown or ctypes.string_at(grown, size) != bytes([seed]) * size:
            return f"realloc lost the contents of a block of {size} bytes"
        process.free(pointer(grown))
    zeroed = process.calloc(ctypes.c_size_t(1000), ctypes.c_size_t(10))
    if not zeroed or any(ctypes.string_at(zeroed, 10_000)):
        return "calloc returned memory that is not zero"
    process.free(pointer(zeroed))
    return ""


def fault(library: str) -> str:
    for name in FAMILY:
        if file_of(name) != library:
            return f"{name} is {file_of(name) or 'nobody'}'s"
    found: list[str] = []
    threads = [threading.Thread(target=lambda seed=seed: found.append(use_blocks(seed))) for seed in range(1, THREADS + 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    child = os.fork()
    if child == 0:
        os._exit(1 if use_blocks(9) else 0)
    if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 0:
        return "it fails in the child of a fork"
    return next(filter(None, found), "")


if __name__ == "__main__":
    what = fault(os.path.realpath(sys.argv[1]))
    print(what or "served")
    sys.exit(1 if what else 0)
