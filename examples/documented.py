"""Each program that the documentation shows whole, and says is one of the examples, is that example letter by letter.

The examples are compiled and run by the tests, so what a reader copies compiles and runs.
"""

import re
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SHOWN = re.compile(r"```c(?:pp)?\n(.*?)```\n\nThis is \[examples/([a-z_.]+)\]", re.DOTALL)


class DocumentedTest(unittest.TestCase):
    def test_what_is_shown_is_the_example(self):
        names = []
        for page in sorted((ROOT / "docs").glob("*.md")):
            for shown, name in SHOWN.findall(page.read_text(encoding="utf-8")):
                names.append(name)
                self.assertEqual(shown, (ROOT / "examples" / name).read_text(encoding="utf-8"), f"{page.name}: {name}")
        self.assertIn("batch.c", names)


if __name__ == "__main__":
    unittest.main()
