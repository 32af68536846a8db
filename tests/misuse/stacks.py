"""stacks.py: what check:stacks says of each double free of stacks.c, in a program with frame pointers and in one without.

Usage: stacks.py LIBSNUG_SO WITH_FRAME_POINTERS WITHOUT
"""

import os
import re
import resource
import signal
import subprocess
import sys

HEAD = re.compile(r"snug: (allocated|freed|this call) by thread (\d+)(:|, at a place that was not kept: .*)")
FRAME = re.compile(r"snug:   (?:(/.*)\+)?(0x[0-9a-f]+)(?:, (\d+) times)?")


def functions(program: str, offsets: list[str]) -> list[str]:
    """The functions of the program that lie there, as binutils have it."""
    ran = subprocess.run(["addr2line", "-f", "-e", program, *offsets], capture_output=True, text=True, check=True)
    return ran.stdout.splitlines()[::2]


class Told:
    def __init__(self, library: str, program: str, case: str) -> None:
        environment = {**os.environ, "LD_PRELOAD": library, "SNUG_CONF": "check:stacks"}
        ran = subprocess.run([program, case], env=environment, capture_output=True, text=True, check=False)
        self.announced = ran.stdout.strip()
        first, *rest = ran.stderr.splitlines() or [""]
        self.ended_well = ran.returncode == -signal.SIGABRT and ": block is already free; block " in first
        self.threads: dict[str, str] = {}
        self.stacks: dict[str, list[str]] = {}
        self.times: dict[str, list[int]] = {}  # how often each of the same
        self.full: set[str] = set()
        offsets: list[str] = []
        for line in rest:
            if head := HEAD.fullmatch(line):
                what = head[1]
                self.threads[what] = head[2]
                self.stacks[what] = []
                self.times[what] = []
                if head[3] != ":":
                    self.full.add(what)
            elif frame := FRAME.fullmatch(line):
                if frame[1] == program:
                    offsets = functions(program, [frame[2]])
                    self.stacks[what] += offsets
                    self.times[what].append(int(frame[3] or 1))
            else:
                self.ended_well = False
        self.text = f"{case} of {program} ended with {ran.returncode}:\n{ran.stderr}"


def begins(stack: list[str], *names: str) -> bool:
    return stack[: len(names)] == list(names)


def faults(case: str, told: Told, has_frames: bool) -> list[str]:
    found = [] if told.ended_well else ["not the line, or not the end"]
    stacks = {"allocated": [], "freed": [], **told.stacks}
    allocation = ("innermost", "middle", "outer") if has_frames else ("innermost",)
    release = ("dispose", "tidy") if has_frames else ("dispose",)
    if case in ("plain", "thread", "child", "handler"):
        if not begins(stacks["allocated"], *allocation):
            found.append(f"allocated by {stacks['allocated']}")
        if not begins(stacks["freed"], *release):
            found.append(f"freed by {stacks['freed']}")
    if case == "handler" and has_frames and stacks["freed"][2:3] != ["handle"]:
        found.append(f"freed by {stacks['freed']}")
    if case.startswith("rubbish") and not begins(stacks["allocated"], "allocate_with"):
        found.append(f"allocated by {stacks['allocated']}")
    if case == "recursion" and has_frames:
        # The call of malloc, and the fifteen of the function by itself.
        if stacks["allocated"] != ["descend"] * 4 or sum(told.times["allocated"]) != 16:
            found.append(f"allocated by {stacks['allocated']}, {told.times.get('allocated')} times")
    if ("allocated" in told.full) != (case == "full"):
        found.append("it is said that the depot is full" if told.full else "it is not said that the depot is full")
    threads = {what: told.threads.get(what) for what in ("allocated", "freed", "this call")}
    others = {"thread": {"freed"}, "child": {"freed", "this call"}}.get(case, set())
    if {what for what, number in threads.items() if number != threads["allocated"]} != others:
        found.append(f"by threads {threads}")
    if case == "child" and threads["freed"] != str(int(told.announced or "0", 16)):
        found.append(f"the child is {told.announced}, and not {threads['freed']}")
    return found


def main() -> int:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    library, *programs = sys.argv[1:]
    wrong = 0
    for program, has_frames in zip(programs, (True, False)):
        for case in ("plain", "thread", "child", "handler", "rubbish", "rubbish_in_thread", "full", "recursion"):
            told = Told(library, os.path.realpath(program), case)
            for fault in faults(case, told, has_frames):
                wrong += 1
                print(f"{fault}\n{told.text}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
