"""memory_checkers.py: what AddressSanitizer and valgrind's memcheck say of programs that use what snug has taken back.

Runs doors.cpp for each of its doors, well-behaved, of which the checker must say nothing, and with a read and a write of
the first and the last word of what was freed, each of which it must tell. Of a door that it is not told of it must not
tell a read, so that a door which is told of is listed as such, and documented.

Usage: memory_checkers.py asan|memcheck PROGRAM
Exit status: 0 if all is as it must be, 1 otherwise, 77 if there is no valgrind.
"""

import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

ACTS = ["well-behaved", "read-first", "read-last", "write-first", "write-last"]


def run(checker: str, program: str, door: str, act: str, is_told: bool) -> str:
    """Empty if the checker does what it must, else what is wrong."""
    command = [program, door, act]
    if checker == "memcheck":
        command = ["valgrind", "-q", "--error-exitcode=9", "--leak-check=no", *command]
    environment = {**os.environ, "ASAN_OPTIONS": "detect_leaks=0"}
    result = subprocess.run(command, env=environment, capture_output=True, text=True)
    said = result.stdout + result.stderr
    if act == "well-behaved" or not is_told:
        wrong = result.returncode != 0 or said != ""
    else:
        kind = act.partition("-")[0]
        told = rf"^{kind.upper()} of size 8" if checker == "asan" else rf"Invalid {kind} of size 8"
        wrong = result.returncode == 0 or not re.search(told, said, re.MULTILINE)
    return f"{door} {act}: status {result.returncode}, {said[:1500]!r}" if wrong else ""


def main() -> int:
    checker, program = sys.argv[1:]
    if checker == "memcheck" and shutil.which("valgrind") is None:
        print("skipped: no valgrind")
        return 77
    listed = subprocess.run([program, "list"], capture_output=True, text=True, check=True).stdout.split("\n")
    doors = {words[0]: checker in words[1:] for words in map(str.split, listed) if words}
    cases = [(door, act, is_told) for door, is_told in doors.items() for act in (ACTS if is_told else ACTS[:2])]
    with ThreadPoolExecutor(max_workers=2) as pool:
        wrong = [text for text in pool.map(lambda case: run(checker, program, *case), cases) if text]
    told = sum(doors.values())
    print("\n".join(wrong) or f"{checker}: told of {told} of {len(doors)} doors, {len(cases)} runs as they must be")
    return 1 if wrong or not told else 0


if __name__ == "__main__":
    sys.exit(main())
