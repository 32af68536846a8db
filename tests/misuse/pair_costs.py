"""pair_costs.py: the instructions of a pair of malloc and free on snug's modes and on others, as a table for docs/misuse.md.

Counted by bench/harness/stepping, one instruction after the other, in minutes: 2048 blocks are allocated, then freed, until
300,000 instructions of a size are counted, after 64 times that are not. So what an allocator does only now and then has
its share. The kernel's own instructions are not counted.
--write writes the table into the page.

Usage: pair_costs.py [--write] STEP_COUNT STEP_SUBJECT LIBSNUG_SO
"""

import json
import os
import platform
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from misuse_table import END, PAGE, PEERS, Allocator, find_library, peer

BEGIN = "<!-- costs: scripts/misuse_table -->\n"
COSTLY = ["scudo", "hardened_malloc"]  # what is made to find misuse
MODES = {"snug": "", "snug `check:sample`": "check:sample", "snug `check:on`": "check:on"}


def count(allocator: Allocator, step_count: str, step_subject: str) -> dict[str, float]:
    """Instructions of a pair, by its size."""
    environment = {key: value for key, value in os.environ.items() if key not in ("LD_PRELOAD", "SNUG_CONF")}
    command = [step_count, "--subject", step_subject, "--kind", "pairs", "--json"]
    if allocator.library:
        command += ["--allocator", find_library(allocator.library)]
    if allocator.configuration:
        environment["SNUG_CONF"] = allocator.configuration
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return {name.removeprefix("batch_pair/"): figure for name, figure in json.loads(ran.stdout)["counts"].items()}


def main() -> int:
    *options, step_count, step_subject, library = sys.argv[1:]
    allocators = [Allocator(heading, library, configuration) for heading, configuration in MODES.items()]
    allocators += [peer(name, PEERS[name]) for name in COSTLY]
    allocators.append(Allocator(f"glibc {platform.libc_ver()[1]}", ""))
    with ThreadPoolExecutor(max_workers=2) as pool:
        counted = list(pool.map(lambda allocator: count(allocator, step_count, step_subject), allocators))
    lines = [["a pair of", *(f"{size} bytes" for size in counted[0])], ["---"] * (1 + len(counted[0]))]
    for allocator, counts in zip(allocators, counted, strict=True):
        lines.append([allocator.heading, *(f"{figure:.0f}" for figure in counts.values())])
    table = "".join(f"| {' | '.join(line)} |\n" for line in lines)
    print(table, end="")
    if options == ["--write"]:
        before, _, rest = PAGE.read_text().partition(BEGIN)
        PAGE.write_text(before + BEGIN + table + END + rest.partition(END)[2])
    return 0


if __name__ == "__main__":
    sys.exit(main())
