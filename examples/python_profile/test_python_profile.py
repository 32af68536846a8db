"""Builds the extension by its one command for each Python here that has its headers, and runs job.py on it.

    test_python_profile.py LIBSNUG INCLUDE
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
SKIPPED = 77
KNOWN = {(3, 11), (3, 12), (3, 13)}


def answer_of(python, expression):
    process = subprocess.run([python, "-c", f"import sys, sysconfig; print({expression})"], capture_output=True, text=True, check=False)
    return process.stdout.strip() if process.returncode == 0 else ""


def pythons():
    """Those of the versions that the extension knows which have headers: {version: (program, headers)}."""
    found = {}
    names = [sys.executable, "/usr/bin/python3", *(shutil.which(f"python3.{minor}") or "" for _, minor in sorted(KNOWN))]
    names += sorted(str(path) for path in Path.home().glob(".pyenv/versions/*/bin/python3"))
    for python in filter(os.path.exists, names):
        headers = answer_of(python, "sysconfig.get_path('include')")
        version = tuple(int(part) for part in re.findall(r"\d+", answer_of(python, "sys.version_info[:2]")))
        if version in KNOWN and (Path(headers) / "internal" / "pycore_frame.h").exists():
            found.setdefault(version, (python, headers))
    return found


def run(python, folder, library, memory):
    environment = {name: value for name, value in os.environ.items() if name not in ("LD_PRELOAD", "SNUG_CONF", "PYTHONMALLOC")}
    environment["PYTHONPATH"] = folder
    if library:
        environment["LD_PRELOAD"] = library
    if memory:
        environment["PYTHONMALLOC"] = memory
    return subprocess.run([python, HERE / "job.py", f"{folder}/job.stacks"], env=environment, capture_output=True, text=True,
                          check=False)


def main(library, include):
    compiler = shutil.which("cc")
    found = pythons()
    if compiler is None or not found:
        print("skipped: no cc" if compiler is None else "skipped: no Python 3.11 to 3.13 with its headers (python3-dev)")
        return SKIPPED
    good = True
    for version, (python, headers) in found.items():
        with tempfile.TemporaryDirectory() as folder:
            command = [compiler, "-O2", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared", f"-I{include}", f"-isystem{headers}",
                       str(HERE / "snug_python_profile.c"), "-o", f"{folder}/snug_python_profile.so"]
            subprocess.run(command, check=True)
            for memory in ("malloc", ""):
                process = run(python, folder, library, memory)
                good = good and process.returncode == 0
                print(f"{version}, PYTHONMALLOC={memory}: {process.returncode}\n{process.stdout}{process.stderr}")
            without = run(python, folder, "", "")
            good = good and without.returncode == 1 and "does not run on snug" in without.stderr
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
