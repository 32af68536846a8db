"""Variants: copies of the tunable library that differ in the value of one constant."""

import subprocess
from dataclasses import dataclass
from pathlib import Path

from snug_bench.problem import Problem
from snug_sensitivity.constants import Constant

FACTORS = {"half": 0.5, "twice": 2.0}


@dataclass(frozen=True)
class Place:
    """Where a variable's value stands in the library's file."""

    offset: int
    size: int


@dataclass(frozen=True)
class Variant:
    constant: str  # or the key of a setting
    factor: str  # half or twice
    value: str
    library: Path
    configuration: str = ""

    @property
    def name(self) -> str:
        return f"{self.constant}/{self.factor}"


def output_of(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def places(library: Path, names: list[str]) -> dict[str, Place]:
    """By the symbols of the library, in its section of data. Raises Problem for a name that is none, or two."""
    sections = {}
    for line in output_of("readelf", "--section-headers", "--wide", str(library)).splitlines():
        words = line.replace("[ ", "[").split()
        if len(words) > 5 and words[0].startswith("[") and words[0][1:-1].isdecimal():
            sections[words[1]] = int(words[3], 16), int(words[4], 16), int(words[5], 16)
    address, offset, length = sections[".data"]
    found: dict[str, list[Place]] = {name: [] for name in names}
    for line in output_of("nm", "--print-size", "--defined-only", str(library)).splitlines():
        words = line.split()
        if len(words) != 4 or not address <= int(words[0], 16) < address + length:
            continue
        for name in names:
            if f"{len(name)}{name}E" in words[3] or words[3].endswith(f"{len(name)}{name}"):
                found[name].append(Place(int(words[0], 16) - address + offset, int(words[1], 16)))
    for name, those in found.items():
        if len(those) != 1:
            raise Problem(f"{library}: {name} is {len(those) or 'no'} variable{'s' if those else ''} there", 1)
    return {name: those[0] for name, those in found.items()}


def make_variants(library: Path, constants: list[Constant], settings: dict[str, list[str]], folder: Path) -> list[Variant]:
    """One library for each; a value that would be nothing, or too large for its type, has none."""
    folder.mkdir(parents=True, exist_ok=True)
    original = library.read_bytes()
    where = places(library, [each.name for each in constants])
    variants = []
    for each in constants:
        place = where[each.name]
        value = int.from_bytes(original[place.offset : place.offset + place.size], "little")
        for factor, times in FACTORS.items():
            other = int(value * times)
            if other == 0 or other == value or other >= 1 << (8 * place.size):
                continue
            file = folder / f"{each.name}-{factor}.so"
            changed = bytearray(original)
            changed[place.offset : place.offset + place.size] = other.to_bytes(place.size, "little")
            if not file.is_file() or file.read_bytes() != changed:
                file.write_bytes(changed)
            variants.append(Variant(each.name, factor, str(other), file))
    for key, values in settings.items():
        variants += [Variant(key, factor, value, library, f"{key}:{value}")
                     for factor, value in zip(FACTORS, values, strict=True)]
    return variants
