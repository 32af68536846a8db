"""The newcomer's questions: twenty of them, each with a section, which test_links follows, and a name that stands in the
file that it is looked for in."""

import re
import tempfile
import unittest
from pathlib import Path

from document import ROOT

ROW = re.compile(r"\| (?P<question>.+\?) \| \[.+\]\((?P<section>\S+)\) \| `(?P<file>\S+)`: `(?P<name>\w+)` \|")


def rows(text: str) -> list[re.Match]:
    """One a line of the table, its head apart."""
    lines = [line for line in text.splitlines() if line.startswith("| ")][1:]
    return [ROW.fullmatch(line) or line for line in lines]


def missing(text: str, root: Path) -> list[str]:
    """What the table names and nobody finds."""
    found = []
    for row in rows(text):
        if isinstance(row, str):
            found.append(f"no question, section and name: {row}")
            continue
        file = root / row["file"]
        if not file.is_file():
            found.append(f"{row['file']}: no such file")
        elif not re.search(rf"\b{row['name']}\b", file.read_text("utf-8")):
            found.append(f"{row['file']}: no {row['name']}")
    return found


class QuestionsTest(unittest.TestCase):
    def test_each_is_answered_where_it_says(self):
        text = (ROOT / "docs/questions.md").read_text("utf-8")
        self.assertEqual(missing(text, ROOT), [])
        questions = [row["question"] for row in rows(text)]
        self.assertEqual(len(set(questions)), 20)

    def test_what_is_not_there_is_seen(self):
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "a.h").write_text("int begin();\n")
            text = "| question | in words | in the code |\n|---|---|---|\n"
            text += "".join(f"| Where? | [there](a.md) | {place} |\n" for place in ("`a.h`: `begin`", "`a.h`: `beg`", "`b.h`: `end`"))
            text += "| Where to? | nowhere |\n"
            self.assertEqual(missing(text, Path(folder)), ["a.h: no beg", "b.h: no such file",
                                                           "no question, section and name: | Where to? | nowhere |"])


if __name__ == "__main__":
    unittest.main()
