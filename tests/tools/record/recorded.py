"""Runs of the recorder, as its tests make them: the subject under it, to its end or step by step."""

import os
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

from trace_file import Trace, TraceFile

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from tool_under_test import (LIBRARY, TOOL, children_of, clean_environment, events_in, processes_in,  # noqa: E402, F401
                             wait_for)

SUBJECT = os.environ["RECORD_SUBJECT"]
COUNTING = os.environ["RECORD_COUNTING"]
KINDS = "malloc calloc realloc reallocarray aligned_alloc memalign posix_memalign valloc pvalloc free".split()
# What an operator asks the allocator for.
PLAIN_NEW = ("new", "new[]", "new_nothrow", "new[]_nothrow")
ALIGNED_NEW = ("new_aligned", "new[]_aligned", "new_aligned_nothrow", "new[]_aligned_nothrow")
# What a signal to the tool adds to the recording.
TOLD_OF_SIGNAL = {signal.SIGUSR1: "resume", signal.SIGUSR2: "pause"}


class Recorded:
    """One run of the subject under the recorder, on the allocator that counts."""

    def __init__(self, *subject, options=(), allocator=COUNTING, program=SUBJECT, **variables):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "job.trace")
            self.run = subprocess.run(
                [TOOL, "record", "-o", file, "--level=0", "--allocator", allocator, *options, "--", program, *subject],
                env=clean_environment(COUNTS=f"{folder}/counts", **variables), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, text=True, check=False)
            self.all = TraceFile(file).traces() if file.exists() else []
            self.files = sorted(path.name for path in Path(folder).iterdir() if not path.name.startswith("counts"))
            self.main, self.others = (self.all[0] if self.all else None), self.all[1:]
            self.counts = {}
            self.inside = 0  # frees and reallocations from within the allocator
            self.served_by = set()
            for path in Path(folder).glob("counts.*"):
                _, process, number = path.name.split(".")
                sums = struct.unpack_from("<22Q", path.read_bytes())
                self.counts[int(process), int(number)] = dict(zip(KINDS, zip(sums[:10], sums[11:])))
                self.inside += sums[10]
                self.served_by.add(path.read_bytes()[22 * 8 :].rstrip(b"\0").decode())

    def traces(self):
        return self.all


class Stepped:
    """A subject that goes on when it is told to, and the tool that records it."""

    def __init__(self, rounds, *options):
        self.rounds, self.options = rounds, options

    def __enter__(self):
        self.files = tempfile.TemporaryDirectory()
        self.file = Path(self.files.name, "job.trace")
        self.errors = open(Path(self.files.name, "errors"), "w")
        self.tool = subprocess.Popen(
            [TOOL, "record", "-o", self.file, "--level=0", *self.options, "--", SUBJECT, "paused", str(self.rounds)],
            env=clean_environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, text=True)
        assert self.tool.stdout.readline() == "ready\n", self.said()
        [self.subject] = children_of(self.tool.pid)
        variables = Path(f"/proc/{self.subject}/environ").read_bytes().split(b"\0")
        [session] = [line for line in variables if line.startswith(b"SNUG_RECORD=")]
        self.folder = Path(session.decode().split(":")[-1])
        # The file names its program once the ring has been found, and its file has gone from that folder.
        wait_for(lambda: [fact for one in processes_in(self.file) for fact in one.get("facts", [])
                          if fact["key"] == "program"], "a process in the recording")
        return self

    def step(self, what="x"):
        """What the subject has said of it."""
        self.tool.stdin.write(what + "\n")
        self.tool.stdin.flush()
        done, _, _ = select.select([self.tool.stdout], [], [], 1200)
        answer = self.tool.stdout.readline() if done else "nothing"
        if not answer.endswith("done\n"):
            os.kill(self.subject, signal.SIGKILL)
            raise AssertionError(f"the subject says {answer}")
        return answer

    def send(self, number):
        """Until the recording tells of it: by then the subject's ring is in that state."""
        told = TOLD_OF_SIGNAL[number]
        before = events_in(self.file, told)
        self.tool.send_signal(number)
        wait_for(lambda: events_in(self.file, told) > before, f"a {told} in the recording")

    def said(self):
        return Path(self.errors.name).read_text()

    def finish(self):
        self.tool.stdin.close()
        self.tool.wait()
        return Trace(self.file)

    def __exit__(self, *_):
        self.tool.stdin.close()
        self.tool.wait()
        self.tool.stdout.close()
        self.errors.close()
        self.files.cleanup()
        shutil.rmtree(self.folder, ignore_errors=True)


class KilledCollector(Stepped):
    """The same after the tool was killed, while nobody has waited for it."""

    def __enter__(self):
        super().__enter__()
        self.tool.send_signal(signal.SIGKILL)
        os.waitid(os.P_PID, self.tool.pid, os.WEXITED | os.WNOWAIT)
        return self


def record(folder, *program, file="job.trace", flags=(), **options):
    """One run of any program, into a folder that stays the caller's."""
    return subprocess.run([TOOL, "record", "--force", "-o", Path(folder, file), "--level=0", *flags, "--", *program],
                          env=clean_environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          check=False, **options)


def told(trace):
    """Calls and bytes by the allocator's functions."""
    sums = {kind: (trace.count(kind), trace.bytes(kind)) for kind in KINDS}
    freeing = [event for event in trace.events if event.operation.startswith(("free", "delete"))]
    sums["free"] = (len(freeing), 0)
    # The runtime never asks for nothing, and for a multiple of the alignment.
    for kind, operators in (("malloc", PLAIN_NEW), ("aligned_alloc", ALIGNED_NEW)):
        asked = [(max(event.size, 1), max(event.alignment, 1)) for event in trace.events if event.operation in operators]
        calls, bytes_asked = sums[kind]
        sums[kind] = (calls + len(asked), bytes_asked + sum(-(-size // step) * step for size, step in asked))
    return sums
