"""The completions of bash and zsh against the tool itself: each command and option that its help names is offered."""

import os
import re
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from ctest_status import main  # noqa: E402

COMPLETION = Path(os.environ["SNUG_SOURCE"]) / "tools" / "completion"
TOOL = str(Path(os.environ["SNUG_BUILD"]) / "bin" / "snug")

# Calls the completion function as bash does, with the command line in "$@" and the cursor in its last word.
BASH = """source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _command_offset() { COMPREPLY=("command $1"); }
_snug; printf '%s\\n' "${COMPREPLY[@]}" """

# The same for zsh, with the functions of its completion system that ours calls replaced by ones that print.
ZSH = """completion=$1; shift; words=("$@"); CURRENT=$#
_describe() { print -l -- ${(P)@[-1]} }
_sequence() { shift ${@[(i)-]}; print -l -- $@ }
_files() { print files }
_normal() { print command $words }
source $completion"""


def output(*command):
    process = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    return process.stdout + process.stderr


def listed(kind, *command):
    """The names that stand in the help of a command: of its options, or of the commands below it."""
    text = output(TOOL, *command, "--help")
    if kind == "options":
        return {name for names in re.findall(r"^  (-\S+)", text, re.M) for name in names.split(",")}
    below = re.search(r"^Subcommands:\n((?:  .*\n)*)", text, re.M)
    return set(re.findall(r"^  (\w+)", below[1], re.M)) if below else set()


def every_command(command=()):
    yield command
    for name in listed("commands", *command):
        yield from every_command((*command, name))


class Completion:
    """What both shells must offer; each says how to ask it."""

    def offered(self, *words):
        raise NotImplementedError

    def test_every_option_of_every_command(self):
        commands = list(every_command())
        self.assertIn(("classes", "fit"), commands)
        for command in commands:
            options = listed("options", *command)
            self.assertIn("--help", options)
            self.assertEqual(self.offered(*command, "-"), options, command)

    def test_every_command(self):
        self.assertLessEqual({"run", "measure", "config", "classes"}, self.offered(""))
        self.assertEqual(self.offered(""), listed("commands"))
        self.assertIn("fit", self.offered("classes", ""))

    def test_options_of_those_that_everybody_uses(self):
        self.assertLessEqual({"--compare", "--conf", "--report"}, self.offered("run", "--"))

    def test_allocators(self):
        known = re.search(r"known are ([\w, ]+) \(", output(TOOL, "run", "--compare", "nobody", "--", "true"))
        self.assertIsNotNone(known)
        for option in (("run", "--compare"), ("measure", "--on")):
            self.assertEqual(self.offered(*option, ""), set(known[1].split(", ")))

    def test_settings(self):
        keys = set(re.findall(r'"key": "(\w+)"', output(TOOL, "config", "--json")))
        self.assertIn("purge_after", keys)
        self.assertEqual({word.rstrip(":") for word in self.offered("run", "--conf", "")}, keys)

    def test_a_program_completes_as_without_the_tool(self):
        self.assertEqual(len(self.offered("run", "--", "ls", "-")), 1)
        self.assertTrue(next(iter(self.offered("run", "--", "ls", "-"))).startswith("command "))


@unittest.skipIf(shutil.which("bash") is None and "CI" not in os.environ, "bash is not installed")
class Bash(Completion, unittest.TestCase):
    def offered(self, *words):
        said = output("bash", "--norc", "-c", BASH, str(COMPLETION / "snug.bash"), TOOL, *words)
        return set(said.split("\n")) - {""}

    def test_the_last_name_of_a_list(self):
        self.assertEqual(self.offered("run", "--compare", "glibc,tb"), {"glibc,tbbmalloc"})


@unittest.skipIf(shutil.which("zsh") is None and "CI" not in os.environ, "zsh is not installed")
class Zsh(Completion, unittest.TestCase):
    def offered(self, *words):
        said = output("zsh", "-f", "-c", ZSH, "zsh", str(COMPLETION / "_snug"), TOOL, *words)
        return {line if line.startswith("command ") else line.split(":")[0] for line in said.split("\n")} - {"", "files"}

    def test_descriptions(self):
        self.assertIn("--report:", output("zsh", "-f", "-c", ZSH, "zsh", str(COMPLETION / "_snug"), TOOL, "run", "--r"))


if __name__ == "__main__":
    main()
