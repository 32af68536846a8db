"""What the tool has inherited and what it writes to: streams that are closed or full, files that stay as they were until
there is a whole new one, SIGCHLD that a supervisor ignores, and bytes that are no UTF-8."""

import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import unittest
from pathlib import Path

from tool_under_test import ALLOCATING, LIBRARY, SHELL, TOOL, clean_environment, snug

BYTES = b"caf\xe9 \x1b[31m"  # Latin-1, and a sequence that a terminal obeys
NOBODY = 65534  # another user
COMPARED = (TOOL, "run", "--library", LIBRARY, "--compare", "snug,glibc", "-n", "1", "--warmup", "0")


def by_shell(line, *arguments):
    """Runs a line with "$@" in it, so that the shell closes or redirects what the tool inherits."""
    return subprocess.run([SHELL, "-c", line, SHELL, *arguments], env=clean_environment(), stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, check=False)


class InFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def recorded(self, blocks="10"):
        trace = self.folder / "t.trace"
        run = snug("record", "-o", str(trace), ALLOCATING, blocks)
        self.assertEqual(run.returncode, 0, run.stderr)
        return trace


class PlacesTest(InFolder):
    """Where a file is written as it stands, and by what name a new one comes."""

    def compare_into(self, file):
        return snug(*COMPARED[1:], f"--json={file}", ALLOCATING, "10")

    @unittest.skipUnless(os.geteuid() == 0, "only root gives files away")
    def test_what_another_user_has_laid_in_a_sticky_folder_is_not_replaced(self):
        sticky = self.folder / "sticky"
        sticky.mkdir()
        sticky.chmod(0o1777)
        file = sticky / "c.json"
        file.write_text("before")
        os.chown(file, NOBODY, NOBODY)
        node = file.stat().st_ino
        run = self.compare_into(file)
        self.assertEqual((file.stat().st_ino, file.stat().st_uid), (node, NOBODY))
        # It is the kernel's to judge (fs.protected_regular) whether it is written.
        self.assertIn((run.returncode, file.read_text() == "before"), ((0, False), (1, True)), run.stderr)
        self.assertEqual(os.listdir(sticky), ["c.json"])

    @unittest.skipUnless(os.geteuid() == 0, "only root gives files away")
    def test_a_link_that_the_kernel_does_not_follow_is_not_followed(self):
        sticky, planted = self.folder / "sticky", self.folder / "planted"
        sticky.mkdir()
        sticky.chmod(0o1777)
        link = sticky / "link"
        link.symlink_to(planted)
        os.chown(link, NOBODY, NOBODY, follow_symlinks=False)
        try:
            os.close(os.open(link, os.O_WRONLY | os.O_CREAT))
            self.skipTest("this kernel follows it (fs.protected_symlinks)")
        except PermissionError:
            pass
        run = self.compare_into(link)
        self.assertEqual((run.returncode, run.stderr), (1, f"snug: cannot write '{link}': Permission denied\n"))
        self.assertFalse(planted.exists())

    def test_a_file_that_cannot_be_replaced_is_written_as_it_stands(self):
        file = self.folder / "c.json"
        file.write_text("before")
        node = file.stat().st_ino
        apart = ("unshare", "-rm", SHELL, "-c", f'mount --bind {file} {file} && exec "$@"', SHELL)
        if not shutil.which("unshare") or subprocess.run([*apart, "true"], capture_output=True, check=False).returncode != 0:
            self.skipTest("nothing may be mounted here")
        run = subprocess.run([*apart, *COMPARED, f"--json={file}", ALLOCATING, "10"], env=clean_environment(),
                             stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertTrue(json.loads(file.read_text())["clean"])
        self.assertEqual((file.stat().st_ino, os.listdir(self.folder)), (node, ["c.json"]))

    def test_a_name_that_leaves_no_room_for_another(self):
        file = self.folder / ("x" * 255)
        file.write_text("before")
        run = snug(*COMPARED[1:], f"--json={file}", "--", "/nowhere/at/all")
        self.assertEqual((run.returncode, file.read_text()), (127, "before"), run.stderr)
        run = self.compare_into(file)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertTrue(json.loads(file.read_text())["clean"])

    def test_a_file_without_a_name(self):
        file = self.folder / "gone"
        run = by_shell(f'exec 3<>{file}; rm {file}; "$@" >&2 && cat <&3', *COMPARED, "--json=/dev/fd/3", ALLOCATING, "10")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertTrue(json.loads(run.stdout)["clean"])
        self.assertEqual(os.listdir(self.folder), [])

    def test_a_pipe_that_is_standard_output_takes_one_text(self):
        run = self.compare_into("/dev/stdout")
        self.assertTrue(json.loads(run.stdout)["clean"], run.stderr)
        self.assertIn("glibc", run.stderr)

    def test_a_socket_that_is_standard_output_can_be_written(self):
        ours, theirs = socket.socketpair()
        with ours, theirs:
            run = subprocess.run([*COMPARED, "--json=/dev/stdout", ALLOCATING, "10"], env=clean_environment(),
                                 stdin=subprocess.DEVNULL, stdout=theirs, stderr=subprocess.PIPE, text=True, check=False)
            theirs.close()
            self.assertEqual(run.returncode, 0, run.stderr)
            with ours.makefile(encoding="utf-8") as said:
                self.assertTrue(json.load(said)["clean"])

    def test_what_cannot_be_written_is_told_before_the_run(self):
        ran, file = self.folder / "ran", self.folder / "none" / "file"
        for command in (("measure", "--json", str(file)), ("profile", "-o", str(file)), ("profile", "--json", str(file))):
            run = snug(command[0], "--library", LIBRARY, *command[1:], "--", SHELL, "-c", f"touch {ran}")
            self.assertEqual((run.returncode, run.stderr), (1, f"snug: cannot write '{file}': No such file or directory\n"))
            self.assertFalse(ran.exists(), command)

    def test_a_recording_and_its_json_are_not_one_stream(self):
        run = snug("record", "-o", "/dev/stdout", "--json", "-", ALLOCATING, "10")
        self.assertEqual((run.returncode, run.stderr), (2, "snug: -o and --json name one file, '/dev/stdout'\n"))

    def test_a_map_on_standard_output_stands_there_alone(self):
        file = self.folder / "dense.map"
        table = snug("classes", "dense", "-o", str(file)).stdout
        run = snug("classes", "dense", "-o", "-")
        self.assertEqual((run.returncode, run.stdout, run.stderr), (0, file.read_text(), table + "snug: wrote -\n"))
        run = snug("classes", "dense", "-o", "-", "--json")
        self.assertEqual((run.returncode, run.stderr), (2, "snug: -o - and --json both write to standard output\n"))


class StreamsTest(InFolder):
    def test_standard_error_that_is_full_loses_lines_alone(self):
        self.assertEqual(by_shell('"$@" 2>/dev/full', TOOL, "rnu").returncode, 2)
        compared = by_shell('"$@" 2>/dev/full', *COMPARED, ALLOCATING, "10")
        self.assertEqual(compared.returncode, 0)
        self.assertIn("glibc", compared.stdout)

    def test_standard_output_that_is_full_is_a_failure(self):
        file = self.folder / "c.json"
        for arguments in ((*COMPARED, ALLOCATING, "10"), (*COMPARED, f"--json={file}", ALLOCATING, "10")):
            run = by_shell('"$@" >/dev/full', *arguments)
            self.assertEqual(run.returncode, 1)
            self.assertIn("snug: cannot write to standard output: No space left on device\n", run.stderr)
        self.assertEqual(json.loads(file.read_text())["clean"], True)

    def test_standard_output_that_is_full_loses_no_picture(self):
        trace, picture = self.recorded("100000"), self.folder / "p.svg"
        run = by_shell('"$@" >/dev/full', TOOL, "replay", "--library", LIBRARY, str(trace), "-n", "1", "--warmup", "0",
                       "--allocators", "glibc", "--plot", str(picture))
        self.assertEqual(run.returncode, 1)
        self.assertIn("snug: cannot write to standard output: No space left on device\n", run.stderr)
        self.assertIn("</svg>", picture.read_text())

    def run_unread(self, *command, **streams):
        """Runs it with a pipe that nobody reads in place of the streams that are None."""
        reading, writing = os.pipe()
        os.close(reading)
        streams = {name: writing if stream is None else stream for name, stream in streams.items()}
        run = subprocess.run(command, env=clean_environment(), stdin=subprocess.DEVNULL, text=True, check=False, **streams)
        os.close(writing)
        return run

    def test_standard_error_that_nobody_reads_loses_no_file(self):
        file = self.folder / "r.json"
        run = self.run_unread(TOOL, "run", "--library", LIBRARY, "--report", f"--json={file}", ALLOCATING, "10",
                              stdout=subprocess.DEVNULL, stderr=None)
        self.assertEqual((run.returncode, len(json.loads(file.read_text()))), (0, 1))

    def test_standard_output_that_nobody_reads_ends_the_tool_as_a_filter_behind_its_files(self):
        file = self.folder / "c.json"
        run = self.run_unread(*COMPARED, f"--json={file}", ALLOCATING, "10", stdout=None, stderr=subprocess.PIPE)
        self.assertEqual((run.returncode, json.loads(file.read_text())["clean"]), (-signal.SIGPIPE, True), run.stderr)
        self.assertNotIn("cannot write", run.stderr)

    def test_what_is_closed_is_no_file_of_the_tools(self):
        file = self.folder / "c.json"
        for closed, status in (("2>&-", 0), (">&- 2>&-", 1), ("<&- >&- 2>&-", 1)):
            file.unlink(missing_ok=True)
            run = by_shell(f'"$@" {closed}', *COMPARED, f"--json={file}", ALLOCATING, "10")
            self.assertEqual((run.returncode, json.loads(file.read_text())["clean"]), (status, True), closed)

    def test_a_program_finds_closed_what_was_closed(self):
        run = by_shell('"$@" <&-', TOOL, "run", "--library", LIBRARY, "--report", SHELL, "-c", "ls /proc/self/fd/0")
        self.assertNotEqual(run.returncode, 0)
        self.assertIn("/proc/self/fd/0", run.stderr)

    def test_a_file_stays_as_it_was_until_the_new_one_is_whole(self):
        file = self.folder / "c.json"
        file.write_text("before")
        run = snug(*COMPARED[1:], f"--json={file}", "--", "/nowhere/at/all")
        self.assertEqual(run.returncode, 127, run.stderr)
        self.assertEqual(file.read_text(), "before")
        self.assertEqual(os.listdir(self.folder), ["c.json"])
        link = self.folder / "link"
        link.symlink_to(file)
        self.assertEqual(snug(*COMPARED[1:], f"--json={link}", ALLOCATING, "10").returncode, 0)
        self.assertTrue(link.is_symlink())
        self.assertTrue(json.loads(file.read_text())["clean"])

    def test_a_file_keeps_its_rights(self):
        file = self.folder / "c.json"
        file.write_text("before")
        file.chmod(0o640)
        self.assertEqual(snug(*COMPARED[1:], f"--json={file}", ALLOCATING, "10").returncode, 0)
        self.assertEqual(file.stat().st_mode & 0o777, 0o640)
        profile = self.folder / "p.pb"
        for _ in range(2):
            run = snug("profile", "--library", LIBRARY, "--distance", "1K", "-o", str(profile), ALLOCATING, "1000")
            self.assertEqual(run.returncode, 0, run.stderr)
            self.assertEqual(profile.stat().st_mode & 0o777, 0o600)
            profile.chmod(0o644)  # what its owner alone may read does not get the rights of what stood there

    def test_what_an_earlier_run_has_left_beside_it_stays(self):
        trace, part = self.folder / "t.trace", self.folder / "t.trace.part"
        self.assertEqual(snug("record", "-o", str(part), ALLOCATING, "10").returncode, 0)
        before = part.read_bytes()
        run = snug("trace", "cut", str(part), "--from", "0", "-o", str(trace))
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(part.read_bytes(), before)
        self.assertEqual(sorted(os.listdir(self.folder)), ["t.trace", "t.trace.part"])

    def test_a_trace_on_standard_output(self):
        trace = self.recorded()
        run = by_shell(f'"$@" >{self.folder}/piped.trace', TOOL, "trace", "pack", str(trace), "-o", "-")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(snug("trace", "check", str(self.folder / "piped.trace")).returncode, 0)
        run = snug("trace", "pack", str(trace), "-o", "-", "--json")
        self.assertEqual((run.returncode, run.stderr), (2, "snug: -o - and --json both write to standard output\n"))

    def test_the_file_behind_standard_output_is_not_replaced(self):
        log = self.folder / "log"
        run = by_shell(f'"$@" >>{log}; echo after >>{log}', *COMPARED, "--json=/dev/stdout", ALLOCATING, "10")
        self.assertIn("glibc", log.read_text(), run.stderr)
        self.assertTrue(log.read_text().endswith("after\n"))
        self.assertEqual(os.listdir(self.folder), ["log"])

    def test_a_report_goes_on_where_people_hear_nothing(self):
        trace = self.recorded()
        run = by_shell('"$@" 2>/dev/full', TOOL, "report", "--no-replay", "--json", str(trace))
        self.assertEqual(run.returncode, 0)
        self.assertIn("nodes", json.loads(run.stdout))

    def test_bytes_that_are_no_text(self):
        script = self.folder / "fails"
        script.write_bytes(b"#!/bin/sh\nprintf '" + BYTES + b"' >&2\nexit 3\n")
        script.chmod(0o755)
        file = self.folder / "c.json"
        run = snug(*COMPARED[1:], f"--json={file}", "--", str(script))
        self.assertEqual(run.returncode, 1)
        self.assertIn("caf? ?[31m", run.stdout + run.stderr)
        self.assertNotIn("\x1b", run.stdout + run.stderr)
        self.assertIn("caf? ?[31m", file.read_text())

    def test_a_status_counts_though_sigchld_is_ignored(self):
        def ignore():
            signal.signal(signal.SIGCHLD, signal.SIG_IGN)

        def run(*arguments):
            return subprocess.run([TOOL, *arguments], env=clean_environment(), stdin=subprocess.DEVNULL,
                                  capture_output=True, text=True, check=False, preexec_fn=ignore)

        program = (SHELL, "-c", "trap; grep ^SigIgn: /proc/self/status >&2; exit 7")
        inherited = subprocess.run(program, capture_output=True, text=True, check=False, preexec_fn=ignore).stderr
        for command in (("run", "--library", LIBRARY), ("run", "--library", LIBRARY, "--report"),
                        ("record", "-o", str(self.folder / "t.trace"), "--force")):
            ended = run(*command, "--", *program)
            self.assertEqual(ended.returncode, 7, (command, ended.stderr))
            self.assertIn(inherited, ended.stderr)
        measured = json.loads(run("measure", "--library", LIBRARY, "--json", "-", "--", ALLOCATING, "100000").stdout)
        self.assertGreater(measured["cost"]["peak_rss_bytes"], 1 << 20)

    def test_json_of_a_recording_stands_behind_the_programs_output(self):
        log = self.folder / "log"
        log.write_text("before\n")
        run = by_shell(f'"$@" >>{log}', TOOL, "record", "-o", str(self.folder / "t.trace"),
                       "--json", "-", ALLOCATING, "10")
        self.assertEqual(run.returncode, 0, run.stderr)
        before, printed, said = log.read_text().split("\n", 2)
        self.assertEqual((before, printed), ("before", "10"))
        self.assertEqual(len(json.loads(said)["processes"]), 1)

    def test_json_of_a_recording_is_not_the_recording(self):
        file = self.folder / "t.trace"
        run = snug("record", "-o", str(file), "--json", str(file), ALLOCATING, "10")
        self.assertEqual((run.returncode, run.stderr), (2, f"snug: -o and --json name one file, '{file}'\n"))

    def test_a_failed_conversion_leaves_the_last_one(self):
        trace, stacks = self.recorded(), self.folder / "t.stacks"
        stacks.write_text("before")
        run = snug("trace", "export", str(trace), "--to", "collapsed", "-o", str(stacks))
        self.assertEqual(run.returncode, 2, run.stderr)
        self.assertEqual(stacks.read_text(), "before")
        bad = self.folder / "bad.lines"
        bad.write_text("a\t1\t8\nf\t2\n")
        trace.write_text("before")
        self.assertEqual(snug("trace", "import", "--from", "lines", str(bad), "-o", str(trace)).returncode, 2)
        self.assertEqual(trace.read_text(), "before")
        self.assertEqual(sorted(os.listdir(self.folder)), ["bad.lines", "t.stacks", "t.trace"])

    def test_a_name_of_a_function_may_be_long(self):
        lines = self.folder / "long.lines"
        lines.write_text(f"# {'x' * 100000}\na\t1\t8\n")
        trace = self.folder / "t.trace"
        run = snug("trace", "import", "--from", "lines", str(lines), "-o", str(trace))
        self.assertEqual(run.returncode, 0, run.stderr)

    def test_a_limit_on_the_length_of_files_is_told(self):
        trace = self.recorded()
        run = by_shell('ulimit -f 100; "$@"', TOOL, "replay", "--library", LIBRARY, str(trace), "-n", "1")
        self.assertEqual(run.returncode, 1, run.stderr)
        self.assertIn("cannot share memory with the replayer: File too large", run.stderr)

    def test_a_moment_that_is_next_to_nothing(self):
        trace = self.recorded()
        run = snug("trace", "head", "-n", "1", "--at", "1e-400", str(trace))
        self.assertEqual((run.returncode, run.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()
