"""A soak: a server of several threads is profiled and publishes, and is read each second by `snug stats` and `snug profile`. Between
the middle and the end nothing of it may grow: its memory, its mappings, its open files, its threads, and what the profile holds to
be live.

    soak.py SNUG LIBSNUG SERVING SECONDS [leaks]

Compared are the medians of the second and of the last quarter of the readings, so that a burst at either end tells nothing.
"""

import json
import os
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from processes import wait_until_asked  # noqa: E402

MIB = 1 << 20
# By how much the last quarter's median may be above the second quarter's.
MAY_GROW = {"rss": 2 * MIB, "requested": 2 * MIB, "records": MIB // 4, "mappings": 8, "files": 0, "threads": 1}
# What the profile holds to be live, in multiples of what is. It has some 80 samples: one reading is off by a ninth.
ESTIMATE = (0.5, 2)
READINGS = 40  # fewer have no quarters to speak of


class Server:
    def __init__(self, tool, library, program, words):
        self.tool = tool
        plain = {name: value for name, value in os.environ.items() if name not in ("LD_PRELOAD", "SNUG_CONF")}
        # Names of functions would take ten times as much of the processor as all the rest.
        self.readers = plain | {"PATH": "/nonexistent"}
        environment = plain | {"LD_PRELOAD": library, "SNUG_CONF": "profile:512K,publish:on"}
        self.child = subprocess.Popen([program, *words], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if self.child.stdout.readline() != "ready\n":
            sys.exit("the server has not begun")

    def asked(self, *words):
        done = subprocess.run([self.tool, *words, str(self.child.pid)], env=self.readers, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"snug {' '.join(words)} ended with {done.returncode}: {done.stderr.strip()}")
        return json.loads(done.stdout)

    def entries(self, folder):
        return len(os.listdir(f"/proc/{self.child.pid}/{folder}"))

    def reading(self):
        its = self.asked("stats", "--json", "--memory")
        stacks = self.asked("profile", "--json", "-")["stacks"]
        with open(f"/proc/{self.child.pid}/maps", encoding="utf-8", errors="replace") as maps:
            mappings = sum(1 for _ in maps)
        memory = its["memory"]
        return {"rss": memory["rss"], "requested": memory["requested"], "records": memory["records"], "mappings": mappings,
                "files": self.entries("fd"), "threads": self.entries("task"),
                "estimate": sum(stack["live"]["bytes"] for stack in stacks) / memory["requested"]}

    def end(self):
        self.child.send_signal(signal.SIGCONT)
        self.child.communicate(timeout=600)
        if self.child.returncode != 0:
            sys.exit(f"the server ended with {self.child.returncode}")


def read_for(server, seconds):
    readings, begin = [], time.monotonic()
    while time.monotonic() < begin + seconds or len(readings) < READINGS:
        readings.append(server.reading())
        if len(readings) % 300 == 0:
            print(f"{len(readings)} readings: {said(readings[-1])}", flush=True)
        time.sleep(1)
    return readings


def said(reading):
    return ", ".join(f"{name} {value / MIB:.2f} MiB" if isinstance(value, int) and value > 100_000 else f"{name} {value:.4g}"
                     for name, value in reading.items())


def judged(readings):
    """What is wrong; and says what each quarter had."""
    quarter = len(readings) // 4
    medians = [{name: statistics.median(reading[name] for reading in readings[begin:begin + quarter]) for name in readings[0]}
               for begin in (0, quarter, 2 * quarter, len(readings) - quarter)]
    for number, each in enumerate(medians, 1):
        print(f"quarter {number}: {said({name: int(value) if name in MAY_GROW else value for name, value in each.items()})}")
    middle, last = medians[1], medians[3]
    wrong = [f"{name} grew by {last[name] - middle[name]:.0f}, and may by {most}" for name, most in MAY_GROW.items()
             if last[name] - middle[name] > most]
    if not ESTIMATE[0] < last["estimate"] < ESTIMATE[1]:
        wrong.append(f"the profile says {last['estimate']:.2f} times of what is live")
    return wrong


def main(tool, library, program, seconds, *words):
    server = Server(tool, library, program, words)
    wait_until_asked(server.child.pid)
    readings = read_for(server, float(seconds))
    server.end()
    used = os.times()
    print(f"{len(readings)} readings; server and readers took {used.children_user + used.children_system:.1f} s of a processor")
    wrong = judged(readings)
    print("\n".join(f"GROWS: {each}" for each in wrong) or "nothing grows")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
