"""each_function.py: every function that libsnug.so exports has a test of what it promises, and one of misuse.

A function is tested where a source of tests/conformance calls it, under its own name or as subject::NAME, by which the
family of malloc is called there. It is tested for misuse where such a source expects something of the call in a test
that says so in its name (refuses, ends_the_process; takes_any, where every argument is right), or where a program of
tests/misuse has a line that names it.

Usage: each_function.py LIBRARY SOURCE
"""

import re
import subprocess
import sys
from pathlib import Path

NO_CODE = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
CALL = re.compile(r"\b(?:snug_|subject::)(\w+)\(")
TEST = re.compile(r"^TEST(?:_\w)?\(\w+, (\w+)\) \{(.*?)(?:^| )\}$", re.DOTALL | re.MULTILINE)
OF_MISUSE = re.compile(r"refuse|ends_the_process")
EXPECTED = re.compile(r"EXPECT|ASSERT|expect|refused")
MISUSED = re.compile(r"^/\* EXPECT .*?snug: (?:\.\*)?(?:snug_)?(\w+)\\\(\{address\}")
# Of these nothing can be seen to be wrong: they have no argument, or only say where to write what they tell, or ask a
# heap that bears no mark.
NEVER_WRONG = {"version", "mallinfo2", "malloc_stats", "get_stats", "get_memory", "thread_idle", "profile_stop",
               "profile_distance", "compact_get_stats", "compact_check"}  # fmt: skip


def exported(library: str) -> set[str]:
    lines = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    return set(re.findall(r" snug_(\w+)(?:@\S+)?$", lines, re.MULTILINE))


def called_wrongly(text: str) -> set[str]:
    """The functions of which a test of misuse in the source expects something."""
    names: set[str] = set()
    for test, body in TEST.findall(text):
        if "takes_any" in test:
            names.update(CALL.findall(body))
        elif OF_MISUSE.search(test):
            names.update(name for part in body.split(";") if EXPECTED.search(part) for name in CALL.findall(part))
    return names


def main() -> None:
    library, source = sys.argv[1], Path(sys.argv[2])
    called: set[str] = set()
    misused: set[str] = set()
    for path in (source / "tests/conformance").rglob("*.c*"):
        text = path.read_text(encoding="utf-8")
        called.update(CALL.findall(NO_CODE.sub("", text)))
        misused |= called_wrongly(text)
    for path in (source / "tests/misuse").glob("*.c*"):
        misused.update(MISUSED.findall(path.read_text(encoding="utf-8")))
    functions = exported(library)
    complaints = [f"snug_{name}: no test in tests/conformance calls it" for name in sorted(functions - called)]
    without = functions - misused - NEVER_WRONG
    complaints += [f"snug_{name}: no test of how it is used wrongly" for name in sorted(without)]
    complaints += [f"snug_{name}: not exported, but never wrong" for name in sorted(NEVER_WRONG - functions)]
    print(f"{len(functions)} functions")
    if complaints or not functions:
        sys.exit("\n".join(complaints) or f"{library} exports none")


main()
