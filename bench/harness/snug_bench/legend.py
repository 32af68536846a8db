"""The legend: what a load does and what a figure is, in plain sentences, from legends.toml."""

import functools
import re
import tomllib
from pathlib import Path

FILE = Path(__file__).with_name("legends.toml")
LOAD = "load"  # the key of the sentence on the load itself
SPELT = {"FULL": "freed in order", "RAN": "freed by random draws, where the rest leaks"}


@functools.cache
def legends() -> dict[str, dict[str, str]]:
    return tomllib.loads(FILE.read_text(encoding="utf-8"))


def load_sentence(load: dict) -> str:
    """What the load stresses, if no sentence is known."""
    return legends().get(load["name"], {}).get(LOAD) or f"{load['stresses']}."


def figure_sentence(load: str, figure: str) -> str | None:
    """The first one with a pattern that matches, with what its stars stood for."""
    for pattern, sentence in legends().get(load, {}).items():
        found = re.fullmatch("(.+)".join(map(re.escape, pattern.split("*"))), figure)
        if pattern != LOAD and found:
            return sentence.format(*(SPELT.get(each, each) for each in found.groups()))
    return None
