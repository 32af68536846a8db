"""profile_at and profile_signal: a process writes its heap profile while it runs, without a tool, and touches no handler of
the program's."""

import contextlib
import json
import os
import re
import resource
import signal
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from tool_under_test import LIBRARY, clean_environment, snug, threads_of

PROFILED = os.environ["PROFILED"]
PROFILED_ARCHIVE = os.environ["PROFILED_ARCHIVE"]
MIB = 1 << 20


class Profiled(subprocess.Popen):
    """A process of profiled.c with a folder for its files."""

    def __init__(self, conf, *words, program=PROFILED, out="%p.%n", **more):
        self.folder = tempfile.TemporaryDirectory()
        conf = f"{conf},profile_out:{self.folder.name}/{out}" if out else conf
        preload = {} if program == PROFILED_ARCHIVE else {"LD_PRELOAD": LIBRARY}
        super().__init__([program, *words], env=clean_environment(SNUG_CONF=conf, **preload), stdin=subprocess.PIPE,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)

    def say(self, line):
        self.stdin.write(line + "\n")
        self.stdin.flush()
        return int(self.stdout.readline())

    def files(self):
        return sorted(os.listdir(self.folder.name))

    def await_file(self, number):
        """Waits without end for what must come."""
        name = f"{self.pid}.{number}"
        while name not in self.files():
            time.sleep(0.01)
        return Path(self.folder.name) / name

    def end(self):
        """What it has said on standard error, when it has ended by itself."""
        _, said = self.communicate()
        assert self.returncode == 0, (self.returncode, said)
        return said


def links_of(pid):
    """The files that it has open."""
    return [os.readlink(entry) for entry in Path(f"/proc/{pid}/fd").iterdir()]


def state_of(pid):
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def held_in(file):
    """Bytes live in the function grow(), as the profile has them."""
    shown = snug("profile", "--show", str(file), "--json", "-")
    assert shown.returncode == 0, shown.stderr
    stacks = json.loads(shown.stdout)["stacks"]
    return sum(stack["live"]["bytes"] for stack in stacks if "grow" in stack["stack"])


