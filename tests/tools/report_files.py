"""Files for the tests of `snug report`: traces of lines, in a folder of their own."""

import json
import tempfile
import unittest
from pathlib import Path

from tool_under_test import snug

# Allocations a, frees f, reallocations r, by key and size: what snug classes fit reads.
LINES = """a a1 1000
a a2 1000
a a3 100
f a3
a a4 4360
f a2
r a1 a5 3000
f a4
a a6 50
"""


class Files(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @classmethod
    def path(cls, name):
        return str(Path(cls.folder.name) / name)

    @classmethod
    def imported(cls, name, lines=LINES):
        """A trace of lines, of which each blank becomes a tab."""
        Path(cls.path("lines")).write_text(lines.replace(" ", "\t"), encoding="ascii")
        process = snug("trace", "import", cls.path("lines"), "--from", "lines", "-o", cls.path(name))
        assert process.returncode == 0, process.stderr
        return cls.path(name)

    @classmethod
    def data_of(cls, trace, *options):
        process = snug("report", trace, "--no-replay", "--json", *options)
        return json.loads(process.stdout) if process.returncode == 0 else process.stderr
