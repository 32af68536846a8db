"""Builds the programs with cargo, once for each target and contender, in build/crates:

    Cargo.toml, contender, jobs    as in bench/crates
    sources                        of ripgrep and fd-find, as the registry has them
    ripgrep, fd-find               the same, with another allocator
    target                         cargo's own
    bin/TARGET/CONTENDER/          the programs
    text, tree-N                   what they read
    log                            what cargo said
"""

import json
import re
import shutil
import subprocess
import tomllib
from dataclasses import dataclass
from pathlib import Path

from snug_bench.preparation import Say, Steps, Unavailable, clean_environment, lock

from snug_crates.compiler import musl_environment

BUILD_SECONDS = 3600
PACKAGES = {"rg": "ripgrep", "fd": "fd-find", "json": "jobs", "syntax": "jobs", "serve": "jobs"}  # of each program

MUSL = "musl"
TARGETS = {"gnu": "x86_64-unknown-linux-gnu", MUSL: "x86_64-unknown-linux-musl"}


@dataclass(frozen=True)
class Kind:
    name: str
    title: str
    mark: bytes  # a part of a function's name that a program has if and only if this allocator is linked

    @property
    def options(self) -> list[str]:
        return [] if self.name == SYSTEM else ["--features", f"contender/{self.name}"]


SYSTEM, SNUG = "system", "snug"
KINDS = {kind.name: kind for kind in (
    Kind(SYSTEM, "malloc of the target's C library, which Rust takes if it is not told otherwise", b""),
    Kind("mimalloc", "the crate mimalloc, which is mimalloc 3", b"mi_theap_"),
    Kind("mimalloc2", "the same crate with its feature v2", b"mi_heap_malloc"),
    Kind("jemalloc", "the crate tikv-jemallocator", b"_rjem_"),
    Kind(SNUG, "the crate snug of this tree, bindings/rust", b"snug_malloc"),
)}


@dataclass(frozen=True)
class Edit:
    """What is replaced in a program's source, once."""

    file: str
    old: str  # an expression for re
    new: str


# Either program declares jemalloc for itself, on some targets.
DECLARED = (r"#\[cfg\([^\]]*\)\]\n#\[global_allocator\]\n"
            r"static ALLOC: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;\n")
DEPENDS = r"\[target\.'[^'\n]*'\.dependencies\.tikv-jemallocator\]\nversion = \"[^\"\n]*\"\n(optional = true\n)?"
ON_CONTENDER = '[dependencies.contender]\npath = "../contender"\n'
EDITS = {
    "ripgrep": (Edit("crates/core/main.rs", DECLARED, "extern crate contender;\n"), Edit("Cargo.toml", DEPENDS, ON_CONTENDER)),
    "fd-find": (Edit("src/main.rs", DECLARED, "extern crate contender;\n"), Edit("Cargo.toml", DEPENDS, ON_CONTENDER),
                Edit("Cargo.toml", r'use-jemalloc = \["tikv-jemallocator"\]', "use-jemalloc = []")),
}