class ProfileFilesTest(unittest.TestCase):
    def test_at_each_growth(self):
        child = Profiled("profile:64K,profile_at:+16M,retain:1G,purge_after:86400000")
        child.say("hold 4")
        child.say("hold 20")
        self.assertGreater(held_in(child.await_file(1)), 12 * MIB)
        child.say("hold 20")
        self.assertGreater(held_in(child.await_file(2)), 27 * MIB)
        child.say("free")
        child.say("hold 42")
        self.assertEqual(child.end(), "")
        self.assertEqual(child.files(), [f"{child.pid}.{n}" for n in (1, 2, 3)], "the third is that of the end")
        self.assertGreater(held_in(Path(child.folder.name) / f"{child.pid}.3"), 35 * MIB)

    def test_by_a_signal(self):
        for word, number in (("SIGUSR2", signal.SIGUSR2), ("SIGHUP", signal.SIGHUP), ("10", signal.SIGUSR1),
                             (str(signal.SIGRTMIN + 3), signal.SIGRTMIN + 3)):
            child = Profiled(f"profile:64K,profile_signal:{word}")
            child.say("hold 8")
            child.send_signal(number)
            self.assertGreater(held_in(child.await_file(1)), 6 * MIB, word)
            child.say("hold 8")
            child.send_signal(number)
            self.assertGreater(held_in(child.await_file(2)), 13 * MIB, word)
            self.assertEqual(child.end(), "")
            self.assertEqual(len(child.files()), 3)

    def test_without_a_counter_the_last_stays(self):
        child = Profiled("profile:64K,profile_signal:SIGUSR2", out="%p")
        child.say("hold 8")
        seen = set()
        file = Path(child.folder.name) / str(child.pid)
        while len(seen) != 3:
            child.send_signal(signal.SIGUSR2)
            with contextlib.suppress(FileNotFoundError):
                seen.add(file.stat().st_mtime_ns)
            time.sleep(0.01)
        self.assertEqual(child.end(), "")
        self.assertEqual(child.files(), [str(child.pid)])
        self.assertGreater(held_in(file), 6 * MIB)

    def test_in_a_process_that_publishes(self):
        child = Profiled("profile:64K,profile_signal:SIGUSR2,publish:on")
        child.say("hold 8")
        for number in range(1, 20):
            child.send_signal(signal.SIGUSR2)
            child.await_file(number)
            asked = snug("stats", "--json", str(child.pid))
            self.assertEqual(asked.returncode, 0, asked.stderr)
            self.assertGreater(json.loads(asked.stdout)["bytes_in_use"], 8 * MIB)
        self.assertEqual(child.end(), "")

    def test_a_handler_of_the_programs_stays(self):
        line = "snug: SNUG_CONF: profile_signal: signal 12 has a handler already, or is ignored, and stays as it is\n"
        child = Profiled("profile:64K,profile_signal:SIGUSR2", "first", program=PROFILED_ARCHIVE)
        child.say("hold 8")
        child.send_signal(signal.SIGUSR2)
        while child.say("said") != 1:
            time.sleep(0.01)
        self.assertEqual(child.end(), line)
        ignoring = Profiled("profile:64K,profile_signal:SIGUSR2",
                           preexec_fn=lambda: signal.signal(signal.SIGUSR2, signal.SIG_IGN))
        ignoring.say("hold 8")
        ignoring.send_signal(signal.SIGUSR2)
        ignoring.say("hold 1")
        self.assertEqual(ignoring.end(), line)
        self.assertEqual(len(ignoring.files()), 1, "the end's")

    def test_one_process_of_a_run_says_what_it_cannot_have(self):
        first = Profiled("profile:64K,profile_signal:SIGUSR2", "-c", '"$0"; exit 0', PROFILED, program="sh",
                         preexec_fn=lambda: signal.signal(signal.SIGUSR2, signal.SIG_IGN))
        first.say("hold 1")
        self.assertEqual(first.end().count("profile_signal: signal 12"), 1)

    def test_a_handler_that_the_program_sets_later_takes_its_place(self):
        child = Profiled("profile:64K,profile_signal:SIGUSR2")
        child.say("hold 8")
        child.say("catch")
        child.send_signal(signal.SIGUSR2)
        while child.say("said") != 1:
            time.sleep(0.01)
        self.assertEqual(child.end(), "")
        self.assertEqual(len(child.files()), 1, "the end's")

    def test_the_archive_writes_too(self):
        child = Profiled("profile:64K,profile_at:+16M,profile_signal:SIGUSR2", program=PROFILED_ARCHIVE)
        child.say("hold 24")
        child.await_file(1)
        child.send_signal(signal.SIGUSR2)
        child.await_file(2)
        child.end()

    def test_a_child_of_a_fork_writes_its_own(self):
        child = Profiled("profile:64K,profile_at:+16M,profile_signal:SIGUSR2")
        child.say("hold 4")
        child.send_signal(signal.SIGUSR2)
        child.await_file(1)
        forked = child.say("fork 60")
        self.assertIn(f"{forked}.1", child.files())
        self.assertEqual(child.end(), "")
        self.assertEqual([name for name in child.files() if name.endswith("~")], [])

    def test_what_is_missing_is_said_in_a_line(self):
        child = Profiled("profile_signal:SIGUSR2")
        child.say("hold 8")
        child.send_signal(signal.SIGUSR2)
        self.assertEqual(child.stderr.readline(), "snug: profile_signal: there is no heap profile to write: it has never been on\n")
        self.assertEqual((child.end(), child.files()), ("", []))
        placeless = Profiled("profile:64K,profile_at:+16M", out="")
        placeless.say("fork 1")
        self.assertEqual(placeless.end(), "snug: SNUG_CONF: profile_at and profile_signal write to the file that profile_out names\n")
        nowhere = Profiled("profile:64K,profile_signal:SIGUSR2", out="none/%p")
        nowhere.say("hold 8")
        nowhere.send_signal(signal.SIGUSR2)
        self.assertRegex(nowhere.stderr.readline(), r"^snug: cannot write the heap profile to .*/none/\d+: error 2\n$")
        nowhere.end()

    def test_what_lies_in_the_way_is_neither_followed_nor_reused(self):
        child = Profiled("profile:64K", out="p.%p")
        draft = Path(child.folder.name) / f"p.{child.pid}~"
        other = Path(child.folder.name) / "other"
        other.write_text("another's")
        draft.symlink_to(other)
        child.say("hold 1")
        self.assertEqual(child.end(), "")
        self.assertEqual(other.read_text(), "another's")
        written = Path(child.folder.name) / f"p.{child.pid}"
        self.assertFalse(written.is_symlink())
        self.assertEqual(written.stat().st_mode & 0o777, 0o600)
        child = Profiled("profile:64K", out="p.%p")
        draft = Path(child.folder.name) / f"p.{child.pid}~"
        draft.touch(0o644)
        child.say("hold 1")
        self.assertEqual(child.end(), "")
        self.assertEqual((Path(child.folder.name) / f"p.{child.pid}").stat().st_mode & 0o777, 0o600)

    def test_signals_meanwhile_and_at_the_end(self):
        child = Profiled("profile:16K,profile_signal:SIGUSR2,profile_at:+1M")
        child.say("hold 8")
        child.say("churn")
        for number in range(1, 12):
            child.send_signal(signal.SIGUSR2)
            child.say("hold 2")
            child.await_file(number)
        child.stdin.close()
        while child.poll() is None:
            child.send_signal(signal.SIGUSR2)
        self.assertEqual((child.returncode, child.stderr.read()), (0, ""))
        child.stdout.close()
        child.stderr.close()
        names = child.files()
        self.assertTrue(all(re.fullmatch(r"\d+\.\d+", name) for name in names), names)
        for name in names:
            held_in(Path(child.folder.name) / name)

    def test_a_write_that_is_refused_at_exit_does_not_end_the_program(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (16, 16))

        child = Profiled("profile:64K", preexec_fn=limit)
        child.say("hold 8")
        self.assertRegex(child.end(), r"^snug: cannot write the heap profile to .*: error 27\n$")
        self.assertEqual(child.files(), [])
        with tempfile.TemporaryDirectory() as folder:
            for conf in ("report", "served"):
                file = Path(folder) / conf
                child = Profiled(f"{conf}:{file}", out="", preexec_fn=limit)
                self.assertEqual(child.end(), "")
                self.assertLessEqual(file.stat().st_size, 16)
            pipe = f"{folder}/pipe"
            os.mkfifo(pipe)
            reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
            writer = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
            with contextlib.suppress(BlockingIOError):
                while os.write(writer, bytes(4096)):
                    pass
            child = Profiled(f"report:{pipe}", out="")
            child.stdin.close()
            while pipe not in links_of(child.pid) or state_of(child.pid) != "S":
                time.sleep(0.01)
            os.close(reader)
            self.assertEqual(child.wait(), 0)
            os.close(writer)
            child.stdout.close()
            child.stderr.close()

    def test_a_signal_that_was_pending_stays_so(self):
        child = Profiled("profile:64K", preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGXFSZ}))
        child.say("hold 8")
        child.send_signal(signal.SIGXFSZ)
        self.assertEqual(child.end(), "")
        self.assertEqual(len(child.files()), 1)

    def test_it_is_the_control_thread_that_writes(self):
        child = Profiled("profile:64K,profile_signal:SIGUSR2")
        child.say("hold 8")
        child.send_signal(signal.SIGUSR2)
        child.await_file(1)
        self.assertLessEqual({"snug-control", "snug-idle"}, set(threads_of(child.pid)))
        self.assertNotIn("snug-control", " ".join(os.readlink(f"/proc/{child.pid}/fd/{n}") for n in os.listdir(f"/proc/{child.pid}/fd")))
        child.end()


if __name__ == "__main__":
    unittest.main()
