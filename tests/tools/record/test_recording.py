"""snug record while it runs: pauses and ends, files that cannot be written, programs that have lost their recorder."""

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

from recorded import SUBJECT, TOOL, KilledCollector, Recorded, Stepped, clean_environment, record
from tool_under_test import children_of, mallocs_in
from trace_file import Trace, TraceFile


def info_of(file, *options):
    text = subprocess.run([TOOL, "trace", "info", file, "--json", *options], stdout=subprocess.PIPE, text=True, check=True).stdout
    return json.loads(text)


def await_mallocs(file, count):
    """Until the recording tells of so many calls."""
    until = time.monotonic() + 1200
    while mallocs_in(file) < count:
        if time.monotonic() > until:
            raise AssertionError(f"fewer than {count} calls are in the recording")
        time.sleep(0.1)


class RecordingTest(unittest.TestCase):
    maxDiff = None

    def test_a_process_in_another_pid_namespace_says_so(self):
        unshare = ("unshare", "--user", "--map-root-user", "--pid", "--fork")
        if subprocess.run([*unshare, "true"], stderr=subprocess.DEVNULL, check=False).returncode != 0:
            self.skipTest("no PID namespaces for users here")
        recorded = Recorded(*unshare[1:], SUBJECT, "churn", "60000", program=unshare[0], allocator="glibc")
        self.assertEqual(recorded.run.returncode, 0, recorded.run.stderr)
        self.assertIn("process 1 is not recorded: snug record: it runs in another PID namespace", recorded.run.stderr)

    @unittest.skipUnless(os.geteuid() == 0, "another root is root's alone")
    def test_a_process_with_another_root_waits_for_room_and_its_child_says_that_it_is_lost(self):
        program = """
import os, signal, sys, time
os.chroot(sys.argv[1])
if os.fork() == 0:
    blocks = [bytearray(1000) for _ in range(100)]
    os._exit(0)
os.wait()
os.kill(os.getppid(), signal.SIGSTOP)
print(flush=True)
for _ in range(60000):
    bytearray(1000)
"""
        with tempfile.TemporaryDirectory() as folder, open(f"{folder}/errors", "w+") as errors:
            file = Path(folder, "job.trace")
            tool = subprocess.Popen([TOOL, "record", "-o", file, "--", sys.executable, "-c", program, folder],
                                    env=clean_environment(PYTHONMALLOC="malloc"), stdout=subprocess.PIPE, stderr=errors)
            tool.stdout.readline()
            time.sleep(1)  # what it waits is not long; a ring holds a tenth of the calls
            tool.send_signal(signal.SIGCONT)
            tool.communicate()
            errors.seek(0)
            said = errors.read()
            self.assertEqual(tool.returncode, 0, said)
            self.assertGreaterEqual(mallocs_in(file), 2 * 60000, said)  # the object, and what it has
            self.assertRegex(said, r"snug record: process \d+ is not recorded: /.*: No such file or directory\n")

    def test_what_was_recorded_as_json(self):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "told.json")
            run = subprocess.run([TOOL, "record", "-o", Path(folder, "job.trace"), "--json", file, "--", "sh", "-c",
                                  "ls / > /dev/null; exit 3"], env=clean_environment(), stderr=subprocess.PIPE, text=True,
                                 check=False)
            self.assertEqual(run.returncode, 3, run.stderr)
            told = json.loads(file.read_text())
            self.assertEqual(told["file"], str(Path(folder, "job.trace")))
            self.assertEqual(told["file_bytes"], Path(told["file"]).stat().st_size)
            self.assertEqual([process["number"] for process in told["processes"]], list(range(1, len(told["processes"]) + 1)))
            self.assertGreaterEqual(len(told["processes"]), 2)
            for process in told["processes"]:
                info = info_of(told["file"], "--process", str(process["number"]))
                self.assertEqual((process["events"], process["file_bytes"]), (info["events"], info["file_bytes"]))
                self.assertEqual((process["process"], process["peak_bytes"]), (info["process"], info["peak"]["bytes"]))
                self.assertEqual(process["allocations"], info["blocks"]["came"])

    def test_nobody_waits_for_a_collector_that_was_killed(self):
        """Not even while it is a zombie."""
        with KilledCollector(60000) as killed:
            killed.step()

    def test_a_killed_collector_leaves_all_but_two_seconds(self):
        with Stepped(5000) as stepped:
            stepped.step()
            early = info_of(stepped.file)
            self.assertIn("program", [fact["key"] for fact in early["facts"]])
            # Two seconds, and however long the tool has to wait for a processor.
            await_mallocs(stepped.file, 5000)
            stepped.tool.kill()
            info = info_of(stepped.file)
        self.assertFalse(info["has_index"])
        self.assertEqual(info["damaged_chunks"], 0)
        self.assertGreaterEqual(info["operations"]["malloc"]["events"], 5000)

    def test_nothing_is_left_for_a_collector_that_was_killed(self):
        """Whatever starts afterwards keeps silent, and leaves no ring in memory."""
        with KilledCollector(60000) as killed:
            for _ in range(3):
                killed.step("s")
            self.assertEqual(killed.said(), "")
            self.assertEqual([path.name for path in killed.folder.iterdir()], ["collector"])
            shutil.rmtree(killed.folder)
            killed.step("s")
            self.assertEqual(killed.said(), "")

    def test_sigterm_ends_what_waits_for_a_daemon(self):
        with tempfile.TemporaryDirectory() as folder:
            daemon = Path(folder, "daemon")
            program = f"{SUBJECT} churn-for-ever & echo $! > {daemon}; exit 3"
            with subprocess.Popen([TOOL, "record", "-o", Path(folder, "job.trace"), "--level=0", "--", "sh", "-c", program],
                                  env=clean_environment(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.PIPE, text=True) as tool:
                try:
                    await_mallocs(Path(folder, "job.trace"), 10001)
                    # The tool has waited for the program: it has the daemon alone.
                    while not daemon.exists() or list(map(str, children_of(tool.pid))) != daemon.read_text().split():
                        self.assertIsNone(tool.poll(), "the daemon runs")
                        time.sleep(0.01)
                    tool.send_signal(signal.SIGTERM)
                    self.assertEqual(tool.wait(), 3)
                    os.kill(int(daemon.read_text()), 0)  # it does still
                finally:
                    os.kill(int(daemon.read_text()), signal.SIGKILL)
                    tool.kill()
                said = tool.stderr.read()
            self.assertNotIn("cut short", said)
            info = info_of(Path(folder, "job.trace"))
            self.assertIn({"key": "arguments", "value": f"{SUBJECT} churn-for-ever"}, info["facts"])
            self.assertGreater(info["operations"]["malloc"]["events"], 10000)
            subprocess.run([TOOL, "trace", "check", Path(folder, "job.trace")], stdout=subprocess.DEVNULL, check=True)

    def test_nothing_starts_before_the_file_can_be_written(self):
        with tempfile.TemporaryDirectory() as folder:
            run = record(folder, "touch", f"{folder}/started", file="none/job.trace")
            self.assertEqual(run.returncode, 1)
            self.assertIn("job.trace': No such file or directory", run.stderr)
            self.assertEqual(os.listdir(folder), [])

    def test_a_pipe_that_nobody_reads(self):
        with tempfile.TemporaryDirectory() as folder:
            os.mkfifo(Path(folder, "job.trace"))
            run = record(folder, "touch", f"{folder}/started")
            self.assertEqual((run.returncode, run.stderr.count("\n")), (1, 1), run.stderr)
            self.assertIn("job.trace': nobody reads it", run.stderr)
            self.assertEqual(os.listdir(folder), ["job.trace"])

    def test_a_pipe_that_somebody_reads(self):
        with tempfile.TemporaryDirectory() as folder:
            whole = Path(folder, "whole.trace")
            run = subprocess.run(f"{TOOL} record -o /dev/stdout --level=0 -- {SUBJECT} churn 100 | cat > {whole}", shell=True,
                                 env=clean_environment(), capture_output=True, text=True, check=True)
            Trace(whole).check()
            self.assertNotIn("not recorded", run.stderr)

    def test_nothing_is_left_if_nobody_reads_what_is_said(self):
        with tempfile.TemporaryDirectory() as folder:
            reads, writes = os.pipe()
            os.close(reads)
            run = subprocess.run([TOOL, "record", "-o", Path(folder, "job.trace"), "--", "sh", "-c", "echo $SNUG_RECORD"],
                                 env=clean_environment(), stdout=subprocess.PIPE, stderr=writes, text=True, check=False)
            os.close(writes)
            self.assertEqual(run.returncode, 0)
            self.assertFalse(Path(run.stdout.strip().split(":")[-1]).exists())

    def test_a_file_that_cannot_be_written_is_said_once_and_the_program_goes_on(self):
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "job.trace").symlink_to("/dev/full")
            run = record(folder, "sh", "-c", f"{SUBJECT} churn 100000; {SUBJECT} churn 100000; echo done")
            self.assertEqual((run.returncode, run.stdout), (3, "done\n"), run.stderr)
            [said] = [line for line in run.stderr.splitlines() if "cannot write" in line]
            self.assertRegex(said, r"^snug record: nothing is recorded further: cannot write .*: No space left on device$")

    def test_a_limit_on_the_length_of_files_ends_neither_the_program_nor_the_tool(self):
        def limited(blocks):
            with tempfile.TemporaryDirectory() as folder:
                command = [TOOL, "record", "--level=0", "-o", f"{folder}/job.trace", "--", SUBJECT, "churn", "500000"]
                run = subprocess.run(["sh", "-c", f'ulimit -f {blocks}; exec "$@"', "sh", *command], capture_output=True,
                                     text=True, check=False, restore_signals=True, env=clean_environment())
                return run.returncode, run.stderr
        # Of 512 bytes. Of the ring: then nothing is recorded; of the file: then a part is.
        status, said = limited(100)
        self.assertEqual(status, 1, said)
        self.assertRegex(said, r"(?m)^snug record: a program is missing in the recording, process \d+: File too large; "
                               r"each that runs takes 1.0 MiB in /\S+$")
        status, said = limited(2100)
        self.assertEqual(status, 3, said)
        self.assertRegex(said, r"(?m)^snug record: nothing is recorded further: cannot write '.*': File too large$")

    @unittest.skipUnless(os.geteuid() == 0, "mounts a file system")
    def test_processes_that_find_no_room_are_told_and_change_the_status(self):
        for options, most in (("size=2560k", 2), ("size=20m,nr_inodes=5", 2)):
            with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as elsewhere:
                script = 'mount -t tmpfs -o "$1" tmpfs /dev/shm && shift && exec "$@"'
                command = [TOOL, "record", f"--json={folder}/json", "-o", f"{elsewhere}/job.trace", "--", "sh", "-c",
                           "for i in 1 2 3 4 5; do sleep 1 & done; wait; echo done"]
                run = subprocess.run(["unshare", "-m", "sh", "-c", script, "sh", options, *command], env=clean_environment(),
                                     capture_output=True, text=True, check=False)
                if "unshare failed" in run.stderr or "mount:" in run.stderr:
                    self.skipTest("no namespaces here")
                self.assertEqual((run.returncode, run.stdout), (3, "done\n"), run.stderr)
                self.assertRegex(run.stderr, r"(?m)^snug record: (a program is|\d+ programs are) missing in the recording, .*; "
                                             r"each that runs takes 1\.0 MiB in /dev/shm$")
                told = json.loads(Path(folder, "json").read_text())
                self.assertGreaterEqual(len(told["lost"]), 1)
                self.assertTrue(all(one["reason"] for one in told["lost"]))

    def test_what_exists_is_not_overwritten_unless_by_force(self):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "job.trace")
            file.write_bytes(b"mine")
            command = [TOOL, "record", "-o", file, "--", "touch", f"{folder}/started"]
            run = subprocess.run(command, env=clean_environment(), capture_output=True, text=True, check=False)
            self.assertEqual((run.returncode, run.stderr),
                             (2, f"snug: '{file}' exists: name another file by -o, or overwrite it by --force\n"))
            self.assertEqual((file.read_bytes(), sorted(os.listdir(folder))), (b"mine", ["job.trace"]))
            command.insert(2, "--force")
            self.assertEqual(subprocess.run(command, env=clean_environment(), stderr=subprocess.DEVNULL, check=False).returncode, 0)
            self.assertGreater(info_of(file)["events"], 10)

    def test_a_program_that_is_not_recorded_ends_the_trace_of_what_executed_it(self):
        with tempfile.TemporaryDirectory() as folder:
            run = record(folder, "env", "-u", "LD_PRELOAD", "sh", "-c", "sleep 1; exit 3")
            self.assertEqual(run.returncode, 3, run.stderr)
            trace = Trace(Path(folder, "job.trace"))
            trace.check()
            self.assertEqual(trace.count("exit"), 0)
            self.assertEqual(trace.count("exec"), 1)
            told = [event.operation for event in trace.events]
            self.assertNotIn("sample", told[told.index("exec"):])

    def test_more_processes_than_usual_descriptors(self):
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        with tempfile.TemporaryDirectory() as folder:
            run = record(folder, "sh", "-c", "ulimit -n; for i in $(seq 30); do sleep 1 & done; wait",
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (24, most)))
            self.assertEqual(run.returncode, 0, run.stderr)
            self.assertEqual(run.stdout, "24\n")
            programs = [trace.facts["program"] for trace in TraceFile(Path(folder, "job.trace")).traces()]
            self.assertEqual(sum(program.endswith("sleep") for program in programs), 30)

    def test_starts_and_stops_by_signal(self):
        with Stepped(1000, "--paused") as stepped:
            stepped.step()
            stepped.send(signal.SIGUSR1)
            stepped.step()
            stepped.send(signal.SIGUSR2)
            stepped.step()
            stepped.step()
            stepped.send(signal.SIGUSR1)
            stepped.step()
            trace = stepped.finish()
        trace.check()
        self.assertEqual(trace.count("malloc"), 2000 + 1)  # and the destructor's
        self.assertEqual([event.operation for event in trace.events if event.operation in ("pause", "resume")],
                         ["resume", "pause", "resume"])

    def test_what_was_never_started_is_said(self):
        with tempfile.TemporaryDirectory() as folder:
            run = record(folder, "true", flags=["--paused"])
            self.assertEqual(run.returncode, 0, run.stderr)
            self.assertIn("--paused, and no SIGUSR1 came", run.stderr)
            self.assertNotIn("SIGUSR1", record(folder, "true").stderr)

    def test_a_block_that_came_in_a_pause_is_found(self):
        """It lies where one was that went in the pause."""
        with Stepped(1) as stepped:
            first = stepped.step("a")
            stepped.send(signal.SIGUSR2)
            stepped.step("f")
            self.assertEqual(stepped.step("A"), first, "the test needs an address that is given again")
            stepped.send(signal.SIGUSR1)
            stepped.step("f")
            trace = stepped.finish()
        trace.check()
        [came] = [event.result for event in trace.events if event.size == 5001]
        self.assertEqual([event for event in trace.events if event.block == came], [])
        [found] = [event.block for event in trace.events if event.operation == "found" and 5009 <= event.size < 5050]
        self.assertEqual([event.operation for event in trace.events if event.block == found], ["found", "free"])

    def test_the_first_thread_has_the_first_number_when_another_comes_before(self):
        with Stepped(20000, "--paused") as stepped:
            stepped.step("b")
            stepped.send(signal.SIGUSR1)
            stepped.step("g")
            trace = stepped.finish()
        trace.check()
        begun = {event.thread: event.values[0] for event in trace.events if event.operation == "thread_begin"}
        self.assertEqual(trace.count("thread_begin"), 2)
        self.assertEqual(begun[1], trace.process)
        # Each thread grows what it has itself.
        grown = [event for event in trace.events if event.operation == "realloc"]
        self.assertEqual({event.block[0] - event.thread for event in grown if event.block}, {0})
        self.assertEqual(sum(event.block is None for event in grown), 2)


if __name__ == "__main__":
    unittest.main()
