"""The number by which `snug inspect CORE` knows the library's records (src/allocator/layout_note.h): another with each record that is
read and changes its length, even where the allocator keeps its own."""

import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """#include "allocator/layout_note.h"
#include <stdio.h>
int main() { printf("%llx", static_cast<unsigned long long>(snug::layout_of_records(1))); }
"""
# Where such a record begins: those that others only point at.
RECORDS = {
    "checked/guarded_pages.h": "struct Slot {",
    "checked/quarantine.h": "struct Rested {",
    "heap/heap_slab.h": "struct HeapSlab {",
    "heap/region_map.h": "struct Leaf {",
    "profile/call_tree.h": "struct Node {",
    "profile/heap_profile.h": "struct State {",
    "span/meta_arena.h": "struct Link {",
}
BATCH = ("checked/quarantine.h", "Batch {")
SITE = ("profile/heap_profile.h", "struct Site {")


class LayoutTest(unittest.TestCase):
    def test_each_record_counts(self):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            source = folder / "src"
            shutil.copytree(ROOT / "src", source)
            (folder / "layout.cpp").write_text(PROGRAM, encoding="ascii")

            def layout():
                subprocess.run([os.environ["CXX"], "-std=c++20", "-DNDEBUG", f"-I{source}", f"-I{ROOT / 'include'}", folder / "layout.cpp",
                                "-o", folder / "layout"], check=True)
                return subprocess.run([folder / "layout"], stdout=subprocess.PIPE, check=True).stdout

            usual = layout()
            for file, record in (*RECORDS.items(), BATCH, SITE):
                with self.subTest(record):
                    text = (source / file).read_text(encoding="utf-8")
                    self.assertEqual(len(re.findall(re.escape(record), text)), 1)
                    (source / file).write_text(text.replace(record, record + " uint64_t longer[8];"), encoding="utf-8")
                    self.assertNotEqual(layout(), usual)
                    (source / file).write_text(text, encoding="utf-8")
            stacks = source / "checked/call_stack.h"
            stacks.write_text(stacks.read_text(encoding="utf-8").replace("kMost = 16", "kMost = 17"), encoding="utf-8")
            self.assertNotEqual(layout(), usual)


if __name__ == "__main__":
    unittest.main()
