"""JSON on standard output has it alone: what programs write goes to standard error. And what is left where work is cut off."""

import json
import os
import signal
import subprocess
import tempfile
import unittest
from pathlib import Path

from tool_under_test import ALLOCATING, LIBRARY, SHELL, TOOL, clean_environment, snug, wait_for

SPEAKING = (SHELL, "-c", f"echo its words; {ALLOCATING} 10; exit 0")


class AloneTest(unittest.TestCase):
    def test_what_programs_write_goes_to_standard_error(self):
        for call in (("run", "--library", LIBRARY, "--compare", "glibc", "-n1", "--show-output", "--json"),
                     ("profile", "--library", LIBRARY, "--json", "-")):
            process = snug(*call, "--", *SPEAKING)
            self.assertIn("its words\n", process.stderr, call)
            if "profile" not in call:  # a shell that ends by _exit writes none
                json.loads(process.stdout)
            self.assertNotIn("its words\n", process.stdout)

    def test_where_it_goes_to_a_file_they_have_standard_output(self):
        with tempfile.TemporaryDirectory() as folder:
            for call in (("run", "--library", LIBRARY, "--compare", "glibc", "-n1", "--show-output", f"--json={folder}/a.json"),
                         ("profile", "--library", LIBRARY, "--json", f"{folder}/b.json")):
                self.assertIn("its words\n", snug(*call, "--", *SPEAKING).stdout)


class CutOffTest(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        (self.folder / "temporary").mkdir()

    def left(self):
        return sorted(os.listdir(self.folder / "temporary"))

    def test_a_reader_that_has_gone_leaves_no_folder(self):
        read, write = os.pipe()
        os.close(read)
        process = subprocess.run([TOOL, "run", "--library", LIBRARY, "--report", "--json", ALLOCATING, "10"], stdout=write,
                                 stderr=subprocess.DEVNULL, check=False, env=clean_environment(TMPDIR=str(self.folder / "temporary")))
        os.close(write)
        self.assertNotEqual(process.returncode, 0)
        self.assertEqual(self.left(), [])

    def test_a_signal_while_names_are_looked_up_leaves_nothing(self):
        fake = self.folder / "llvm-symbolizer"
        fake.write_text(f"#!{SHELL}\ntouch {self.folder}/asked\nexec sleep 3653.11\n")
        fake.chmod(0o755)
        environment = clean_environment(TMPDIR=str(self.folder / "temporary"), PATH=f"{self.folder}:{os.environ['PATH']}")
        call = [TOOL, "profile", "--library", LIBRARY, "--distance", "1K", "-o", self.folder / "keep.pb", ALLOCATING, "20000"]
        with subprocess.Popen(call, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            try:
                wait_for((self.folder / "asked").exists, "a question for names")
            except BaseException:
                process.kill()
                raise
            process.send_signal(signal.SIGTERM)
            self.assertEqual(process.wait(), -signal.SIGTERM)
        self.assertEqual(self.left(), [])
        self.assertEqual(list(self.folder.glob("keep.pb*")), [])


if __name__ == "__main__":
    unittest.main()
