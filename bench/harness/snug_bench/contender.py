"""Contenders: the allocators of one grid, each with the library that is preloaded and what it says it is.

Named as in the catalogue (bench/harness/allocators); "snug" is the one of the build; anything else is a
library on the command line, as ./libmine.so or mine=./libmine.so.
"""

import json
import os
import subprocess
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from snug_bench.allocator import Allocator
from snug_bench.preparation import Unavailable, prepare
from snug_bench.problem import Problem
from snug_bench.toolchain import peers_of, toolchain_of

SNUG = "snug"  # the family of the subject: its members are no peers
ASK_SECONDS = 60


@dataclass(frozen=True)
class Contender:
    name: str
    title: str
    family: str
    library: Path
    version: str = ""
    environment: dict[str, str] = field(default_factory=dict, hash=False)
    configuration: str = ""  # of snug
    refusal: str = ""  # why it serves nothing at all: its cells say so, and nothing of it is run
    named: str = ""  # the tool's name for it, where its library must not be preloaded

    def launch(self) -> list[str]:
        """The options of `snug measure` that choose it."""
        if self.family == SNUG:
            configuration = ["--conf", self.configuration] if self.configuration else []
            return ["--on", SNUG, "--library", str(self.library), *configuration]
        return ["--on", self.named or str(self.library)]

    def as_json(self) -> dict[str, Any]:
        """What decides about its runs; their identity is made of it."""
        return {"name": self.name, "title": self.title, "family": self.family, "version": self.version,
                "library": str(self.library), "environment": self.environment,
                "configuration": self.configuration}

    def as_published(self, root: Path) -> dict[str, Any]:
        """The same for readers elsewhere: where the project lies on this machine is nothing to them."""
        library = self.library.relative_to(root) if self.library.is_relative_to(root) else self.library
        return self.as_json() | {"library": str(library)}


class Line:
    """Puts the contenders together; what cannot be had is collected with its reason."""

    def __init__(self, catalogue: dict[str, Allocator], build: Path, root: Path, configuration: str, say):
        self.toolchain, self.peers = toolchain_of(build), peers_of(root, build)
        self.catalogue = {name: each for name, each in catalogue.items() if self.toolchain.c_library in each.c_libraries}
        self.build, self.configuration, self.say = build, configuration, say
        self.contenders: list[Contender] = []
        self.unavailable: list[dict[str, str]] = []

    def add(self, word: str) -> None:
        """Raises Problem for a word that names nothing."""
        name = word.partition("=")[0]
        try:
            contender = self.resolve(word)
        except Unavailable as reason:
            self.unavailable.append({"name": name, "reason": str(reason)})
            self.say(f"{name}: not to be had: {reason}")
            return
        self.refuse_twice(contender)
        version, refusal = ask_version(contender, self.build)
        if refusal:
            self.say(f"{contender.name}: {refusal}")
        self.contenders.append(replace(contender, version=contender.version or version, refusal=refusal))

    def name(self, word: str) -> None:
        """The same for a plan that is not run: nothing is built or asked, so that it may turn out not to be had."""
        given = "=" in word or "/" in word
        named = not given and word in self.catalogue
        contender = Contender(word, self.catalogue[word].title, "", Path()) if named else self.resolve(word)
        self.refuse_twice(contender)
        self.contenders.append(contender)

    def refuse_twice(self, contender: Contender) -> None:
        if any(each.name == contender.name for each in self.contenders):
            raise Problem(f"allocator '{contender.name}' is named twice; give one of them another name, as in "
                          f"{contender.name}2=PATH")

    def resolve(self, word: str) -> Contender:
        name, given, path = word.partition("=")
        if given or "/" in word:
            library = Path(path if given else word)
            if not library.is_file():
                raise Problem(f"no library '{path if given else word}'")
            name = name.strip() if given else library.name.removesuffix(".so").removeprefix("lib")
            if not name:
                raise Problem(f"'{word}' names no allocator: a library is given as NAME=PATH")
            return Contender(name, name, "", library.resolve())
        if name == SNUG:
            return Contender(SNUG, "snug", SNUG, self.build / "lib" / "libsnug.so", configuration=self.configuration)
        allocator = self.catalogue.get(name)
        if allocator is None:
            raise Problem(f"no allocator '{name}': `snug-bench list` shows them; a library is given as ./lib{name}.so")
        prepared = prepare(allocator, self.peers, self.say, toolchain=self.toolchain)
        return Contender(name, allocator.title, allocator.family, prepared.library, prepared.version,
                         prepared.environment, named=name if allocator.is_linker else "")


def ask_version(contender: Contender, build: Path) -> tuple[str, str]:
    """What the library says it is, in a process that runs on it; and why it cannot serve one, if so."""
    tool = build / "bin" / "snug"  # a program of the build's C library, too
    try:
        process = subprocess.run(
            [tool, "measure", *contender.launch(), "--prove", "--timeout", "20", "--", tool, "--version"],
            capture_output=True, text=True, check=False, timeout=ASK_SECONDS, env=environment_for(contender))
    except subprocess.TimeoutExpired:
        return "", f"snug measure itself hung for {ASK_SECONDS} s"
    if process.returncode != 0:
        said = process.stderr.strip().splitlines() or [f"snug measure ended with {process.returncode}"]
        return "", as_said(said[-1], contender)
    document = json.loads(process.stdout)
    # /bin/true may allocate nothing that snug could prove.
    refused = document["objection"] and contender.family != SNUG
    return document["version"], document["objection"] if refused else ""


def as_said(line: str, contender: Contender) -> str:
    """An error of `snug measure`, without what is said already: a library that has no name there is named twice."""
    library = str(contender.library)
    return line.removeprefix("snug: ").replace(f"{library} ({library})", library)


def environment_for(contender: Contender, more: dict[str, str] | None = None) -> dict[str, str]:
    """Ours without what would steer an allocator by accident, with what the contender and the load ask for."""
    ours = {name: value for name, value in os.environ.items()
            if name not in ("LD_PRELOAD", "SNUG_CONF", "GLIBC_TUNABLES", "PYTHONMALLOC", "SCUDO_OPTIONS")
            and not name.startswith(("MIMALLOC_", "MALLOC_", "_RJEM_MALLOC_", "TCMALLOC_", "TBB_MALLOC_"))}
    return ours | (more or {}) | contender.environment
