"""snug profile names the functions of a known program, compares profiles, and refuses what is none."""

import json
import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from tool_under_test import snug

PROGRAM = os.environ["KNOWN_HEAP"]


class ProfileTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = tempfile.TemporaryDirectory()
        cls.file = str(Path(cls.folder.name) / "prof.pb")
        cls.run_ = snug("profile", "--distance", "64K", "-o", cls.file, "--json", cls.file + ".json", PROGRAM, "1", "50", "300")
        cls.stacks = json.loads(Path(cls.file + ".json").read_text())["stacks"]

    @classmethod
    def tearDownClass(cls) -> None:
        cls.folder.cleanup()

    def of(self, name: str, measure: str) -> float:
        return sum(s[measure]["bytes"] for s in self.stacks if any(f.endswith(name + "(unsigned long)") for f in s["stack"][:1]))

    def test_the_programs_status_and_output_are_its_own(self) -> None:
        self.assertEqual(self.run_.returncode, 0, self.run_.stderr)
        self.assertIn("full: small", self.run_.stdout)

    @unittest.skipUnless(shutil.which("addr2line") or shutil.which("llvm-symbolizer"), "no symbolizer")
    def test_functions_are_named_with_what_they_held_at_the_peak(self) -> None:
        mib = 1 << 20
        self.assertAlmostEqual(self.of("large", "peak") / mib, 120, delta=25)
        self.assertAlmostEqual(self.of("mixed", "peak") / mib, 75, delta=20)
        self.assertEqual(self.of("large", "live"), 0)
        self.assertGreater(self.of("temporary", "allocated"), 0)

    def test_a_profile_less_itself_is_nothing(self) -> None:
        self.assertIn("peak: 0 B in 0 blocks, of 0 stacks", snug("profile", "--peak", "--diff", self.file, self.file).stdout)

    def test_what_is_no_profile_is_refused_in_a_line(self) -> None:
        whole = Path(self.file).read_bytes()
        torn = Path(self.file + ".torn")
        for bytes_ in (b"\x1f\x8b", b"x", whole[:100], whole[:-3], b""):
            torn.write_bytes(bytes_)
            answer = snug("profile", "--show", str(torn))
            self.assertEqual((answer.returncode, len(answer.stderr.splitlines())), (2, 1), answer.stderr)
        self.assertEqual(snug("profile", "--distance", "7", PROGRAM).returncode, 2)
        self.assertEqual(snug("profile").returncode, 2)

    @unittest.skipUnless(shutil.which("go"), "no Go")
    def test_pprof_reads_it(self) -> None:
        answer = subprocess.run(["go", "tool", "pprof", "-sample_index=peak_space", "-top", self.file], capture_output=True, text=True)
        self.assertEqual(answer.returncode, 0, answer.stderr)
        self.assertRegex(answer.stdout, r"\blarge\b")


if __name__ == "__main__":
    unittest.main()
