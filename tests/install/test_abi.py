"""scripts/check_abi on the library of this build: it is as recorded, and each change that breaks programs is told.

The record is changed the other way round: where the library is to lack a function, the record has one more. So each
change is compared as a change of the source would be, and the library is built once.
"""

import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

SOURCE = Path(os.environ["SNUG_SOURCE"])
BUILD = os.environ["SNUG_BUILD"]
RECORD = SOURCE / "packaging" / "abi" / "libsnug.so.0.abi"
BREAKS = "programs that are linked to libsnug.so.0 would break"
GAINED = "libsnug.so.0 has gained functions"


def without(function: str, text: str) -> str:
    text = re.sub(rf"    <elf-symbol name='{function}'.*\n", "", text)
    return re.sub(rf"    <function-decl name='{function}'.*?</function-decl>\n", "", text, flags=re.S)


def with_twin(function: str, twin: str, text: str) -> str:
    """Another function of the same type."""
    symbol = re.search(rf"    <elf-symbol name='{function}'.*\n", text)[0]
    declaration = re.search(rf"    <function-decl name='{function}'.*?</function-decl>\n", text, re.S)[0]
    return text.replace(symbol, symbol + symbol.replace(function, twin)).replace(
        declaration, declaration + declaration.replace(function, twin)
    )


def in_declaration(opening: str, change: "tuple[str, str]", text: str) -> str:
    """Replaces a pattern once within an element."""
    kind = opening.split()[0]
    declaration = re.search(rf"<{opening}.*?</{kind}>", text, re.S)[0]
    changed = re.sub(change[0], change[1], declaration, count=1, flags=re.S)
    assert changed != declaration, opening
    return text.replace(declaration, changed)


@unittest.skipIf(shutil.which("abidiff") is None and "CI" not in os.environ, "abidiff is not installed (abigail-tools)")
class AbiTest(unittest.TestCase):
    def check(self, text: str, *options: str):
        with tempfile.TemporaryDirectory() as folder:
            record = Path(folder) / "record.abi"
            record.write_text(text)
            command = [SOURCE / "scripts" / "check_abi", f"--recorded={record}", *options, BUILD]
            ran = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
            return ran.returncode, ran.stdout + ran.stderr, record.read_text()

    def setUp(self):
        self.text = RECORD.read_text()

    def test_the_library_is_as_recorded(self):
        status, words, _ = self.check(self.text)
        self.assertEqual(status, 0, words)

    def test_what_breaks_programs_is_told(self):
        retype = ("<parameter type-id='[^']*'", "<parameter type-id='type-id-5'")
        changes = {
            "a function has gone": with_twin("snug_purge", "snug_gone", self.text),
            "a parameter has another type": in_declaration("function-decl name='snug_purge'", retype, self.text),
            "a structure is longer": in_declaration(
                "class-decl name='snug_heap_stats' size-in-bits='448'",
                ("size-in-bits='448'(.*)      <data-member [^>]*'384'>.*?</data-member>\n", r"size-in-bits='384'\1"),
                self.text,
            ),
            "a field has moved": in_declaration(
                "class-decl name='snug_stats'", ("'blocks_in_use'(.*)'bytes_cached'", r"'bytes_cached'\1'blocks_in_use'"), self.text
            ),
            "a constant has another value": in_declaration(
                "enum-decl name='snug_compact_map'", ("'SNUG_COMPACT_CF16' value='1'", "'SNUG_COMPACT_CF16' value='7'"), self.text
            ),
        }
        for what, text in changes.items():
            with self.subTest(what):
                self.assertNotEqual(text, self.text)
                status, words, _ = self.check(text)
                self.assertEqual(status, 1, words)
                self.assertIn(BREAKS, words)
                status, words, left = self.check(text, "--record")
                self.assertEqual((status, left), (1, text), words)

    def test_what_has_come_is_recorded_when_asked(self):
        earlier = without("snug_purge", self.text)
        self.assertNotEqual(earlier, self.text)
        status, words, left = self.check(earlier)
        self.assertEqual((status, left), (1, earlier), words)
        self.assertIn(GAINED, words)
        self.assertIn("snug_purge", words)
        status, words, left = self.check(earlier, "--record")
        self.assertEqual(status, 0, words)
        self.assertIn("'snug_purge'", left)

    def test_a_break_is_recorded_only_by_its_option(self):
        status, words, left = self.check(with_twin("snug_purge", "snug_gone", self.text), "--record-break")
        self.assertEqual(status, 0, words)
        self.assertNotIn("snug_gone", left)

    def test_what_cannot_be_compared_is_told(self):
        status, words, _ = self.check("no record")
        self.assertEqual(status, 2, words)
        self.assertEqual(len(words.splitlines()), 1, words)


if __name__ == "__main__":
    unittest.main()
