"""What make test and make demo say before they begin: what they install, and roughly how long it takes."""

import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

from document import ROOT


class SetupTest(unittest.TestCase):
    def setup_on_a_bare_machine(self, *groups):
        """The script's dry run on a Debian on which no package is installed."""
        with tempfile.TemporaryDirectory() as folder:
            for name in ("apt-get", "dpkg-query"):
                stub = Path(folder, name)
                stub.write_text("#!/bin/sh\nexit 9\n", encoding="ascii")
                stub.chmod(0o755)
            return subprocess.run([ROOT / "scripts/setup", "--dry-run", *groups], capture_output=True, text=True, check=False,
                                  env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"})

    def test_the_packages_are_counted_and_named_before_they_come(self):
        minutes = []
        for groups in (("build",), ("build", "test")):
            process = self.setup_on_a_bare_machine(*groups)
            said = re.fullmatch(r"setup: would install (\d+) Debian packages for ([a-z ]+), roughly (\d+) min: (.*)\n",
                                process.stdout)
            self.assertEqual((process.returncode, process.stderr), (1, ""))
            self.assertIsNotNone(said, process.stdout)
            self.assertEqual((int(said[1]), said[2]), (len(said[4].split()), " ".join(groups)))
            self.assertIn("libfmt-dev", said[4].split())
            minutes.append(int(said[3]))
        self.assertLess(minutes[0], minutes[1], "more packages take longer")

    def test_make_says_first_how_long_it_takes(self):
        # This test may itself be run by make, which tells its children so.
        environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE") and name != "TESTS"}
        for target in ("test", "demo"):
            process = subprocess.run(["make", "-n", target], cwd=ROOT, env=environment, capture_output=True, text=True,
                                     check=True)
            first, second = process.stdout.splitlines()[:2]
            self.assertRegex(first, rf'^echo "make {target}: installs what is missing .*roughly \d+ minutes on two processors')
            self.assertEqual(second, f"scripts/setup build {target}")


if __name__ == "__main__":
    unittest.main()
