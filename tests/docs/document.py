"""A Markdown document as the tests see it: its blocks of code, its links and its anchors.

A block is fenced, and its language says what the tests do with it; docs that users read have no indented blocks, which
cannot say. A block that cannot be run has a line before it: <!-- not run: REASON -->
"""

import os
import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(os.environ.get("SNUG_SOURCE", Path(__file__).resolve().parents[2]))
# For users: their commands are run and their words are theirs.
USER_PAGES = [ROOT / "README.md", *(ROOT / "docs" / f"{name}.md" for name in (
    "batches", "benchmarking", "cell-heap", "checking", "coming-from", "compact-heap", "configuration", "heaps", "install", "limits", "misuse",
    "pools", "profiling", "real-time", "recipes", "report", "running-process", "seeds", "size-classes", "traces", "using"))]
ALL_PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "docs/decisions").rglob("*.md"),
             *(ROOT / "docs/architecture").glob("*.md"), *(ROOT / "bench").rglob("*.md")]
NOT_RUN = re.compile(r"<!-- not run: (.+) -->")


@dataclass(frozen=True)
class Block:
    page: Path
    line: int  # of the fence, from 1
    language: str
    text: str
    excuse: str  # why it is not run; empty: it is

    @property
    def place(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


@dataclass(frozen=True)
class Link:
    page: Path
    line: int
    target: str

    @property
    def place(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def blocks(page: Path) -> list[Block]:
    found, fence, before = [], None, ""
    for number, line in enumerate(page.read_text("utf-8").splitlines(), 1):
        stripped = line.strip()
        if fence is None and stripped.startswith("```"):
            excuse = NOT_RUN.fullmatch(before)
            fence, lines = (number, stripped[3:].strip(), excuse[1] if excuse else ""), []
        elif fence is not None and stripped == "```":
            found.append(Block(page, fence[0], fence[1], "\n".join(lines) + "\n", fence[2]))
            fence = None
        elif fence is not None:
            lines.append(line)
        before = stripped or before
    return found


def indented(page: Path) -> list[int]:
    """Lines at which an indented block begins."""
    text = without_fences(page)
    return [text[: found.start()].count("\n") + 2 for found in re.finditer(r"(?m)^\n {4}\S", text)
            if not in_list(text[: found.start()])]


def in_list(before: str) -> bool:
    """Whether an indented line belongs to a list's item."""
    for line in reversed(before.splitlines()):
        if line and not line.startswith(" "):
            return bool(re.match(r"([-*]|\d+\.) ", line))
    return False


def without_fences(page: Path) -> str:
    """The text with empty lines in place of fenced blocks, so that lines keep their numbers."""
    kept, inside = [], False
    for line in page.read_text("utf-8").splitlines():
        mark = line.strip().startswith("```")
        kept.append("" if inside or mark else line)
        inside ^= mark
    return "\n".join(kept) + "\n"


def prose(page: Path) -> str:
    """Neither code nor comments."""
    text = re.sub(r"<!--.*?-->", lambda found: re.sub(r"[^\n]", "", found[0]), without_fences(page), flags=re.DOTALL)
    return re.sub(r"(`+)(?!`).*?\1", lambda found: " " * len(found[0]), text)


def links(page: Path) -> list[Link]:
    found = []
    for number, line in enumerate(prose(page).splitlines(), 1):
        targets = re.findall(r"\]\(([^)\s]+)(?:\s+\"[^\"]*\")?\)", line)
        targets += re.findall(r"(?:src|srcset|href)=\"([^\"]+)\"", line) + re.findall(r"^\[[^\]]+\]: (\S+)", line)
        found += [Link(page, number, target) for target in targets]
    return found


def anchors(page: Path) -> set[str]:
    """As GitHub makes them of headings."""
    seen: dict[str, int] = {}
    text = without_fences(page)
    result = set(re.findall(r"<a (?:id|name)=\"([^\"]+)\"", text))
    for heading in re.findall(r"(?m)^#{1,6} +(.+?) *#*$", text):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        slug = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
        count = seen.get(slug, 0)
        seen[slug] = count + 1
        result.add(f"{slug}-{count}" if count else slug)
    return result
