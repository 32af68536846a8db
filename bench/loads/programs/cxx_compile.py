#!/usr/bin/env python3
"""Compiles a template-heavy translation unit with g++ -O1 and prints the size of the assembly it gave.

    bench/loads/programs/cxx_compile.py [--compiler g++] [--source FILE]

The compiler proper (cc1plus) is where the allocations are. No object is kept: the assembly goes to a temporary file,
and its hash is printed, so that outputs can be compared. The script becomes the compiler's parent, not the compiler:
peak RSS of the largest process is still cc1plus's.
"""

import argparse
import hashlib
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE = Path(__file__).with_name("template_heavy.cpp")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compiler", default="g++")
    parser.add_argument("--source", type=Path, default=SOURCE, help="with a main; default: " + SOURCE.name)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="snug-compile-") as folder:
        assembly = Path(folder) / "out.s"
        command = [options.compiler, "-std=c++20", "-O1", "-S", "-o", str(assembly), str(options.source)]
        try:
            status = subprocess.run(command, check=False).returncode
        except FileNotFoundError:
            sys.exit(f"cxx_compile.py: {options.compiler} not found: apt-get install g++")
        if status != 0:
            sys.exit(f"cxx_compile.py: {options.compiler} ended with {status}")
        text = assembly.read_bytes()
        if b"main:" not in text:
            sys.exit(f"cxx_compile.py: {options.compiler} made assembly without a main of {options.source.name}")
        print(len(text), hashlib.sha256(text).hexdigest())


if __name__ == "__main__":
    main()
