"""listed.py: snug makes no system call but those that docs/system-calls.md lists.

  listed.py PAGE FILTER run PROGRAM ARGUMENT...   the program lives under a filter that ends it for any other call of
                                                  snug's own code; FILTER is listed_calls.c as a library
  listed.py PAGE FILTER each EXERCISE MAP         the page lists no call in vain, and the filter sees each: with any one
                                                  of them struck off, the exercise ends for it

LD_PRELOAD is kept, with FILTER behind what stands in it, so that FILTER is initialised first.
"""

import os
import re
import signal
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HEADING = "| call | made by | when | what for |"
OWN = {"snug", "`libsnug_cell_rt.a`"}
# As subprocess gives it, and as a shell in between would.
STOPPED = {-signal.SIGSYS, 128 + signal.SIGSYS}
# FILTER's own: the page lists a call that it does not know, which it says and which is to be mended; no filter here.
UNKNOWN_CALL, NO_FILTER = 76, 77


def listed_calls(page: Path) -> list[str]:
    """What the page says that snug's own code calls."""
    rows = page.read_text().split(HEADING)[1].split("\n\n")[0].splitlines()[2:]
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    calls = {call for call, maker, *_ in cells if maker in OWN for call in re.findall(r"`(\w+)`", call)}
    if len(calls) < 10:
        sys.exit(f"listed: {page} has no table of system calls")
    return sorted(calls)


def environment(library: str, calls: list[str], **more: str) -> dict[str, str]:
    preloaded = " ".join(filter(None, [os.environ.get("LD_PRELOAD"), library]))
    return os.environ | {"LD_PRELOAD": preloaded, "SNUG_TEST_CALLS": " ".join(calls)} | more


def run(library: str, calls: list[str], command: list[str]) -> int:
    # Standard error is read, too: a call that was stopped in a child of the program is named there.
    done = subprocess.run(command, env=environment(library, calls), stderr=subprocess.PIPE, text=True)
    sys.stderr.write(done.stderr)
    if "listed_calls: " in done.stderr and done.returncode in {UNKNOWN_CALL, NO_FILTER}:
        return done.returncode
    if done.returncode in STOPPED or "listed_calls: " in done.stderr:
        print("listed: snug has made a system call that docs/system-calls.md does not list")
        return 1
    return abs(done.returncode)


def try_without(library: str, calls: list[str], missing: str, exercise: str, class_map: str) -> str:
    """Empty if the exercise ended for the missing call and for no other; with none missing, if it did not end."""
    with tempfile.TemporaryDirectory() as folder:
        allowed = [call for call in calls if call != missing]
        # A profile is of unchecked blocks alone; the place of its file is taken by a folder.
        (Path(folder) / "profile").mkdir()
        for conf in (f"idle_thread:on,purge_after:100,check:stacks,classes:{class_map},report:{folder}/report",
                     f"profile:64K,profile_rt:1M,publish:on,profile_at:+1M,profile_signal:SIGUSR2,profile_out:/proc/%p/cwd/profile"):
            done = subprocess.run([exercise], env=environment(library, allowed, SNUG_CONF=conf), capture_output=True, text=True,
                                  cwd=folder)
            if done.returncode != 0:
                break
        reports = len(list(Path(folder).glob("report*")))
    said = done.stderr.strip().splitlines()[-1:] or [""]
    if missing:
        return "" if done.returncode in STOPPED else f"without {missing} it ends with {done.returncode}: {said[0]}"
    return "" if done.returncode == 0 and reports == 1 else f"with all of them it ends with {done.returncode}: {said[0]}"


def each(library: str, calls: list[str], exercise: str, class_map: str) -> int:
    with ThreadPoolExecutor(4) as pool:
        faults = list(pool.map(lambda missing: try_without(library, calls, missing, exercise, class_map), ["", *calls]))
    for fault in filter(None, faults):
        print(f"listed: {fault}")
    print(f"listed: {len(calls)} system calls: {' '.join(calls)}")
    return 1 if any(faults) else 0


def main() -> int:
    page, library, mode, *rest = sys.argv[1:]
    calls = listed_calls(Path(page))
    return run(library, calls, rest) if mode == "run" else each(library, calls, *rest)


if __name__ == "__main__":
    sys.exit(main())
