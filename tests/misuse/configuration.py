"""configuration.py: a mistake in SNUG_CONF is named once on stderr, and the program goes on.

Usage: configuration.py LIBRARY PROGRAM CASE     (CASE: a name in CASES, or every_key, class_files or report_to_a_pipe)
"""

import fcntl
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

UNKNOWN = "snug: SNUG_CONF: unknown key '{}'"
REFUSED = "snug: SNUG_CONF: bad value '{}' for '{}': {}"
BAD = "snug: SNUG_CONF: bad value '{}' for '{}': expected .+"

# SNUG_CONF, and the pattern of each line it must cause, in order.
CASES: dict[str, tuple[str, list[str]]] = {
    "absent": ("", []),
    "unknown_key": ("frobnicate:1", [UNKNOWN.format("frobnicate")]),
    "unknown_keys": ("frobnicate:1,twiddle:2", [UNKNOWN.format("frobnicate"), UNKNOWN.format("twiddle")]),
    "unknown_key_without_value": ("frobnicate", [UNKNOWN.format("frobnicate")]),
    "bad_value": ("classes:purple", [BAD.format("purple", "classes")]),
    "bad_value_empty": ("classes:", [BAD.format("", "classes")]),
    "good_value": ("classes:dense", []),
    "mixed": ("frobnicate:1,classes:purple", [UNKNOWN.format("frobnicate"), BAD.format("purple", "classes")]),
    "mistake_does_not_hide_the_rest": ("classes:dense,frobnicate:1", [UNKNOWN.format("frobnicate")]),
    "long": ("x" * 3000 + ":1," + "y" * 3000, [UNKNOWN.format(r"x{256}\.\.\."), UNKNOWN.format(r"y{256}\.\.\.")]),
    "control_characters": ("two\nlines:1,classes:\x1b[2J\n", [UNKNOWN.format("two.lines"),
                                                             BAD.format(r"\?\[2J\?", "classes")]),
    "report_without_a_folder": ("report:/no/such\tfolder/file",
                                [REFUSED.format(r"/no/such\?folder/file", "report", "there is no such folder")]),
    "report_to_a_folder": ("report:/", [REFUSED.format("/", "report", "it is a folder")]),
    "served_to_a_folder": ("served:/", [REFUSED.format("/", "served", "it is a folder")]),
}


def run(library: str, program: str, configuration: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = dict(os.environ, LD_PRELOAD=library, SNUG_CONF=configuration)
    return subprocess.run([program, *arguments], env=environment, capture_output=True, text=True)


def complaint(library: str, program: str, configuration: str, patterns: list[str]) -> str | None:
    done = run(library, program, configuration)
    lines = done.stderr.splitlines()
    if done.returncode != 0:
        return f"SNUG_CONF={configuration[:80]}: the program did not go on, it ended with {done.returncode}: {done.stderr}"
    if len(lines) != len(patterns) or not all(map(re.fullmatch, patterns, lines)):
        return f"SNUG_CONF={configuration[:80]}: stderr is {lines}, wanted {patterns}"
    return None


def every_key(library: str, program: str) -> str | None:
    """Each key that is no path refuses nonsense, and accepts its own default."""
    listed = run(library, program, "", "keys")
    keys = [line.split("\t") for line in listed.stdout.splitlines()]
    if listed.returncode != 0 or not keys:
        return f"no keys: {listed}"
    refused = 0
    for key, unit, default, value, origin in keys:
        if origin != "default" or value != default:
            return f"{key}: value '{value}' of origin '{origin}' without SNUG_CONF"
        if key in ("report", "served", "profile_out"):
            continue
        refused += 1
        if found := complaint(library, program, f"{key}:!nonsense!", [BAD.format("!nonsense!", key)]):
            return found
        if default and (found := complaint(library, program, f"{key}:{default}", [])):
            return found
    return None if refused else "every key is a path: nothing was tested"


# A map file's text, and what it must cause.
CLASS_FILES: dict[str, list[str]] = {
    "16 1\n65536 1\n": [],
    "# one class only\n262144 1023": [],
    "": ["line 1: no class at all"],
    "16 1\n\n24 1\n": ["line 3: the size is no multiple of 16, or above 1024 of 256, or above 65536 of 4096"],
    "16 1\n32\n": ["line 2: the blocks cached are missing behind the size"],
    "\x7fELF\x02\x01": ["line 1: expected two numbers, .+"],
    "16 1\n" * 100_000: ["line 2: the size is not above the one before"],
    "\n" * 100_000: ["line 65537: the file is longer than 64 KiB"],
}


def class_files(library: str, program: str) -> str | None:
    """The program runs on each good map, and on the default one after the reason why a file is none."""
    with tempfile.TemporaryDirectory() as folder:
        for number, (text, reasons) in enumerate(CLASS_FILES.items()):
            file = Path(folder) / f"map{number}"
            file.write_text(text)
            patterns = [f"snug: SNUG_CONF: bad value '{file}' for 'classes': {reason}" for reason in reasons]
            if found := complaint(library, program, f"classes:{file}", patterns):
                return found
        # A pipe that nobody writes to must not hold the program up.
        os.mkfifo(Path(folder) / "pipe")
        return complaint(library, program, f"classes:{folder}/pipe", [".*/pipe' for 'classes': line 1: no class at all"])


def report_to_a_pipe(library: str, program: str) -> str | None:
    """A pipe that nobody reads does not hold the end of the program up; one that is full waits for its reader."""
    with tempfile.TemporaryDirectory() as folder:
        pipe = Path(folder) / "pipe"
        os.mkfifo(pipe)
        if found := complaint(library, program, f"report:{pipe}", []):
            return found
        reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        filler = os.open(pipe, os.O_WRONLY)
        filled = os.write(filler, bytes(fcntl.fcntl(filler, fcntl.F_GETPIPE_SZ)))
        environment = dict(os.environ, LD_PRELOAD=library, SNUG_CONF=f"report:{pipe}")
        with subprocess.Popen([program], env=environment) as process:
            try:
                process.wait(timeout=0.5)
                return "the program has not waited for the pipe's reader"
            except subprocess.TimeoutExpired:
                os.set_blocking(reader, True)
            text = b""
            while not text.endswith(b"\n"):
                text += os.read(reader, 1 << 16)
        os.close(filler)
        os.close(reader)
        line = json.loads(text[filled:])
        return None if line["pid"] == process.pid else f"the report is {line}"


def main() -> None:
    library, program, case = sys.argv[1:]
    special = {"every_key": every_key, "class_files": class_files, "report_to_a_pipe": report_to_a_pipe}
    if found := special[case](library, program) if case in special else complaint(library, program, *CASES[case]):
        sys.exit(found)


main()
