"""A copy of the sources in which each tuned constant is a variable, and the library that is built of it once.

The compiler must not know a variable's value: it is marked as used, so that what is not seen may write to it. Thus all
variants have the same code, laid out in the same way, and differ in one number of their data.
"""

import hashlib
import os
import re
import shutil
import subprocess
from pathlib import Path

from snug_bench.problem import Problem
from snug_sensitivity.constants import ANY_NAME, DECLARATION, Constant

COPIED = ("CMakeLists.txt", "CMakePresets.json", "cmake", "include", "src", "trace", "recorder")
OPTIONS = ("-DCMAKE_BUILD_TYPE=RelWithDebInfo", "-DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O2 -DNDEBUG", "-DSNUG_BUILD_TOOLS=OFF", "-DSNUG_BUILD_BENCH=OFF", "-DSNUG_BUILD_TESTS=OFF")


def as_variable(found: re.Match[str]) -> str:
    before = found["before"].replace("inline ", "")
    if found["before"] == "inline " or (found["before"] == "static " and found["indent"]):
        before += "inline "  # of a namespace in a header, or of a class: one variable, however many files include it
    elif found["indent"]:
        before += "static "  # of a function
    return f"{found['indent']}[[gnu::used]] {before}constinit {found['type']} {found['name']}{found['value']};"


def as_expression(found: re.Match[str]) -> str:
    value = found["value"].removeprefix(" = ")
    return f"#define {found['name']} ({value})"


def tunable(text: str, names: list[str], of_headers: list[str] | None = None) -> str:
    """The file with those of its constants as variables, and what is made of them, or of those of headers, as expressions."""
    for name in names:
        text = Constant("", name).pattern().sub(as_variable, text)
    uses = re.compile(rf"\b({'|'.join([*names, *(of_headers or [])])})\b")
    derived = re.compile(DECLARATION.format(ANY_NAME), re.MULTILINE)
    return derived.sub(lambda found: as_expression(found) if uses.search(found["value"]) else found[0], text)


def fingerprint_of(root: Path, constants: list[Constant]) -> str:
    """Of all that decides what is built."""
    seen = hashlib.sha256(repr(constants).encode())
    for name in COPIED:
        for file in sorted(each for each in (root / name).rglob("*") if each.is_file()) if (root / name).is_dir() else [root / name]:
            seen.update(str(file.relative_to(root)).encode() + b"\0" + file.read_bytes())
    return seen.hexdigest()


def copy_tunable(root: Path, place: Path, constants: list[Constant]) -> None:
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    for name in COPIED:
        source = root / name
        if source.is_dir():
            shutil.copytree(source, place / name)
        elif source.is_file():
            shutil.copy2(source, place / name)
    of_headers = [each.name for each in constants if each.file.endswith(".h")]
    for target in sorted(each for each in (place / "src").rglob("*") if each.suffix in (".h", ".cpp")):
        names = [each.name for each in constants if place / each.file == target]
        before = target.read_text("utf-8")
        if (text := tunable(before, names, of_headers)) != before:
            target.write_text(text, "utf-8")


def build_tunable(root: Path, place: Path, constants: list[Constant]) -> Path:
    """The library, which is left alone if it was built of the same. Raises Problem with the compiler's first complaint."""
    sources, build, mark = place / "source", place / "build", place / "built"
    library, fingerprint = build / "lib" / "libsnug.so", fingerprint_of(root, constants)
    if library.is_file() and mark.is_file() and mark.read_text("utf-8") == fingerprint:
        return library.resolve()
    copy_tunable(root, sources, constants)
    for command in (["cmake", "-G", "Ninja", "-S", str(sources), "-B", str(build), *OPTIONS],
                    ["cmake", "--build", str(build), "--target", "snug_shared", "--parallel", str(os.cpu_count() or 1)]):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            said = done.stdout + done.stderr
            complaint = next((line for line in said.splitlines() if "error" in line.lower()), said.strip()[-200:])
            raise Problem(f"the tunable copy was not built: {complaint}", 1)
    mark.write_text(fingerprint, "utf-8")
    return library.resolve()
