"""Sheet: a table as text that fits where it is shown: whole, or as panels of fewer columns, or as a stack of rows. Never
is a cell cut or broken, so that a number stays one. Words of prose are wrapped beside it.
"""

import os
import sys
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass, field

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

GAP = 2  # columns between two cells
UNASKED = 100  # columns, where no terminal and no COLUMNS say how many there are
LONGEST = 120  # lines of prose


@dataclass(frozen=True)
class Column:
    title: str  # of several lines, if need be
    side: str = "right"  # on which its cells stand: right or left

    @property
    def words(self) -> str:
        return " ".join(self.title.split("\n"))


@dataclass
class Sheet:
    title: str
    columns: list[Column]
    keys: int = 1  # so many of the first columns say what a row is
    rows: list[list[Text]] = field(default_factory=list)

    def add(self, *cells: str | Text) -> None:
        self.rows.append([Text(cell) if isinstance(cell, str) else cell for cell in cells])

    def width_of(self, at: int) -> int:
        return max([cell_len(line) for line in self.columns[at].title.split("\n")] + [row[at].cell_len for row in self.rows])

    @property
    def width(self) -> int:
        return sum(self.width_of(at) for at in range(len(self.columns))) + GAP * (len(self.columns) - 1)

    def text(self) -> list[Text]:
        widths = [self.width_of(at) for at in range(len(self.columns))]
        heads = [column.title.split("\n") for column in self.columns]
        depth = max(map(len, heads))
        lines = [[Text(([""] * (depth - len(head)) + head)[level], "bold") for head in heads] for level in range(depth)]
        return [Text(self.title, "bold")] * bool(self.title) + [self.line(cells, widths) for cells in [*lines, *self.rows]]

    def line(self, cells: list[Text], widths: list[int]) -> Text:
        line = Text()
        for column, cell, width in zip(self.columns, cells, widths, strict=True):
            blank = " " * (width - cell.cell_len)
            line.append_text(Text(blank) + cell if column.side == "right" else cell + Text(blank)).append(" " * GAP)
        line.rstrip()
        return line

    def without(self, title: str) -> "Sheet":
        kept = [at for at, column in enumerate(self.columns) if column.title != title]
        return Sheet(self.title, [self.columns[at] for at in kept], self.keys, [[row[at] for at in kept] for row in self.rows])

    def part(self, chosen: Iterable[int]) -> "Sheet":
        """With the keys and these other columns."""
        kept = [*range(self.keys), *chosen]
        return Sheet("", [self.columns[at] for at in kept], self.keys, [[row[at] for at in kept] for row in self.rows])

    def panels(self, width: int) -> list[Text]:
        """One below the other, each with the keys and as many of the other columns as fit."""
        lines, left = [Text(self.title, "bold")] * bool(self.title), list(range(self.keys, len(self.columns)))
        while left:
            count = len(left)
            while count > 1 and self.part(left[:count]).width > width:
                count -= 1
            lines += [Text()] * (len(left) < len(self.columns) - self.keys) + self.part(left[:count]).text()
            left = left[count:]
        return lines

    def stack(self, width: int) -> list[Text]:
        """Row by row: what it is, and below it every figure with its title."""
        lines = [Text(self.title, "bold")] * bool(self.title)
        for row in self.rows:
            lines += packed([cell for cell in row[:self.keys] if cell], width, indent=2)
            items = [Text(column.words + " " * bool(column.words)) + cell
                     for column, cell in zip(self.columns[self.keys:], row[self.keys:], strict=True) if cell]
            lines += [Text("  ") + line for line in packed(items, width - 2, indent=0)]
        return lines


def packed(items: list[Text], width: int, indent: int, gap: int = GAP) -> list[Text]:
    """As many in a line as fit, the further lines indented; an item is never broken."""
    lines: list[Text] = []
    for item in items:
        if lines and lines[-1].cell_len + gap + item.cell_len <= width:
            lines[-1] = lines[-1] + Text(" " * gap) + item
        else:
            lines.append(Text(" " * indent * bool(lines)) + item)
    return lines


def standard_screen() -> Console:
    """A pipe is as wide as COLUMNS says, since what reads it does not."""
    asked = sys.stdout.isatty() or os.environ.get("COLUMNS", "").isdecimal()
    return Console(highlight=False, width=None if asked else UNASKED)


def show(console: Console, lines: Iterable[Text]) -> None:
    """Each as it is: a line that is too long is for the terminal to break, or to scroll."""
    for line in lines:
        console.print(line, soft_wrap=True)


def show_panels(console: Console, sheet: Sheet) -> None:
    show(console, sheet.text() if sheet.width <= console.width else sheet.panels(console.width))


def show_stack(console: Console, sheet: Sheet) -> None:
    show(console, sheet.text() if sheet.width <= console.width else sheet.stack(console.width))


def say_words(console: Console, words: str, style: str = "", head: str = "", indent: int = 0) -> None:
    """A sentence, wrapped between words for a reader, but one line in a pipe, for what searches it. Further lines are
    indented as far as the head reaches."""
    for line in wrapped(words, console.width, head, indent) if console.is_terminal else [head + words]:
        console.print(line, style=style, markup=False, soft_wrap=True)


def wrapped(words: str, width: int, head: str = "", indent: int = 0) -> list[str]:
    """A path is no word to break."""
    return textwrap.wrap(" ".join(words.split()), min(width, LONGEST), initial_indent=head, break_on_hyphens=False,
                         subsequent_indent=" " * (len(head) + indent), break_long_words=False) or [head]
