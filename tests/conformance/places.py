"""places.py: the heap's place differs from run to run, in every bit from 2 MiB up to 8 TiB, so that no address can be guessed.

Usage: places.py LIBRARY PROGRAM (which prints the address of a block)
"""

import os
import subprocess
import sys

RUNS = 64
LOWEST, HIGHEST = 21, 43  # bits


def main() -> None:
    library, program = sys.argv[1:]
    environment = dict(os.environ, LD_PRELOAD=library)
    places = [int(subprocess.run([program], env=environment, capture_output=True, check=True).stdout, 16)
              for _ in range(RUNS)]
    # A bit that is truly random is the same in all runs once in 2^63.
    stuck = [bit for bit in range(LOWEST, HIGHEST + 1) if len({place >> bit & 1 for place in places}) == 1]
    print(f"{len({place >> LOWEST for place in places})} places in {RUNS} runs; bits that never change: {stuck or 'none'}")
    if stuck:
        sys.exit(1)


main()
