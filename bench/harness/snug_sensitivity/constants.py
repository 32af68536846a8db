"""Constants: which of snug's numbers were tuned (bench/harness/sensitivity.toml), and where each is declared.

A declaration is one line of C++, `constexpr TYPE kName = VALUE;` or `kName{VALUE};`. In the tunable copy of the sources
(tunable.py) it becomes a variable, and variants.py writes its value into the finished library.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from snug_bench.problem import Problem
from snug_bench.workload import read_toml

DECLARATION = r"^(?P<indent> *)(?P<before>(?:static |inline )*)constexpr (?P<type>[\w:]+) {}(?P<value>(?: = |\{{)[^;]+);"
ANY_NAME = r"(?P<name>k\w+)"


@dataclass(frozen=True)
class Constant:
    file: str  # from the root on
    name: str

    @property
    def shown(self) -> str:
        return f"{self.name} ({Path(self.file).name})"

    def pattern(self) -> re.Pattern[str]:
        return re.compile(DECLARATION.format(f"(?P<name>{self.name})"), re.MULTILINE)


@dataclass(frozen=True)
class Study:
    """What bench/harness/sensitivity.toml says."""

    constants: list[Constant]
    settings: dict[str, list[str]]  # of SNUG_CONF: the other values of a key
    loads: list[str]
    threads: list[int]


def read_study(root: Path) -> Study:
    """Raises Problem for a constant that its file does not declare."""
    file = root / "bench" / "harness" / "sensitivity.toml"
    content = read_toml(file)
    constants = [Constant(where, name) for where, names in content["constants"].items() for name in names]
    for each in constants:
        source = root / each.file
        if not source.is_file() or not each.pattern().search(source.read_text("utf-8")):
            raise Problem(f"{file}: {each.file} declares no constant {each.name}")
    names = [each.name for each in constants]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise Problem(f"{file}: {twice} stands there twice: a variant is found by the name alone")
    return Study(constants, content["settings"], content["loads"], content["threads"])
