"""Lets the allocator under test serve the program that a driver starts, and not the driver.

A driver is started with the LD_PRELOAD that chooses the allocator, like any program. inherited_preload() starts it again
without, so that its own memory and time are the same whichever allocator is measured; served_environment() is for the
program measured, unserved_environment() for whatever else the driver runs.
"""

import os
import sys

KEPT = "SNUG_BENCH_KEPT_"  # how the first start of the driver tells the second
# What is meant for the program measured. The linker would tell of the driver as well what it is to tell of the program.
FOR_THE_PROGRAM = ("LD_PRELOAD", "LD_DEBUG", "LD_DEBUG_OUTPUT", "LD_BIND_NOW", "GLIBC_TUNABLES")


def inherited_preload():
    """The LD_PRELOAD meant for the program. Starts the driver again if it is itself subject to it."""
    if os.environ.get("LD_PRELOAD"):
        environment = dict(os.environ)
        for name in FOR_THE_PROGRAM:
            if name in environment:
                environment[KEPT + name] = environment.pop(name)
        os.execve(sys.executable, [sys.executable, *sys.argv], environment)
    return os.environ.get(KEPT + "LD_PRELOAD", "")


def served_environment(preload):
    environment = {name: value for name, value in os.environ.items() if not name.startswith(KEPT)}
    for name in FOR_THE_PROGRAM:
        if KEPT + name in os.environ:
            environment[name] = os.environ[KEPT + name]
    environment.pop("LD_PRELOAD", None)
    if preload:
        environment["LD_PRELOAD"] = preload
    return environment


def unserved_environment():
    return {name: value for name, value in os.environ.items()
            if name not in (*FOR_THE_PROGRAM, "SNUG_CONF") and not name.startswith(KEPT)}
