"""The loads: a program and its arguments, and the data that they read, which is the same everywhere."""

import random
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

WORDS = 1500
TREE_FILES = 60_000
FILES_A_FOLDER = 60
ENDINGS = ("rs", "toml", "md", "txt", "json", "lock", "png", "html")


@dataclass(frozen=True)
class Data:
    """Where the loads find what they read, and how much each has to do."""

    text: Path
    words: Path
    tree: Path
    threads: int
    scale: float

    def times(self, count: int) -> int:
        return max(1, round(count * self.scale))

    def again(self, folder: Path, count: int) -> list[str]:
        """A folder as an argument so many times: it is read as often."""
        return [str(folder)] * self.times(count)


@dataclass(frozen=True)
class Load:
    name: str
    title: str
    program: str
    arguments: Callable[[Data], list[str]]


LOADS = {load.name: load for load in (
    Load("rg", "ripgrep prints the lines of Rust sources that match a pattern", "rg", lambda data: [
        "--no-config", "--no-ignore", "--color=never", "--no-heading", "-n", f"-j{data.threads}",
        r"\bfn \w+(<[^>]*>)?\([^)]*\) -> \w+", *data.again(data.text, 12)]),
    Load("rg_words", f"ripgrep counts the lines that have one of {WORDS} words", "rg", lambda data: [
        "--no-config", "--no-ignore", "--color=never", "-c", "-w", f"-j{data.threads}", f"-f{data.words}",
        *data.again(data.text, 4)]),
    Load("fd", "fd lists the files of a tree that match a pattern", "fd", lambda data: [
        "--no-ignore", "--color=never", "-tf", f"-j{data.threads}", r"[0-4]\w*\.(rs|json)$", *data.again(data.tree, 12)]),
    Load("json", "rayon and serde_json: 64 documents at once in a thread are parsed, changed and written", "json", lambda data: [
        str(data.times(30_000)), str(data.threads)]),
    Load("syntax", "syn and quote: eight files at once in a thread become syntax trees, and text again", "syntax", lambda data: [
        str(data.text), str(data.threads), str(data.times(1_200))]),
    Load("serve", "hyper and tokio: a server that keeps JSON, and 32 clients, in one process", "serve", lambda data: [
        str(data.times(60_000)), str(data.threads)]),
)}


def data_at(folder: Path, text: Path, threads: int, scale: float) -> Data:
    """Names what there is to be; `fill` makes it."""
    return Data(text, folder / "words", folder / f"tree-{max(FILES_A_FOLDER, round(TREE_FILES * min(scale, 1)))}", threads, scale)


def fill(data: Data) -> None:
    if not data.tree.is_dir():
        half = data.tree.with_name(f"{data.tree.name}.new")
        shutil.rmtree(half, ignore_errors=True)
        grow(half, int(data.tree.name.partition("-")[2]))
        half.rename(data.tree)
    data.words.write_text("".join(f"{word}\n" for word in words_of(data.text)))


def grow(tree: Path, files: int) -> None:
    """A tree of empty files, sixty in a folder, folders four deep."""
    draw = random.Random(1)
    for number in range(0, files, FILES_A_FOLDER):
        folder = tree.joinpath(*(f"{name_of(draw)}_{number // size % 8}" if size == FILES_A_FOLDER else f"part_{number // size % 8}"
                                 for size in (FILES_A_FOLDER * 512, FILES_A_FOLDER * 64, FILES_A_FOLDER * 8, FILES_A_FOLDER)))
        folder.mkdir(parents=True)
        for each in range(min(FILES_A_FOLDER, files - number)):
            (folder / f"{name_of(draw)}_{each}.{draw.choice(ENDINGS)}").touch()


def name_of(draw: random.Random) -> str:
    return "".join(draw.choices("abcdefghijklmnopqrstuvwxyz0123456789", k=draw.randint(4, 24)))


def words_of(text: Path) -> list[str]:
    """Of the words that stand in the text, so many, evenly over their order."""
    found: set[str] = set()
    for file in text.rglob("*.rs"):
        found.update(re.findall(r"\b[a-z_]{5,20}\b", file.read_text(encoding="utf-8", errors="replace")))
    ordered = sorted(found)
    return ordered[::max(1, len(ordered) // WORDS)][:WORDS]
