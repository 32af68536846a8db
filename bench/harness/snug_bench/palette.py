"""The palette: how each allocator is drawn in every chart, by a colour for light pages, one for dark pages, and a marker.

The colours were found by a search, hence their odd numbers; tests/bench/harness/test_palette.py holds what it was after:
any two differ clearly, any two of one marker do so for the colour-blind as well, and each stands out from its page.
"""

from collections.abc import Iterable
from dataclasses import dataclass

PAGE_LIGHT, PAGE_DARK = "#ffffff", "#1b1f23"  # what charts lie on


@dataclass(frozen=True)
class Marker:
    path: str  # of SVG, around 0 0, about 1 in each direction
    letter: str  # of matplotlib


@dataclass(frozen=True)
class Style:
    light: str
    dark: str
    marker: Marker


CIRCLE = Marker("M-1 0A1 1 0 1 1 1 0A1 1 0 1 1-1 0Z", "o")
SQUARE = Marker("M-.88-.88H.88V.88H-.88Z", "s")
DIAMOND = Marker("M0-1.25 1.05 0 0 1.25-1.05 0Z", "D")
UP = Marker("M0-1.15 1.15.95H-1.15Z", "^")
DOWN = Marker("M0 1.15 1.15-.95H-1.15Z", "v")
LEFT = Marker("M-1.15 0 .95 1.15V-1.15Z", "<")
RIGHT = Marker("M1.15 0-.95 1.15V-1.15Z", ">")
PLUS = Marker("M-.4-1.2H.4V-.4H1.2V.4H.4V1.2H-.4V.4H-1.2V-.4H-.4Z", "P")
CROSS = Marker("M-1.15-.6-.6-1.15 0-.55.6-1.15 1.15-.6.55 0 1.15.6.6 1.15 0 .55-.6 1.15-1.15.6-.55 0Z", "X")
HEXAGON = Marker("M-1.15 0-.58-1H.58L1.15 0 .58 1H-.58Z", "H")

STYLES = {
    "snug": Style("#0a6c74", "#5cc4cb", CIRCLE),  # the circle is its own
    "glibc": Style("#3c3e36", "#dce0cf", SQUARE),
    "jemalloc": Style("#900301", "#fe5c4b", DIAMOND),
    "mimalloc": Style("#1856e1", "#3e79f8", SQUARE),
    "tcmalloc": Style("#b66b37", "#c76303", SQUARE),
    "snmalloc": Style("#015100", "#169412", UP),
    "mimalloc3": Style("#004885", "#4ea5ff", DOWN),
    "rpmalloc": Style("#9d4168", "#ff63a8", HEXAGON),
    "scudo": Style("#765e03", "#cfa607", DOWN),
    "tbbmalloc": Style("#9e60fa", "#8c55de", PLUS),
    "mimalloc2": Style("#696bab", "#b3b7ff", UP),
    "jemalloc_tikv": Style("#d20336", "#ffa1a0", CROSS),
    "tlsf": Style("#d857d8", "#ffc5fc", LEFT),
    "hardened_malloc": Style("#640f61", "#c54ebf", CROSS),
    "tcmalloc_google": Style("#859b01", "#bfdd02", HEXAGON),
    "mimalloc3-nothp": Style("#a885b0", "#b28fba", DIAMOND),
    "musl": Style("#1b2b4e", "#6ff2c3", DIAMOND),
    "mimalloc2-nothp": Style("#3f00ab", "#7575a3", LEFT),
}
SPARE = (Style("#f4527f", "#d43064", PLUS), Style("#059b87", "#10a18d", RIGHT), Style("#901fb3", "#db7dfe", RIGHT))


def styles_of(names: Iterable[str]) -> dict[str, Style]:
    """Of these names, in their order. A name without a style of its own, as a library from a command line, takes one that
    no other here has, as long as there are any: the spare ones first."""
    names = list(names)
    others = [*SPARE, *(style for name, style in STYLES.items() if name not in names)] or list(STYLES.values())
    unknown = [name for name in names if name not in STYLES]
    return {name: STYLES[name] if name in STYLES else others[unknown.index(name) % len(others)] for name in names}
