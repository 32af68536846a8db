"""planted.py: a conformance test must fail on the defect it is meant to find, and pass without it.

Usage: planted.py CONFORMANCE LIBRARY DEFECT TEST...
"""

import os
import subprocess
import sys


def passes(program: str, library: str, defect: str, test: str) -> bool:
    environment = dict(os.environ, LD_PRELOAD=library, PLANTED=defect)
    run = subprocess.run([program, f"--gtest_filter={test}", "--allocator=" + os.path.basename(library)],
                         env=environment, capture_output=True, text=True)
    if run.returncode == 3 or "Running 1 test from" not in run.stdout:
        sys.exit(f"{test} did not run on {library}: {run.stdout}{run.stderr}")
    if "[  SKIPPED ]" in run.stdout:
        sys.exit(f"{test} skips on {library}, so it shows nothing")
    return run.returncode == 0


def main() -> None:
    program, library, defect, *tests = sys.argv[1:]
    for test in tests:
        if not passes(program, library, "nothing", test):
            sys.exit(f"{test} fails although nothing is planted")
        if passes(program, library, defect, test):
            sys.exit(f"{test} does not notice '{defect}'")
        print(f"{test} notices '{defect}'")


main()
