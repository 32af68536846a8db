"""Comparisons that never ran: described here or in comparisons/, printed by the tool's own code."""

import json
import os
import subprocess
from pathlib import Path

PRINTER = os.environ["MADE_UP_COMPARISON"]
QUIET = 0.02  # of the processors


def described(name):
    return json.loads((Path(__file__).parent / "comparisons" / f"{name}.json").read_text())


def of_figures(others_share=QUIET, **figures):
    """One figure of each allocator: of_figures(snug=[…], glibc=[…]), in µs."""
    rounds = len(next(iter(figures.values())))
    allocators = [{"name": name, "figures": {"load": {"unit": "µs", "better": "lower", "values": values}}}
                  for name, values in figures.items()]
    return {"program": ["job"], "rounds": rounds, "others_share": others_share, "allocators": allocators}


def printed(description, *arguments):
    return subprocess.run([PRINTER, *map(str, arguments)], input=json.dumps(description), stdout=subprocess.PIPE,
                          text=True, check=True).stdout


def table(description, width=100):
    return printed(description, "table", width)


def as_json(description):
    return json.loads(printed(description, "json"))
