"""Golden files of what is printed. `SNUG_WRITE_GOLDEN=1 ctest -R tools` writes them anew; read the difference."""

import os
from pathlib import Path

FOLDER = Path(__file__).parent / "comparisons"
WIDTHS = (80, 100, 200)


def assert_golden(test, name, text):
    file = FOLDER / f"{name}.txt"
    if os.environ.get("SNUG_WRITE_GOLDEN"):
        file.write_text(text)
    test.assertEqual(text, file.read_text(), name)


def assert_fits(test, width, text):
    for line in text.splitlines():
        test.assertLessEqual(len(line), width, line)
