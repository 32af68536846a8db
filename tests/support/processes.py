"""What tests ask of processes, and how they wait for it: children, threads, and a port of this machine that is free."""

import contextlib
import os
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

HANGS = 600  # seconds: what has not come by then never will
Seen = TypeVar("Seen")


def wait_for(look: Callable[[], Seen], what: str) -> Seen:
    """What the first look has seen that saw anything. Only a hang ends the wait for it: no machine is so busy."""
    until = time.monotonic() + HANGS
    while not (seen := look()):
        if time.monotonic() > until:
            raise AssertionError(f"waited {HANGS} s in vain: {what}")
        time.sleep(0.02)
    return seen


def children_of(process: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


def threads_of(process: int) -> list[str]:
    """Their names. Any of them may end while they are listed."""
    folder, names = Path(f"/proc/{process}/task"), []
    for thread in os.listdir(folder):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            names.append(Path(folder, thread, "comm").read_text(errors="replace").strip())
    return names


def wait_until_asked(process: int) -> None:
    """A process with publish:on. Its control thread starts with a slow allocation, in a thread of its own."""
    wait_for(lambda: "snug-control" in threads_of(process), f"the control thread of process {process}")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
