"""Allocators, as bench/harness/allocators/NAME.toml declares them: what each is, how it is got, what it runs with.

Every file is checked whole before anything is built, and what is wrong in it is said with the file's name and the key.
A variant (mimalloc without huge pages) is an allocator of its own here, named BASE-VARIANT, with the base's library.
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from snug_bench.problem import Problem

NAME = re.compile(r"[a-z][a-z0-9_]*")
C_LIBRARIES = ("glibc", "musl")
ENVIRONMENT_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class DeclarationError(Problem):
    """A file of bench/harness/allocators is wrong; the message says which, where and why."""


@dataclass(frozen=True)
class FromSystem:
    """The C library's own."""

    library: str  # its file's name, or an absolute path


@dataclass(frozen=True)
class FromPackage:
    """A Debian package's."""

    package: str
    library: str  # its file's name, or an absolute path


@dataclass(frozen=True)
class FromCrate:
    """Built from the sources that a Rust crate carries."""

    crate: str
    version: str
    build: Path  # build CRATE_SOURCE OUTPUT_LIBRARY WORK_FOLDER


@dataclass(frozen=True)
class Allocator:
    name: str
    title: str
    family: str
    homepage: str
    get: FromSystem | FromPackage | FromCrate
    version_command: str  # bash, with $LIBRARY and for a crate $CRATE_SOURCE; prints the version
    environment: Mapping[str, str] = field(default_factory=dict)
    base: str | None = None  # of a variant: the allocator that has its library
    c_libraries: tuple[str, ...] = ("glibc",)  # of the programs that it is measured in

    @property
    def is_linker(self) -> bool:
        """Whether its library is the dynamic linker, as musl's is: that must not be preloaded, and serves without."""
        return isinstance(self.get, FromSystem) and Path(self.get.library).name.startswith("ld-")

    @property
    def library_name(self) -> str:
        """What the library is kept under; variants share one."""
        return self.base or self.name


def load_allocators(folder: Path) -> dict[str, Allocator]:
    """All allocators declared in the folder, by name; a variant follows its base."""
    allocators: dict[str, Allocator] = {}
    for file in sorted(folder.glob("*.toml")):
        for allocator in read_declaration(file):
            if allocator.name in allocators:
                raise DeclarationError(f"{file}: there is another allocator named '{allocator.name}'")
            allocators[allocator.name] = allocator
    if not allocators:
        raise DeclarationError(f"{folder}: no allocator is declared there (no *.toml)")
    return allocators


def read_declaration(file: Path) -> list[Allocator]:
    """The allocator of one file, then its variants."""
    try:
        table = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise DeclarationError(f"{file}: {error}") from error
    return Declaration(file, table).allocators()


class Declaration:
    """One file's table, taken apart key by key; what is left over at the end is a mistake of the author's."""

    def __init__(self, file: Path, table: dict[str, Any]) -> None:
        self.file = file
        self.table = table

    def allocators(self) -> list[Allocator]:
        table = self.table
        name = self.text(table, "name")
        if name != self.file.stem or not NAME.fullmatch(name):
            self.refuse(f"name: '{name}' must be the file's name, of lower-case letters, digits and _")
        variants = self.section(table, "variants", required=False)
        base = Allocator(
            name=name, title=self.text(table, "title"), family=self.text(table, "family"),
            homepage=self.text(table, "homepage"), get=self.source(self.section(table, "get")),
            version_command=self.text(self.section(table, "version"), "command"),
            environment=self.environment(table), c_libraries=self.c_libraries(table))
        self.refuse_others(table, {"name", "title", "family", "homepage", "get", "version", "environment", "variants",
                                   "c_libraries"}, "")
        self.refuse_others(table["version"], {"command"}, "version.")
        return [base, *(self.variant(base, key, variants) for key in variants)]

    def variant(self, base: Allocator, key: str, variants: dict[str, Any]) -> Allocator:
        if not NAME.fullmatch(key):
            self.refuse(f"variants.{key}: a name is of lower-case letters, digits and _")
        table = self.section(variants, key)
        self.refuse_others(table, {"title", "environment"}, f"variants.{key}.")
        return replace(base, name=f"{base.name}-{key}", title=self.text(table, "title"), base=base.name,
                       environment={**base.environment, **self.environment(table)})

    def source(self, get: dict[str, Any]) -> FromSystem | FromPackage | FromCrate:
        kinds = [kind for kind in ("system", "apt", "crate") if kind in get]
        if len(kinds) != 1:
            self.refuse("get: exactly one of system, apt and crate says where it comes from")
        if kinds == ["system"]:
            if get["system"] is not True:
                self.refuse("get.system: only true has a meaning")
            self.refuse_others(get, {"system", "library"}, "get.")
            return FromSystem(self.text(get, "library"))
        if kinds == ["apt"]:
            self.refuse_others(get, {"apt", "library"}, "get.")
            return FromPackage(self.text(get, "apt"), self.text(get, "library"))
        self.refuse_others(get, {"crate", "version", "build"}, "get.")
        build = self.file.resolve().parents[3] / self.text(get, "build")
        if not build.is_file():
            self.refuse(f"get.build: there is no {build}")
        return FromCrate(self.text(get, "crate"), self.text(get, "version"), build)

    def environment(self, table: dict[str, Any]) -> dict[str, str]:
        found = self.section(table, "environment", required=False)
        for name, value in found.items():
            if not ENVIRONMENT_NAME.fullmatch(name) or not isinstance(value, str) or "\0" in value:
                self.refuse(f"environment.{name}: a name with a text is wanted")
        return dict(found)

    def c_libraries(self, table: dict[str, Any]) -> tuple[str, ...]:
        found = table.get("c_libraries", ["glibc"])
        if not isinstance(found, list) or not found or not set(found) <= set(C_LIBRARIES):
            self.refuse(f"c_libraries: a list of {' and '.join(C_LIBRARIES)}")
        return tuple(found)

    def section(self, table: dict[str, Any], key: str, *, required: bool = True) -> dict[str, Any]:
        found = table.get(key, None if required else {})
        if not isinstance(found, dict):
            self.refuse(f"[{key}] is missing, or is not a table")
        return found

    def text(self, table: dict[str, Any], key: str) -> str:
        found = table.get(key)
        if not isinstance(found, str) or not found.strip():
            self.refuse(f"{key}: a text is wanted")
        return found

    def refuse_others(self, table: dict[str, Any], known: set[str], prefix: str) -> None:
        for key in table:
            if key not in known:
                self.refuse(f"{prefix}{key}: unknown (known here: {', '.join(sorted(known))})")

    def refuse(self, why: str) -> None:
        raise DeclarationError(f"{self.file}: {why}")
