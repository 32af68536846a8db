"""snug record --leaks: what is never freed, by stack, at the end and on a signal."""

import contextlib
import json
import os
import resource
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import unittest
from pathlib import Path

from tool_under_test import SHELL, TOOL, clean_environment, snug

PLANTED = os.environ["REPORT_PLANTED"]
MADE = os.environ["PERF_MAP"]
HELD = os.environ["LEAKS_HELD"]
LEAKED = {"bytes": 3000 * 1000, "blocks": 3000}
# What glibc keeps of its own.
BUFFER = "leak:_IO_file_doallocate\n"


class Leaks(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def path(self, name, text=None):
        path = self.folder / name
        if text is not None:
            path.write_text(text, encoding="ascii")
        return str(path)

    def record(self, *arguments):
        """--leaks on the program that leaks; the process, and what --json has of the leaks at the end."""
        process = subprocess.run([TOOL, "record", "--leaks", "--json", self.path("told.json"), *arguments], cwd=self.folder,
                                 env=clean_environment(TMPDIR=str(self.folder)), stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                 check=False)
        told = self.folder / "told.json"
        return process, json.loads(told.read_text()) if told.exists() else None

    def test_at_the_end_each_stack_is_told_and_no_file_stays(self):
        process, told = self.record(PLANTED, "leak")
        self.assertEqual((process.returncode, process.stdout), (0, "leak 3000\n"), process.stderr)
        self.assertRegex(process.stderr, r"(?m)^2\.9 MiB in 3,000 blocks, allocated by\n    .*keep_session\(\) \(planted\.cpp:\d+\)\n    main \(")
        self.assertEqual([path.name for path in self.folder.iterdir()], ["told.json"])
        self.assertIsNone(told["file"])
        [end] = told["leaks"]
        self.assertEqual(end["format"], "snug.leaks/1")
        first = end["stacks"][0]
        self.assertEqual({name: first[name] for name in LEAKED}, LEAKED)
        self.assertIn("keep_session", first["calls"][0]["function"])
        for name in LEAKED:
            self.assertEqual(sum(stack[name] for stack in end["stacks"]), end["leaked"][name])

    def test_the_exit_status_is_as_asked_for(self):
        everything = self.path("all", "leak:keep_session\n" + BUFFER)
        for options, program, status in (((), (PLANTED, "leak"), 0), (("--leaks-exit-code", "23"), (PLANTED, "leak"), 23),
                                         (("--leaks-exit-code", "23", "--suppressions", everything), (PLANTED, "leak"), 0),
                                         (("--leaks-exit-code", "23", "--suppressions", self.path("buffer", BUFFER)), (PLANTED, "leak"), 23),
                                         (("--leaks-exit-code", "23"), (SHELL, "-c", f"{PLANTED} leak; exit 5"), 5)):
            with self.subTest(options, program=program):
                process, _ = self.record(*options, *program)
                self.assertEqual(process.returncode, status, process.stderr)

    def test_what_is_suppressed_is_said_and_not_counted(self):
        process, told = self.record("--suppressions", self.path("rules", "leak:keep_session\nleak:nowhere\n"), PLANTED, "leak")
        self.assertIn("suppressed  leak:keep_session: 2.9 MiB in 3,000 blocks, of 1 stack\n", process.stderr)
        self.assertIn("unused      leak:nowhere", process.stderr)
        self.assertNotIn("allocated by\n    (anonymous namespace)::keep_session", process.stderr)
        self.assertEqual(told["leaks"][-1]["suppressions"]["rules"][0]["blocks"], 3000)

    def test_a_recording_that_is_kept_says_the_same(self):
        _, told = self.record("-o", self.path("kept.trace"), PLANTED, "leak")
        self.assertEqual(told["file"], self.path("kept.trace"))
        process = snug("report", "--leaks", self.path("kept.trace"), "--json")
        self.assertEqual(json.loads(process.stdout), told["leaks"][0])
        self.assertIn("keep_session", snug("report", "--leaks", self.path("kept.trace")).stdout)

    def test_what_cannot_be_is_refused_before_the_program_runs(self):
        bad = self.path("bad", "race:foo\n")
        for options, why in ((("--leaks", "--suppressions", bad), "is no leak:PATTERN"), (("--leaks", "--suppressions", "/not/there"), "/not/there"),
                             (("--suppressions", bad), "requires --leaks"), (("--leaks-exit-code", "3"), "requires --leaks"),
                             (("--leaks", "--leaks-exit-code", "256"), "256"), (("--leaks", "--force", "-o", "/dev/null"), "/dev/null")):
            with self.subTest(options):
                process = snug("record", *options, PLANTED, "leak")
                self.assertEqual((process.returncode, process.stdout, process.stderr.count("\n")), (2, "", 1), process.stderr)
                self.assertIn(why, process.stderr)
        for other in (("--check", "peak<1"), ("-o", self.path("page.html")), ("--against", bad), ("--replay", "glibc")):
            self.assertEqual(snug("report", "--leaks", *other, bad).returncode, 2)

    def test_a_signal_asks_what_lives_now(self):
        process = subprocess.Popen([TOOL, "record", "--leaks", "--json", self.path("told.json"), HELD], env=clean_environment(),
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(lambda: process.poll() is None and process.kill())
        lines = []
        told = threading.Semaphore(0)

        def listen():
            for line in process.stderr:
                lines.append(line)
                if line.startswith("leaks of"):
                    told.release()

        listener = threading.Thread(target=listen)
        listener.start()

        def ask():
            process.send_signal(signal.SIGUSR2)
            told.acquire()

        self.assertEqual(process.stdout.readline(), "held\n")
        ask()
        process.stdin.write("\n")
        process.stdin.flush()
        self.assertEqual(process.stdout.readline(), "freed\n")
        ask()
        process.stdin.write("\n")
        process.stdin.flush()
        process.stdin.close()
        self.assertEqual(process.wait(), 0)
        listener.join()
        process.stdout.close()
        process.stderr.close()
        leaks = json.loads(Path(self.path("told.json")).read_text())["leaks"]
        held = [[stack for stack in one["stacks"] if any(call["function"] == "hold_blocks" for call in stack["calls"])] for one in leaks]
        self.assertEqual([sum(stack["bytes"] for stack in stacks) for stacks in held], [1000 * 3000, 0, 0], "".join(lines))


    def test_a_signal_that_no_report_can_be_started_for_ends_no_recording(self):
        process = subprocess.Popen([TOOL, "record", "--leaks", "--json", self.path("told.json"), HELD],
                                   env=clean_environment(TMPDIR=str(self.folder)), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        self.addCleanup(lambda: process.poll() is None and process.kill())
        self.assertEqual(process.stdout.readline(), "held\n")
        while processes_watched(process.pid) < 2:  # for its end, and for the events of its ring
            time.sleep(0.01)
        usual = resource.prlimit(process.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (3, usual[1]))
        process.send_signal(signal.SIGUSR2)
        said = process.stderr.readline()
        self.assertEqual(said, "snug record: what was never freed could not be told: pipe: Too many open files\n")
        resource.prlimit(process.pid, resource.RLIMIT_NOFILE, usual)
        rest, errors = process.communicate("\n\n")
        self.assertEqual((rest, process.returncode), ("freed\n", 0), errors)
        [end] = json.loads(Path(self.path("told.json")).read_text())["leaks"]
        self.assertFalse([stack for stack in end["stacks"] if any(call["function"] == "hold_blocks" for call in stack["calls"])])


def processes_watched(pid):
    """The descriptors of processes that the process has."""
    links = []
    for link in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            links.append(str(link.readlink()))
    return links.count("anon_inode:[pidfd]")


class MadeCode(unittest.TestCase):
    """Functions that a runtime has made, by the map that it writes for perf."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.trace = str(Path(folder.name) / "made.trace")

    def recorded(self, kind):
        """The path of the map, which the test takes away."""
        process = snug("record", "--stacks", "-o", self.trace, MADE, kind)
        if process.returncode == 77:
            self.skipTest("no code for this processor")
        self.assertEqual(process.returncode, 0, process.stderr)
        path = Path(process.stdout.strip())
        self.addCleanup(path.unlink, missing_ok=True)
        return path

    def calls(self):
        stacks = json.loads(snug("report", "--leaks", "--json", self.trace).stdout)["stacks"]
        [stack] = [stack for stack in stacks if stack["bytes"] == 1000 * 3000]
        return [(call["function"], call["place"]) for call in stack["calls"]]

    def test_functions_have_the_names_of_the_map(self):
        self.recorded("python")
        calls = self.calls()
        self.assertEqual(calls[0][0], "hold_blocks")
        self.assertEqual(calls[1], ("py::Job.run", "job.py"))
        self.assertRegex(snug("trace", "export", self.trace, "--to", "collapsed").stdout, r"(?m)py::Job\.run;hold_blocks 3000000$")

    def test_a_name_of_another_runtime_is_whole(self):
        self.recorded("other")
        self.assertEqual(self.calls()[1], ("LazyCompile:~run job.js:1:2", ""))

    def test_a_map_of_another_process_of_the_number_is_not_read(self):
        path = self.recorded("python")
        written = path.stat().st_mtime
        for seconds in (-1000, 1000):
            os.utime(path, (written + seconds, written + seconds))
            self.assertRegex(self.calls()[1][0], "^0x")
        os.utime(path, (written, written))
        self.assertEqual(self.calls()[1][0], "py::Job.run")
        aside = self.trace + ".map"
        path.rename(aside)
        path.symlink_to(aside)
        self.assertRegex(self.calls()[1][0], "^0x", "a link may lead anywhere")


def python_with_map():
    """A Python of 3.12 or later, or None."""
    names = [shutil.which(f"python3.{minor}") for minor in range(12, 16)] + [str(path) for path in Path.home().glob(".pyenv/versions/3.1[2-9]*/bin/python3")]
    for name in filter(None, names):
        if subprocess.run([name, "-X", "perf", "-c", "import sys; sys.exit(not sys.is_stack_trampoline_active())"], capture_output=True,
                          check=False).returncode == 0:
            return name
    return None


class PythonsFunctions(unittest.TestCase):
    JOB = ("import os\ndef keep_all():\n    return [bytearray(5000) for _ in range(1000)]\ndef begin():\n    return keep_all()\n"
           "kept = begin()\nprint(os.getpid(), flush=True)\nos._exit(0)\n")

    @unittest.skipUnless(python_with_map(), "no Python of 3.12 or later")
    def test_they_own_what_the_interpreter_allocates_for_them(self):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "job.py").write_text(self.JOB)
            trace = f"{folder}/t"
            process = snug("record", "--stacks", "-o", trace, python_with_map(), f"{folder}/job.py", PYTHONPERFSUPPORT="1")
            report = snug("report", trace)
            stacks = snug("trace", "export", trace, "--to", "collapsed").stdout
            Path(f"/tmp/perf-{process.stdout.strip()}.map").unlink()
            self.assertIn("1. 4.8 MiB in 1,001 blocks of py::keep_all (job.py)", report.stdout.replace("1,000 blocks", "1,001 blocks"))
            self.assertRegex(stacks, "_start;.*;py::<module>;.*;py::begin;.*;py::keep_all;", "their callers, whatever the interpreter was built with")
            self.assertIn("functions of Python have no names here: ", snug("report", trace).stderr)


if __name__ == "__main__":
    unittest.main()
