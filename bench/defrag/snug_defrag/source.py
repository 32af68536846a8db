"""Debian's Redis source, and servers made of it: as it is, with the jemalloc that it carries, and patched, with snug."""

import os
import shutil
import subprocess
import tarfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1]
PATCH = FOLDER / "redis_on_snug.patch"
MOST_LINES = 30  # that the patch changes
NAME = "redis_*.orig.tar.gz"
KEYS = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
SOURCES = f"""Types: deb-src
URIs: http://deb.debian.org/debian
Suites: bookworm
Components: main
Signed-By: {KEYS}

Types: deb-src
URIs: http://deb.debian.org/debian-security
Suites: bookworm-security
Components: main
Signed-By: {KEYS}
"""


class Unavailable(Exception):
    """Why there is no such server."""


@dataclass(frozen=True)
class Contender:
    name: str
    server: Path
    environment: dict[str, str] = field(default_factory=dict)


def source(folder: Path) -> Path:
    """Bookworm's source package as its makers made it, 7.0.15; apt-get asks for it under a configuration of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    if found := sorted(folder.glob(NAME)):
        return found[-1]
    if shutil.which("apt-get") is None or not KEYS.is_file():
        raise Unavailable("no apt-get, or no keys of Debian's archive")
    apt = folder / "apt"
    (apt / "lists" / "partial").mkdir(parents=True, exist_ok=True)
    (apt / "parts").mkdir(exist_ok=True)
    (apt / "parts" / "source.sources").write_text(SOURCES)
    settings = ["-oDir::Etc::SourceList=/dev/null", f"-oDir::Etc::SourceParts={apt / 'parts'}",
                f"-oDir::State::Lists={apt / 'lists'}", f"-oDir::Cache={apt}"]
    for command in (["update"], ["source", "--download-only", "redis"]):
        done = subprocess.run(["apt-get", "-qq", *settings, *command], cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise Unavailable(f"apt-get has no source of Redis: {last_line(done.stderr)}")
    if found := sorted(folder.glob(NAME)):
        return found[-1]
    raise Unavailable("apt-get brought no source of Redis")


def built(name: str, root: Path, build: Path, folder: Path, say: Callable[[str], None] = print) -> Contender:
    """`name`: snug, linked to the library below `build`, or jemalloc. Made once in `folder`, and when the patch or snug.h is
    newer."""
    tarball = source(folder)
    place = folder / name
    server = place / "src" / "redis-server"
    library = build / "lib"
    header = root / "include" / "snug" / "snug.h"
    read = [tarball, PATCH, header] if name == "snug" else [tarball]
    if name == "snug" and not (library / "libsnug.so").is_file():
        raise Unavailable(f"no {library / 'libsnug.so'}: `cmake --preset release && ninja -C build/release libsnug.so`")
    if not server.is_file() or any(each.stat().st_mtime > server.stat().st_mtime for each in read):
        say(f"{name}: building Redis")
        shutil.rmtree(place, ignore_errors=True)
        unpack(tarball, place)
        extra = []
        if name == "snug":
            command("the patch does not apply", ["patch", "-p1", "--fuzz=0", "-i", str(PATCH)], place)
            extra = [f"REDIS_CFLAGS=-I{root / 'include'}", f"REDIS_LDFLAGS=-L{library}"]
        command("Redis cannot be built", ["make", "-C", "src", f"-j{os.cpu_count() or 1}", f"MALLOC={name}", *extra, "redis-server"],
                place)
    return Contender(name, server, {"LD_LIBRARY_PATH": str(library)} if name == "snug" else {})


def load_program(folder: Path) -> Path:
    program, text = folder / "load", FOLDER / "programs" / "load.c"
    if not program.is_file() or text.stat().st_mtime > program.stat().st_mtime:
        command("the load cannot be compiled", ["cc", "-O2", "-Wall", "-Wextra", "-Werror", str(text), "-o", str(program), "-lm"], folder)
    return program


def unpack(tarball: Path, place: Path) -> None:
    with tarfile.open(tarball) as archive:
        top = archive.getmembers()[0].name.split("/")[0]
        archive.extractall(place.parent)
    (place.parent / top).rename(place)


def changed_lines() -> int:
    """How many lines the patch adds and takes away."""
    return sum(line[:1] in ("+", "-") and line[:3] not in ("+++", "---") for line in PATCH.read_text().splitlines())


def command(trouble: str, words: list[str], place: Path) -> None:
    # A Makefile of Redis's takes these for its own.
    environment = {name: value for name, value in os.environ.items() if name not in ("CFLAGS", "LDFLAGS", "MAKEFLAGS", "MALLOC")}
    done = subprocess.run(words, cwd=place, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Unavailable(f"{trouble}: {last_line(done.stderr or done.stdout)}")


def last_line(text: str) -> str:
    return (text.strip().splitlines() or ["no word why"])[-1]
