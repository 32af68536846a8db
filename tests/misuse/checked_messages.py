"""checked_messages.py: what a checked process says of each misuse of misuses.cc, and when.

Usage: checked_messages.py PROGRAM LIBSNUG_SO
"""

import os
import re
import resource
import signal
import subprocess
import sys

BLOCK = r"; block 0x[0-9a-f]+"
SMALL = BLOCK + r" of 100 bytes by malloc, class of 112"
OVERRUN = r"free\(0x[0-9a-f]+\): written to beyond its end" + BLOCK
FREE = r"free\(0x[0-9a-f]+\): block is already free" + BLOCK
INSIDE = r"free\(0x[0-9a-f]+\): points inside a block, at byte "
AFTER = r"free\(0x[0-9a-f]+\): written to after it was freed, at byte 0" + BLOCK
FOREIGN = r"free\(0x[0-9a-f]+\): not a block of this heap"

# The line, and whether the misuse itself ends the process.
EXPECTED = {
    "double_free": (FREE + " of 100 bytes by malloc, class of 112", True),
    "double_free_after_another": (FREE + " of 100 bytes by malloc, class of 112", True),
    "double_free_handed_out": (FREE + " of 100 bytes by malloc, class of 112", True),
    "double_free_late": (FREE + " of 100 bytes by malloc, class of 112", True),
    "double_free_10k": (FREE + " of 10240 bytes by malloc, class of 12288", True),
    "double_free_100k": (FREE + " of 102400 bytes by malloc, class of 114688", True),
    "double_free_1m": (FREE + " of 1048576 bytes by malloc, class of 1064960", True),
    "double_free_1m_handed_out": (FREE + " of 1048576 bytes by malloc, class of 1064960", True),
    "double_free_across_threads": (FREE + " of 100 bytes by malloc, class of 112", True),
    "free_of_stack": (FOREIGN, True),
    "free_of_static": (FOREIGN, True),
    "free_inside_16": (INSIDE + "16" + SMALL, True),
    "free_inside_8": (INSIDE + "8" + SMALL, True),
    "free_inside_late": (INSIDE + "16" + SMALL, True),
    "free_inside_large": (INSIDE + r"\d+" + BLOCK + r" of 1048576 bytes by malloc, class of 1064960", True),
    "free_hand_aligned": (INSIDE + r"\d+" + BLOCK + r" of 1064 bytes by malloc, class of 1280", True),
    "overflow_by_one": (OVERRUN + " of 100 bytes by malloc, class of 112", False),
    "overflow_into_neighbour": (OVERRUN + ", class of 112", False),
    "underflow": (OVERRUN + ", class of 112", False),
    "write_after_free": (AFTER + " of 100 bytes by malloc, class of 112", False),
    "write_after_free_1m": (AFTER + " of 1048576 bytes by malloc, class of 1064960", False),
    "realloc_of_freed": (FREE.replace("free", "realloc", 1) + " of 100 bytes by malloc, class of 112", True),
    "realloc_inside": (INSIDE.replace("free", "realloc", 1) + "16" + SMALL, True),
    "new_and_free": (r"free\(0x[0-9a-f]+\): was allocated by new" + BLOCK + " of 40 bytes by new, class of 48", True),
    "malloc_and_delete": (r"delete\(0x[0-9a-f]+\): was allocated by malloc" + BLOCK + " of 40 bytes by malloc, class of 48", True),
    "new_array_and_delete_destructor": (INSIDE.replace("free", "delete", 1) + "8" + BLOCK
                                        + r" of 408 bytes by new\[\], class of 448", True),
    "new_array_and_delete": (r"delete\(0x[0-9a-f]+\): was allocated by new\[\]" + BLOCK
                             + r" of 400 bytes by new\[\], class of 448", True),
    "delete_too_small": (r"delete\(0x[0-9a-f]+\): was told a wrong size, 16" + BLOCK + " of 500 bytes by new, class of 512", True),
    "delete_too_large": (r"delete\(0x[0-9a-f]+\): was told a wrong size, 500" + BLOCK + " of 16 bytes by new, class of 32", True),
}


def main() -> int:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    program, library = sys.argv[1:]
    environment = {**os.environ, "LD_PRELOAD": library, "SNUG_CONF": "check:on"}
    listed = subprocess.run([program], env=environment, capture_output=True, text=True, check=True)
    names = [line.split("\t")[0] for line in listed.stdout.splitlines()[1:]]
    if names != list(EXPECTED):
        print(f"the misuses are {names}")
        return 1
    wrong = 0
    for name, (pattern, at_once) in EXPECTED.items():
        ran = subprocess.run([program, name], env=environment, capture_output=True, text=True, check=False)
        good = (ran.returncode == -signal.SIGABRT and re.fullmatch(f"snug: {pattern}\n", ran.stderr)
                and ("committed" in ran.stdout) != at_once)
        if not good:
            wrong += 1
            print(f"{name}: ended with {ran.returncode}, {ran.stdout!r}, {ran.stderr!r}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