class Workspace:
    def __init__(self, root: Path, say: Say):
        self.own, self.folder, self.say = root / "bench" / "crates", root / "build" / "crates", say
        self.root = root

    def prepare(self) -> None:
        """Downloads what is not there, and lays out the workspace. Raises Unavailable."""
        if shutil.which("cargo") is None:
            raise Unavailable("no cargo; https://rustup.rs has it")
        for name in ("Cargo.toml", "Cargo.lock", "contender", "jobs"):
            mirror(self.own / name, self.folder / name)
        for name, edits in EDITS.items():
            mirror(self.source_of(name), self.folder / name, edits)
        self.keep_text()

    def place(self, target: str, kind: Kind) -> Path:
        return self.folder / "bin" / target / kind.name

    def built(self, target: str, kind: Kind, programs: list[str]) -> Path:
        """The folder with these of a contender's programs for a target. Raises Unavailable."""
        release = self.folder / "target" / TARGETS[target] / "release"
        place = self.place(target, kind)
        place.mkdir(parents=True, exist_ok=True)
        log = self.folder / "log" / f"{target}_{kind.name}.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        environment = {"RUSTFLAGS": "", "CARGO_TARGET_DIR": str(self.folder / "target")}
        if target == MUSL and kind.name != SYSTEM:
            environment |= musl_environment(self.root, self.folder)
        self.say(f"{kind.name}: building for {TARGETS[target]}")
        with lock(self.folder / "lock"), log.open("wb") as output:
            Steps(log, output, self.say).run("building", [
                "cargo", "build", "--release", "--locked", "--target", TARGETS[target], *kind.options,
                *(word for program in programs for word in ("-p", PACKAGES[program], "--bin", program))],
                self.folder, BUILD_SECONDS, environment)
            for program in programs:
                check_linked(release / program, kind)
                copy = place / f"{program}.new"
                shutil.copy2(release / program, copy)
                copy.replace(place / program)
        return place

    def source_of(self, name: str) -> Path:
        """As the registry has it; downloaded where it is not there. Raises Unavailable."""
        sources = self.folder / "sources"
        wanted = sources / f"{name}-{self.locked()[name]}"
        if not wanted.is_dir():
            log, half = self.folder / "log" / "sources.log", self.folder / "sources.new"
            log.parent.mkdir(parents=True, exist_ok=True)
            self.say("downloading the programs' sources")
            with lock(self.folder / "lock"), log.open("wb") as output:
                shutil.rmtree(half, ignore_errors=True)
                Steps(log, output, self.say).run(
                    "downloading", ["cargo", "vendor", "--locked", "--versioned-dirs", str(half)], self.own / "sources", BUILD_SECONDS)
                # It brings what they depend on, for every system, as well.
                for folder in half.iterdir():
                    if not folder.name.startswith(tuple(f"{name}-" for name in EDITS)):
                        shutil.rmtree(folder)
                shutil.rmtree(sources, ignore_errors=True)
                half.rename(sources)
        return wanted

    def locked(self) -> dict[str, str]:
        """The versions of all packages, by name."""
        files = (self.own / "Cargo.lock", self.own / "sources" / "Cargo.lock")
        return {each["name"]: each["version"] for file in files for each in tomllib.loads(file.read_text())["package"]}

    @property
    def text(self) -> Path:
        """The Rust sources of all crates that the programs are made of, as the registry has them."""
        return self.folder / "text"

    def keep_text(self) -> None:
        stamp, wanted = self.folder / "text.lock", (self.own / "Cargo.lock").read_bytes()
        if self.text.is_dir() and stamp.is_file() and stamp.read_bytes() == wanted:
            return
        self.say("copying the crates' sources")
        shutil.rmtree(self.text, ignore_errors=True)
        stamp.unlink(missing_ok=True)
        for folder in packages(self.folder).values():
            for file in sorted(folder.rglob("*.rs")):
                copy = self.text / folder.name / file.relative_to(folder)
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(file, copy)
        stamp.write_bytes(wanted)

    def versions(self) -> str:
        """Of what comes from the registry and is measured."""
        named = self.locked()
        return ", ".join(f"{name} {named[name]}" for name in ("mimalloc", "tikv-jemallocator", "ripgrep", "fd-find", "serde_json",
                                                             "syn", "hyper"))


def packages(folder: Path) -> dict[str, Path]:
    """The folders with the sources of all packages of the registry that a locked workspace names, by name; of several
    versions the last. cargo downloads what is not there. Raises Unavailable."""
    command = ["cargo", "metadata", "--locked", "--format-version", "1", "--filter-platform", TARGETS["gnu"]]
    done = subprocess.run(command, cwd=folder, env=clean_environment(), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = [line for line in done.stderr.splitlines() if line.startswith("error")] or done.stderr.splitlines()
        raise Unavailable(f"cargo cannot get the crates: {(said or ['it said nothing'])[0]}")
    return {each["name"]: Path(each["manifest_path"]).parent for each in json.loads(done.stdout)["packages"] if each["source"]}


def mirror(source: Path, copy: Path, edits: tuple[Edit, ...] = ()) -> None:
    """Makes a file, or a folder's files, the same but for the edits. What is the same is not touched, so that cargo builds
    nothing anew. Raises Unavailable where a text to be replaced does not stand there once."""
    changed: dict[Path, str] = {}
    for edit in edits:
        file = source / edit.file
        text = changed.get(file) or file.read_text(encoding="utf-8")
        changed[file], count = re.subn(edit.old, lambda _, new=edit.new: new, text)
        if count != 1:
            raise Unavailable(f"its allocator cannot be replaced: {file} has {count} places, not one, for {edit.old!r}")
    for file in [source] if source.is_file() else sorted(path for path in source.rglob("*") if path.is_file()):
        place = copy / file.relative_to(source) if source.is_dir() else copy
        wanted = changed[file].encode() if file in changed else file.read_bytes()
        if not place.is_file() or place.read_bytes() != wanted:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(wanted)


def check_linked(program: Path, kind: Kind) -> None:
    """Raises Unavailable if another allocator than the contender's is in a program."""
    image = program.read_bytes()
    # mimalloc 3 has the names of mimalloc 2 as well.
    found = [each.name for each in KINDS.values() if each.mark and each.mark in image]
    found = [name for name in found if name != "mimalloc2" or "mimalloc" not in found]
    if found != [kind.name] * bool(kind.mark):
        raise Unavailable(f"{program.name} has {', '.join(found) or 'no allocator'} linked into it")
