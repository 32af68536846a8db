"""longest_way.py: an upper bound of a call's instructions, from a linked program's code: the longest way from a function's
first instruction to its return, of those that come through another function. No state can take a longer one, as no way has a
loop, which is proved. Ways that end in a report of misuse do not count.

Usage: longest_way.py PROGRAM [--never NAME]... [--outside NAME=COUNT]... {FUNCTION THROUGH BOUND}...

Names are parts of mangled ones. Of what a function never calls the caller says why; what lies outside of the program, as
libc's functions, counts as so many instructions.
"""

import argparse
import functools
import re
import subprocess
import sys
from typing import NamedTuple

sys.setrecursionlimit(100000)
NONE = float("-inf")


class Step(NamedTuple):
    operation: str
    target: int | None  # of a jump or a call
    name: str  # what lies there
    behind: int


class Program:
    def __init__(self, path: str, never: list[str], outside: dict[str, int]) -> None:
        self.steps: dict[int, Step] = {}
        self.entries: dict[str, int] = {}
        self.never, self.outside = never, outside
        self.name_of: dict[int, str] = {}
        run = ["objdump", "-d", "--no-show-raw-insn", path]
        last = None
        for line in subprocess.run(run, check=True, capture_output=True, text=True).stdout.splitlines():
            if match := re.match(r"([0-9a-f]+) <(\S+)>:", line):
                self.entries[match[2]] = int(match[1], 16)
                self.name_of[int(match[1], 16)] = match[2]
            elif match := re.match(r"\s+([0-9a-f]+):\t(?:(?:data16|addr32|cs|ds|notrack|rep|repz|bnd|lock) )*(\S+)\s*(.*)", line):
                address = int(match[1], 16)
                if last is not None:
                    self.steps[last] = self.steps[last]._replace(behind=address)
                aim = re.match(r"([0-9a-f]+) <([^>+]+)", match[3])
                self.steps[address] = Step(match[2], int(aim[1], 16) if aim else None, aim[2] if aim else match[3], 0)
                last = address

    def entry(self, part: str) -> int:
        found = [address for name, address in self.entries.items() if part == name] or [
            address for name, address in self.entries.items() if part in name and ".cold" not in name]
        if len(found) != 1:
            sys.exit(f"longest_way: {len(found)} functions are called {part}")
        return found[0]

    def is_dead(self, step: Step) -> bool:
        """No way that counts goes on here."""
        if step.operation in {"ud2", "hlt", "int3"}:
            return True
        return step.operation in {"call", "jmp"} and (
            "misuse" in step.name or any(part in step.name for part in self.never))

    def outside_of(self, step: Step) -> int | None:
        return next((count for part, count in self.outside.items() if part in step.name), None)

    def followers(self, address: int) -> list[int]:
        """Where a way may go, into what it calls as well."""
        step = self.steps[address]
        if step.operation.startswith("ret") or self.is_dead(step):
            return []
        if self.outside_of(step) is not None:
            return [step.behind] if step.operation == "call" else []
        into = [step.target] if step.target in self.steps else []
        if step.operation == "jmp":
            return into
        return into + [step.behind] if step.operation == "call" or step.operation.startswith("j") else [step.behind]


def longest(program: Program, name: str, through: str) -> float:
    start, middle = program.entry(name), program.entry(through)
    # What leads to the middle; the rest is none of ours.
    before: dict[int, set[int]] = {}
    seen, waiting = {start}, [start]
    while waiting:
        address = waiting.pop()
        for follower in program.followers(address) if address != middle else []:
            before.setdefault(follower, set()).add(address)
            if follower not in seen:
                seen.add(follower)
                waiting.append(follower)
    leads, waiting = {middle}, [middle]
    while waiting:
        for address in before.get(waiting.pop(), set()) - leads:
            leads.add(address)
            waiting.append(address)
    under_way: set[tuple[int, bool]] = set()

    @functools.cache
    def from_here(address: int, has_come: bool) -> float:
        """Instructions to the return, through the middle unless the way has come there already."""
        if address == middle:
            has_come = True
        if not has_come and address not in leads:
            return NONE
        if (address, has_come) in under_way:
            sys.exit(f"longest_way: {name} has a loop at {address:x}")
        under_way.add((address, has_come))
        step = program.steps[address]
        if step.operation.startswith("ret"):
            rest = 0 if has_come else NONE
        elif program.is_dead(step):
            rest = NONE
        elif step.operation in {"call", "jmp"} and (count := program.outside_of(step)) is not None:
            rest = count + (from_here(step.behind, has_come) if step.operation == "call" else 0)
        elif step.operation == "call":
            if step.target not in program.steps:
                sys.exit(f"longest_way: {name} calls {step.name} at {address:x}")
            rest = from_here(step.target, has_come)
            rest = rest + from_here(step.behind, True) if rest != NONE else NONE
            if not has_come and (later := from_here(step.behind, False)) != NONE:
                rest = max(rest, from_here(step.target, True) + later)
        elif step.operation == "jmp":
            if step.target not in program.steps:
                sys.exit(f"longest_way: {name} jumps to {step.name} at {address:x}")
            rest = from_here(step.target, has_come)
        elif step.operation.startswith("j"):
            rest = max(from_here(step.target, has_come), from_here(step.behind, has_come))
        else:
            rest = from_here(step.behind, has_come)
        under_way.remove((address, has_come))
        return 1 + rest

    return from_here(start, False)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--never", action="append", default=[])
    parser.add_argument("--outside", action="append", default=[])
    parser.add_argument("bounds", nargs="+")
    options = parser.parse_args()
    outside = {name: int(count) for name, count in (one.split("=") for one in options.outside)}
    program = Program(options.program, options.never, outside)
    status = 0
    for name, through, bound in zip(options.bounds[::3], options.bounds[1::3], options.bounds[2::3]):
        length = longest(program, name, through)
        print(f"{name} through {through}: no loop, at most {length} instructions on any way (bound {bound})")
        status |= not 0 < length <= int(bound)
    sys.exit(status)


main()
