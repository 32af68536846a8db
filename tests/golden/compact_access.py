"""compact_access.py: what it takes to come to an object of a compacting heap, counted in the code that the compiler makes of
compact_access.cpp: the shortest way through each function, which is the one that is gone if nothing is wrong.

Usage: compact_access.py OBJECT_FILE CHECKED UNCHECKED SECTION SHARED_CHECKED SHARED_UNCHECKED SHARED_SECTION, the most
instructions of each; shared: of a heap that several threads have
"""

import re
import subprocess
import sys

INSTRUCTION = re.compile(r"\s+([0-9a-f]+):\t(?:(?:data16|cs|notrack|rep|repz|bnd) )*(\S+)\s*(\S*)")


def read_functions(file: str) -> dict[str, list[list[str]]]:
    """Name to [address, operation, operand] of each instruction; the operand of a jump out of the function is empty."""
    functions, body = {}, []
    run = ["objdump", "-dr", "--no-show-raw-insn", file]
    for line in subprocess.run(run, check=True, capture_output=True, text=True).stdout.splitlines():
        if match := re.match(r"[0-9a-f]+ <(\S+)>:", line):
            body = functions.setdefault(match[1], [])
        elif re.match(r"\s+[0-9a-f]+:\s+R_\w+\s", line):
            body[-1][2] = ""
        elif match := INSTRUCTION.match(line):
            body.append(list(match.groups()))
    return functions


def shortest(body: list[list[str]]) -> int:
    """Instructions from the entry to the end, a return or a jump through a register included."""
    place = {address: index for index, (address, _, _) in enumerate(body)}
    reached, ways = set(), [(0, 1)]
    for index, length in ways:  # which grows: a search in breadth
        if index in reached:
            continue
        reached.add(index)
        _, operation, operand = body[index]
        if operation.startswith("ret") or (operation == "jmp" and operand.startswith("*")):
            return length
        if operation.startswith("j") and operand in place:
            ways.append((place[operand], length + 1))
        if operation != "jmp" and index + 1 < len(body):
            ways.append((index + 1, length + 1))
    sys.exit("no way leads to the function's end")


def main() -> None:
    code = read_functions(sys.argv[1])
    functions = {name: shortest(code[name]) for name in (
        "checked", "one", "two", "section", "nothing", "checked_shared", "unchecked_shared", "shared_section",
        "nothing_shared")}
    counts = {
        "checked": functions["checked"] - 2,
        "unchecked": functions["two"] - functions["one"],
        "section": functions["section"] - functions["nothing"],
        "checked_shared": functions["checked_shared"] - 2,
        "unchecked_shared": functions["unchecked_shared"] - 3,
        "section_shared": functions["shared_section"] - functions["nothing_shared"],
    }
    bounds = dict(zip(counts, map(int, sys.argv[2:])))
    print(", ".join(f"{name} {count} (bound {bounds.get(name, 99)})" for name, count in counts.items()))
    sys.exit(any(count > bounds.get(name, 99) for name, count in counts.items()))


main()
