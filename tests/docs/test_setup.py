"""What make test and make demo say before they begin: what they install, and roughly how long it takes."""

import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

from document import ROOT


class SetupTest(unittest.TestCase):
    def setup_on_a_bare_machine(self, *arguments):
        """The script, run by an ordinary user on a Debian on which no package is installed."""
        with tempfile.TemporaryDirectory() as folder:
            Path(folder).chmod(0o755)
            texts = {name: "#!/bin/sh\nexit 9\n" for name in ("apt-get", "dpkg-query")}
            texts["setup"] = (ROOT / "scripts/setup").read_text(encoding="utf-8")
            for name, text in texts.items():
                Path(folder, name).write_text(text, encoding="utf-8")
                Path(folder, name).chmod(0o755)
            user = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
            return subprocess.run([Path(folder, "setup"), *arguments], capture_output=True, text=True, check=False, cwd="/",
                                  env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}, **user)

    def test_an_ordinary_user_is_told_the_one_command(self):
        process = self.setup_on_a_bare_machine("build")
        self.assertEqual(process.returncode, 1)
        self.assertRegex(process.stderr.splitlines()[-1],
                         r"^  sudo apt-get update && sudo apt-get install --no-install-recommends [a-z0-9+.\- ]+$")

    def test_the_packages_are_counted_and_named_before_they_come(self):
        minutes = []
        for groups in (("build",), ("build", "test")):
            process = self.setup_on_a_bare_machine("--dry-run", *groups)
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
