"""A program of known stacks under snug_python_profile: says whether what the profile tells is right, and ends with 1 if not.

Run by test_python_profile.py, which builds the extension and preloads snug.
"""

import ctypes
import gc
import os
import sys
import threading

import snug_python_profile

MIB = 1 << 20
DISTANCE = 16 << 10


def keep(mib):
    return [bytearray(4096) for _ in range(mib * MIB // 4096)]  # line KEEP


def keep_by_two_ways(mib):
    return keep(mib)


def drop(mib):
    for _ in range(mib):
        del [bytearray(4096) for _ in range(MIB // 4096)][:]


class Größe:
    """A name beyond ASCII."""

    def fülle(self, mib):
        self.blocks = [bytearray(100_000) for _ in range(mib * 10)]


def without_gil(malloc, count):
    return [malloc(100_000) for _ in range(count)]


def cycles():
    """Objects that the collector frees, in the middle of someone's allocation."""
    for _ in range(200_000):
        pair = []
        pair.append((pair, bytearray(50)))


def stacks(path):
    """What was written: bytes by stack."""
    told = {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            stack, value = line.rstrip("\n").rsplit(" ", 1)
            told[stack] = told.get(stack, 0) + int(value)
    return told


def under(told, *functions):
    """MiB of the stacks that have these calls, one below the other."""
    def has(stack):
        names = [frame.split(" (")[0] for frame in stack.split(";")]
        return any(names[i:i + len(functions)] == list(functions) for i in range(len(names)))
    return sum(value for stack, value in told.items() if has(stack)) / MIB


def expect(what, value, wanted, share=0.15):
    good = abs(value - wanted) <= wanted * share + 0.5
    print(f"{'ok' if good else 'OFF'}: {what}: {value:.1f} MiB, {wanted} wanted")
    return good


def main(path):
    snug_python_profile.start(DISTANCE)
    malloc = ctypes.CDLL(None).malloc  # ctypes lets the GIL go meanwhile
    malloc.restype = ctypes.c_void_p
    malloc.argtypes = [ctypes.c_size_t]
    free = ctypes.CDLL(None).free
    free.argtypes = [ctypes.c_void_p]
    held = keep(32), keep_by_two_ways(48)
    drop(100)
    large = Größe()
    large.fülle(20)
    native = without_gil(malloc, 300)
    threads = [threading.Thread(target=cycles) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    gc.collect()
    snug_python_profile.write(path)
    told = stacks(path)
    line = next(n for n, text in enumerate(open(__file__, encoding="utf-8"), 1) if text.endswith("# line KEEP\n"))
    good = [
        expect("main;keep", under(told, "main", "keep"), 32),
        expect("keep_by_two_ways;keep", under(told, "keep_by_two_ways", "keep"), 48),
        expect("drop", under(told, "drop"), 0),
        expect("Größe.fülle", under(told, "main", "Größe.fülle"), 20 * 10 * 100_000 / MIB),
        expect("cycles", under(told, "cycles"), 0),
        expect("without the GIL", under(told, "[without the GIL]"), 300 * 100_000 / MIB),
        expect(f"at line {line}", sum(value for stack, value in told.items() if f"job.py:{line})" in stack) / MIB, 80),
    ]
    for block in native:
        free(block)
    del held, large
    child = os.fork()
    if child == 0:  # goes on with what the parent had
        held = keep(16)
        snug_python_profile.write(path + ".child")
        os._exit(0 if expect("the child's keep", under(stacks(path + ".child"), "main", "keep"), 16) else 1)
    good.append(os.waitpid(child, 0)[1] == 0)
    snug_python_profile.stop()
    keep(8)
    snug_python_profile.write(path)
    good.append(expect("at the end", sum(stacks(path).values()) / MIB, 0))
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
