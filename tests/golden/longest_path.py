"""longest_path.py: an upper bound of the cell heap's worst case, from the code alone: the longest way through the
functions' instructions, whatever the state of the heap. It can be found because they have no loop, which is proved on the
way. Ways that end in a report of misuse do not count.

Usage: longest_path.py libsnug_cell.a FUNCTION BOUND [FUNCTION BOUND]...
"""

import functools
import re
import subprocess
import sys


def read_functions(archive: str) -> dict[str, list[tuple[str, str, str, str]]]:
    """Name to (address, operation, operand, relocation) of each instruction; names are mangled."""
    run = ["objdump", "-dr", "--no-show-raw-insn", archive]
    functions, body = {}, []
    for line in subprocess.run(run, check=True, capture_output=True, text=True).stdout.splitlines():
        if match := re.match(r"[0-9a-f]+ <(\S+)>:", line):
            body = functions.setdefault(match[1], [])
        elif match := re.match(r"\s+([0-9a-f]+):\s+R_\w+\s+(\S+?)(?:[-+]0x\w+)?$", line):
            address, operation, operand, _ = body[-1]
            body[-1] = (address, operation, operand, match[2])
        elif match := re.match(r"\s+([0-9a-f]+):\t(?:(?:data16|cs|notrack|rep|repz|bnd) )*(\S+)\s*(\S*)", line):
            body.append((match[1], match[2], match[3], ""))
    return functions


def longest(functions: dict, name: str) -> int:
    """Instructions from the entry to a return; a call counts with what it leads to."""
    body = functions[name]
    place = {address: index for index, (address, *_) in enumerate(body)}
    under_way = set()

    @functools.cache
    def from_here(index: int) -> float:
        if index in under_way:
            sys.exit(f"{name} has a loop at {body[index][0]}")
        under_way.add(index)
        _, operation, operand, relocation = body[index]
        if operation.startswith("ret"):
            rest = 0
        elif operation == "call":
            target = relocation.split("@")[0]
            # Clang inlines the report: a call of the handler, and a trap behind it.
            if "misuse" in relocation or (operand.startswith("*") and body[index + 1][1] == "ud2"):
                rest = float("-inf")
            elif target in functions and target != name:
                rest = longest(functions, target) + from_here(index + 1)
            else:
                sys.exit(f"{name} calls {relocation or operand}")
        elif operation == "ud2":
            rest = float("-inf")
        elif operation == "jmp":
            target = relocation.split("@")[0]
            rest = longest(functions, target) if target in functions else from_here(place[operand])
        elif operation.startswith("j"):
            rest = max(from_here(place[operand]), from_here(index + 1))
        else:
            rest = from_here(index + 1)
        under_way.remove(index)
        return 1 + rest

    return from_here(0)


def main() -> None:
    archive, *pairs = sys.argv[1:]
    functions = read_functions(archive)
    status = 0
    for name, bound in zip(pairs[::2], pairs[1::2]):
        length = longest(functions, name)
        print(f"{name}: no loop, at most {length} instructions on any way (bound {bound})")
        status |= length > int(bound)
    sys.exit(status)


main()
