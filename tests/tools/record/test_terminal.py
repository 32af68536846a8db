"""snug record and snug trace on a terminal: Ctrl-C leaves a trace that can be read, and long work says how long it takes."""

import json
import os
import pty
import select
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from tool_under_test import TOOL, clean_environment, mallocs_in  # noqa: E402

SUBJECT = os.environ["RECORD_SUBJECT"]
PATIENCE = 1200
MALLOCS = 10_000  # so many are to be in the trace of a program that allocates for ever


class Terminal:
    """A command in the foreground of a terminal of its own."""

    def __init__(self, *command):
        self.process, self.terminal = pty.fork()
        if self.process == 0:
            try:
                os.execve(TOOL, [TOOL, *map(str, command)], clean_environment(TERM="xterm"))
            finally:
                os._exit(127)
        self.said = ""

    def read(self, seconds):
        """For so long, or until there is nothing more to come. Whether there may be."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            if not select.select([self.terminal], [], [], left)[0]:
                return True
            try:
                self.said += os.read(self.terminal, 65536).decode(errors="replace")
            except OSError:  # nobody has the other side open
                return False
        return True

    def interrupt(self):
        os.write(self.terminal, b"\x03")

    def wait(self, again=lambda: None):
        """Its status, as waitpid() has it. `again` is called each second until then."""
        begin = time.monotonic()
        calls = 0
        while (passed := time.monotonic() - begin) < PATIENCE:
            self.read(0.05)
            if passed > calls + 1:
                calls += 1
                again()
            ended, status = os.waitpid(self.process, os.WNOHANG)
            if ended:
                self.read(0.5)
                self.process = 0
                return status
        raise AssertionError(f"it has not ended: {self.said}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process:
            os.kill(self.process, signal.SIGKILL)
            os.waitpid(self.process, 0)
        os.close(self.terminal)  # hangs up on the processes that are left


FOLDER = tempfile.TemporaryDirectory()
LONG = Path(FOLDER.name, "long.trace")
LONG_EVENTS = 1_500_000  # more than the 2^20 between two looks


def synthesize(file, events):
    subprocess.run([TOOL, "trace", "synth", "hummingbird", "--events", str(events), "--live", "20000000", "--table",
                    "4000000", "-o", file], stderr=subprocess.DEVNULL, check=True)


def setUpModule():
    synthesize(LONG, LONG_EVENTS)


def tearDownModule():
    FOLDER.cleanup()


def info_of(file):
    """Of a file that may end within a chunk."""
    run = subprocess.run([TOOL, "trace", "info", file, "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    assert run.returncode in (0, 3), run.stderr
    return json.loads(run.stdout)


class InterruptTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = Path(folder.name, "job.trace")
        self.part = Path(folder.name, "part.trace")

    def await_recording(self, tool):
        """Until the program has begun, and the recorder: on a busy machine that may take seconds."""
        until = time.monotonic() + PATIENCE
        while mallocs_in(self.file) <= MALLOCS:
            self.assertLess(time.monotonic(), until, tool.said)
            tool.read(0.1)

    def assert_whole(self):
        subprocess.run([TOOL, "trace", "check", self.file], stdout=subprocess.DEVNULL, check=True)
        info = info_of(self.file)
        self.assertTrue(info["has_index"])
        self.assertGreater(info["operations"]["malloc"]["events"], MALLOCS)

    def test_ends_the_program_and_the_recording(self):
        with Terminal("record", "-o", self.file, "--", SUBJECT, "churn-for-ever") as tool:
            self.await_recording(tool)
            tool.interrupt()
            status = tool.wait()
        self.assertEqual(os.WTERMSIG(status), signal.SIGINT, tool.said)
        self.assertIn("events", tool.said)
        self.assert_whole()

    def test_twice_ends_the_recording_of_a_program_that_goes_on(self):
        program = f"trap '' INT; exec {SUBJECT} churn-for-ever"
        with Terminal("record", "-o", self.file, "--", "sh", "-c", program) as tool:
            self.await_recording(tool)
            tool.interrupt()
            tool.read(0.5)
            self.assertEqual(os.waitpid(tool.process, os.WNOHANG), (0, 0), "the program has not ended, nor has the recording")
            tool.interrupt()
            # Two that come before the tool has run again are one to it: then this was the first, and the next is the second.
            self.assertTrue(os.WIFEXITED(tool.wait(again=tool.interrupt)), tool.said)
        self.assert_whole()

    def status_of_interrupted_cut(self, whole):
        """By a signal that it gets as soon as a quarter is written."""
        quarter = whole.stat().st_size // 4
        begun = Path(f"{self.part}.part")
        command = [TOOL, "trace", "cut", whole, "--from", "0", "-o", self.part]
        with subprocess.Popen(command, stderr=subprocess.DEVNULL) as cut:
            while cut.poll() is None and not (begun.exists() and begun.stat().st_size > quarter):
                time.sleep(0.001)
            cut.send_signal(signal.SIGINT)
        return cut.returncode

    def test_what_a_part_has_by_then_can_be_read(self):
        whole, events = LONG, LONG_EVENTS
        until = time.monotonic() + PATIENCE
        while (status := self.status_of_interrupted_cut(whole)) == 0:
            # It was done before the signal came: there is more to cut of a longer one.
            self.assertLess(time.monotonic(), until, "no signal ends it")
            events *= 2
            whole = Path(FOLDER.name, "longer.trace")
            synthesize(whole, events)
        self.assertEqual(status, -signal.SIGINT)
        part = info_of(f"{self.part}.part")
        self.assertGreater(part["events"], 100_000)
        self.assertLess(part["events"], events)
        self.assertEqual(part["impossible_events"], 0)


class ProgressTest(unittest.TestCase):
    def test_reading_tells_how_far_it_is_and_how_long_it_takes(self):
        for command in (["info", LONG], ["filter", LONG, "--most", "100", "-o", Path(FOLDER.name, "small.trace")]):
            with self.subTest(command[0]), Terminal("trace", *command) as tool:
                self.assertEqual(tool.wait(), 0, tool.said)
                self.assertRegex(tool.said, r"long.trace: 1 M events, (69|70)%, about \d+ s left")


if __name__ == "__main__":
    unittest.main()
