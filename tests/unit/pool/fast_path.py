"""fast_path.py: how many instructions a pool's allocate and deallocate are where nothing has to be fetched.

Compiles fast_path.cpp with a compiler at -O2, disassembles it, and counts from the entry of each function to its first
return, along the path on which no branch is taken; where the compiler puts the slow path first, so that the branch leads
to the fast one, the count is that of the shorter way to a return. The return is not counted: inlined there is none.
Of a free that may be given null the whole function is counted, as the shortest way is that of null.

Usage: fast_path.py COMPILER INCLUDE_FOLDER WORK_FOLDER
Exit status: 0 within the bounds, 1 above one, 77 the compiler is not installed.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

BOUNDS = {"alloc": 5, "free": 3, "cached_alloc": 16, "cached_free": 19, "maybe_null_free": 5}
FUNCTIONS = [f"{call}_{kind}" for call in BOUNDS if call != "maybe_null_free" for kind in ("passed", "static", "class")]
LINE = re.compile(r"^\s*([0-9a-f]+):\s+(\S+)\s*(.*?)\s*$")


def disassemble(compiler: str, include: str, work: Path) -> dict[str, list[tuple[int, str, str]]]:
    source = Path(__file__).with_name("fast_path.cpp")
    product = work / f"fast_path-{Path(compiler).name}.o"
    subprocess.run([compiler, "-std=c++20", "-O2", "-DNDEBUG", f"-I{include}", "-c", source, "-o", product], check=True)
    text = subprocess.run(["objdump", "-d", "--no-show-raw-insn", product], check=True, capture_output=True, text=True)
    functions: dict[str, list[tuple[int, str, str]]] = {}
    name = ""
    for line in text.stdout.splitlines():
        if title := re.match(r"^[0-9a-f]+ <(.*)>:$", line):
            name = title[1]
        elif instruction := LINE.match(line):
            functions.setdefault(name, []).append((int(instruction[1], 16), instruction[2], instruction[3]))
    return functions


def shortest(body: list[tuple[int, str, str]], start: int = 0) -> float:
    """Instructions from body[start] to a return; infinite if the way leads to another function."""
    places = {address: at for at, (address, _, _) in enumerate(body)}
    for at in range(start, len(body)):
        _, operation, operand = body[at]
        if operation.startswith("ret"):
            return at - start
        if operation.startswith("call"):
            return float("inf")
        if operation.startswith("j"):
            target = places.get(int(operand.split()[0], 16)) if operand[:1].isalnum() else None
            # A jump that the linker will fill in leads to the next instruction as it stands: another function.
            taken = float("inf") if target is None or target <= at else shortest(body, target)
            onward = float("inf") if operation == "jmp" else shortest(body, at + 1)
            return at - start + 1 + min(taken, onward)
    return float("inf")


def whole(body: list[tuple[int, str, str]]) -> int:
    """All instructions but returns and what pads the function's end."""
    return sum(1 for _, operation, _ in body if not operation.startswith(("ret", "nop", "cs", "data16", "xchg")))


def main() -> int:
    compiler, include, work = sys.argv[1:]
    if shutil.which(compiler) is None:
        print(f"skipped: no {compiler}")
        return 77
    functions = disassemble(compiler, include, Path(work))
    above = 0
    for name in [*FUNCTIONS, "maybe_null_free"]:
        count = whole(functions[name]) if name in BOUNDS else shortest(functions[name])
        bound = BOUNDS.get(name) or BOUNDS[name.rpartition("_")[0]]
        print(f"{name}: {count} instructions, at most {bound}" + ("" if count <= bound else ": ABOVE"))
        above += count > bound
    return 1 if above else 0


if __name__ == "__main__":
    sys.exit(main())
