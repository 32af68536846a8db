"""compiling.py: what the headers of pools and cell heaps make a compiler say, and how much it reads for pool.h.

Each of REFUSED must end in one error, and a line that has its words: a wrong policy is named, not what becomes of it.
What pool.h costs a compiler is told in lines, as what it takes in time depends on what else the machine does: of all
that is read for it, blank lines not counted. One of the standard library's large headers brings 20,000 and more.

Usage: compiling.py COMPILER INCLUDE_FOLDER
Exit status: 0 if all is as it must be, 1 otherwise, 77 the compiler is not installed.
"""

import re
import shutil
import subprocess
import sys

MOST_LINES = 12_000  # 9,669 with GCC 12's library
CELL = "#include <snug/cell_heap.h>\n"
POOL = "#include <snug/pool.h>\n"
SOURCE = "{ void* allocate(std::size_t, std::size_t) %s; void deallocate(void*, std::size_t, std::size_t); };\n"
REFUSED = [
    (POOL + "snug::Pool<long, int> pool;", "PoolThreads"),
    (POOL + "snug::Pool<long, snug::SingleThread, snug::Locked> pool;", "PoolChecks"),
    (POOL + "snug::Pool<long, snug::SingleThread, snug::Unchecked, int> pool;", "PoolSource"),
    (POOL + "struct Throwing " + SOURCE % "" + "snug::Pool<long, snug::Locked, snug::Checked, Throwing> pool;", "PoolSource"),
    (CELL + "struct Mine : snug::CellPolicy { using Fit = int; };\nsnug::CellHeap<Mine> heap;", "CellHeapPolicy"),
    (CELL + "struct Mine : snug::CellPolicy { using Checks = void; };\nsnug::CellHeap<Mine> heap;", "CellHeapPolicy"),
    (
        "#include <snug/pooled.h>\nstruct Apple { int weight; };\nstruct Pear : snug::Pooled<Apple> {};\n"
        "void* grow() { return new Pear; }",
        "is a base of T itself",
    ),
]
TAKEN = [
    POOL + "struct Quiet " + SOURCE % "noexcept" + "snug::Pool<long, snug::Locked, snug::Checked, Quiet> pool;",
    CELL + "struct Mine : snug::CellPolicy { using Fit = snug::RovingScan; };\nsnug::CellHeap<Mine> heap;",
    "#include <snug/pooled.h>\nstruct Apple : snug::Pooled<Apple> {};\nvoid* grow() { return new Apple; }",
]


def compile_text(compiler: str, include: str, text: str) -> tuple[int, str]:
    command = [compiler, "-std=c++20", "-fsyntax-only", f"-I{include}", "-x", "c++", "-"]
    result = subprocess.run(command, input=text + "\n", capture_output=True, text=True)
    return result.returncode, result.stderr


def lines_read(compiler: str, include: str, text: str) -> int:
    command = [compiler, "-std=c++20", "-E", "-P", f"-I{include}", "-x", "c++", "-"]
    read = subprocess.run(command, input=text + "\n", capture_output=True, text=True, check=True).stdout
    return sum(not line.isspace() for line in read.splitlines(keepends=True))


def main() -> int:
    compiler, include = sys.argv[1:]
    if shutil.which(compiler) is None:
        print(f"skipped: no {compiler}")
        return 77
    wrong = 0
    for text, words in REFUSED:
        status, said = compile_text(compiler, include, text)
        errors = [line for line in said.splitlines() if re.search(r"\berror:", line)]
        if status == 0 or len(errors) != 1 or words not in said:
            wrong += 1
            print(f"not refused by one error that says {words!r}:\n{text}\n{said}")
    for text in TAKEN:
        status, said = compile_text(compiler, include, text)
        if status != 0:
            wrong += 1
            print(f"refused:\n{text}\n{said}")
    lines = lines_read(compiler, include, POOL)
    print(f"pool.h: {lines} lines are read, at most {MOST_LINES}")
    return 1 if wrong or lines > MOST_LINES else 0


if __name__ == "__main__":
    sys.exit(main())
