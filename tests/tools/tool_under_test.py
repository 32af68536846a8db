"""The snug command as the tests call it: paths from the environment that ctest sets, and one way to run it."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from processes import HANGS, children_of, free_port, threads_of, wait_for, wait_until_asked  # noqa: E402, F401

TOOL = os.environ["SNUG_TOOL"]
LIBRARY = os.environ["SNUG_LIBRARY"]
ALLOCATING = os.environ["ALLOCATING"]
PLANTED_SLOW = os.environ["PLANTED_SLOW"]
PLANTED_HOG = os.environ["PLANTED_HOG"]
PLANTED_NONE = os.environ["PLANTED_NONE"]
PLANTED_POSER = os.environ["PLANTED_POSER"]
BYSTANDER = os.environ["BYSTANDER"]

# The name of a shell, so that tests can say what a program does in one line.
SHELL = "/bin/sh"


def clean_environment(**changes):
    """Ours, without what would steer the tool or the programs it runs."""
    environment = {name: value for name, value in os.environ.items()
                   if name not in ("LD_PRELOAD", "SNUG_CONF", "SNUG_PEERS", "COLUMNS")}
    environment.update(changes)
    return environment


def snug(*arguments, **changes):
    """Runs the tool to its end; returns the completed process with its output as text."""
    return subprocess.run([TOOL, *arguments], env=clean_environment(**changes), stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)


def run_on_snug(*arguments, **changes):
    return snug("run", "--library", LIBRARY, *arguments, **changes)


def compare(allocators, *arguments, library=LIBRARY, **changes):
    """Runs a comparison; returns the process and the JSON it wrote (None if none)."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "comparison.json"
        process = snug("run", "--library", library, "--compare", allocators, f"--json={file}", *arguments, **changes)
        text = file.read_text() if file.exists() else ""
    return process, json.loads(text) if text else None


def processes_in(file):
    """What a recording tells by now of each process; one of which nothing can be read yet, of none."""
    check = subprocess.run([TOOL, "trace", "check", file, "--json"], capture_output=True, text=True, check=False)
    told = json.loads(check.stdout or "{}")
    return told.get("processes", [told])


def events_in(file, operation):
    """How many events of an operation it tells of by now, of all processes."""
    return sum(one.get("operations", {}).get(operation, {}).get("events", 0) for one in processes_in(file))


def mallocs_in(file):
    return events_in(file, "malloc")


def contender(comparison, name):
    return next(allocator for allocator in comparison["allocators"] if allocator["name"] == name)
