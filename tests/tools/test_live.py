"""snug stats, top, ctl and profile PID: processes that publish, and what else may be named; tools and processes that are
hostile, stopped, killed or gone."""

import contextlib
import ctypes
import fcntl
import json
import mmap
import os
import re
import signal
import socket
import struct
import subprocess
import time
import unittest
import urllib.error
import urllib.request

from tool_under_test import HANGS, LIBRARY, TOOL, clean_environment, snug, wait_for, wait_until_asked

PUBLISHED = os.environ["PUBLISHED"]
NAME = os.path.basename(PUBLISHED)
WORK_BYTES = 1000 * 10000 + 3 * 2000 * 300
PAGE_BYTES = 8 << 20
NOBODY = 65534


@contextlib.contextmanager
def process(mode, conf="publish:on", library=LIBRARY, **more):
    """A process of published.c that is ready, with what it has said besides."""
    environment = clean_environment(SNUG_CONF=conf, **({"LD_PRELOAD": library} if library else {}))
    child = subprocess.Popen([PUBLISHED, mode], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **more)
    try:
        assert child.stdout.readline() == "ready\n", mode
        child.said = child.stdout.readline().strip() if mode == "fork" else ""
        if mode != "leaves" and "publish:on" in conf:
            wait_until_asked(child.pid)
        yield child
    finally:
        child.send_signal(signal.SIGCONT)
        child.communicate(timeout=HANGS)


def stop(child):
    """Until each of its threads has stopped: one that has not yet may answer."""
    child.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, child.pid, os.WSTOPPED | os.WNOWAIT)


def kill(child):
    """Until it has ended; it stays a zombie."""
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)


def word_of(page, offset):
    """Of the page's head: 16 requests, 20 answers, 24 command."""
    return struct.unpack("<I", os.pread(page, 4, offset))[0]


def page_of(pid):
    folder = f"/proc/{pid}/fd"
    for name in os.listdir(folder):
        with contextlib.suppress(OSError):
            if os.readlink(f"{folder}/{name}").startswith("/memfd:snug-control "):
                return os.open(f"{folder}/{name}", os.O_RDWR)
    raise AssertionError("no page")


class LiveTest(unittest.TestCase):
    def assert_refused(self, process, pid, words):
        self.assertEqual(process.returncode, 1, process)
        self.assertTrue(process.stderr.startswith(f"snug: process {pid}: "), process.stderr)
        self.assertIn(words, process.stderr)
        self.assertEqual(process.stderr.count("\n"), 1, process.stderr)
        self.assertEqual(process.stdout, "")

    def statistics(self, pid, *options):
        asked = snug("stats", "--json", *options, str(pid))
        self.assertEqual(asked.returncode, 0, asked.stderr)
        return json.loads(asked.stdout)

    def test_says_what_the_process_has(self):
        def all_there():
            """Not before each thread holds its blocks: it may have begun after the process was ready."""
            its = self.statistics(child.pid, "--memory")
            live = {c["size"]: c["live"] for c in its["classes"]}
            return its if live.get(320, 0) >= 3 * 2000 - 20 else None

        with process("work") as child:
            its = wait_for(all_there, "the blocks of three threads")
            self.assertEqual((its["pid"], its["program"], its["schema"]), (child.pid, NAME, "snug.statistics/1"))
            self.assertGreater(its["bytes_in_use"], WORK_BYTES)
            self.assertLess(its["bytes_in_use"], WORK_BYTES * 1.2)
            self.assertEqual(its["threads"], 4)
            self.assertEqual(len(its["threads_with_cache"]), 4)
            by_size = {c["size"]: c["live"] for c in its["classes"]}
            self.assertEqual(by_size[10240], 1000)
            self.assertAlmostEqual(by_size[320], 6000, delta=20)
            self.assertGreater(its["memory"]["requested"], WORK_BYTES * 0.9)
            self.assertGreaterEqual(self.statistics(child.pid)["allocations"], its["allocations"])

    def test_the_table_and_json_say_the_same(self):
        with process("fork") as child:
            table = snug("stats", "--memory", "--classes", str(child.pid)).stdout
            its = self.statistics(child.pid)
            self.assertIn(f"process {child.pid}, {NAME}\n", table)
            self.assertRegex(table, rf"\n{its['blocks_in_use']:,} +live blocks\n")
            self.assertRegex(table, r"\n10240 +1,000 ")
            self.assertRegex(table, r"MiB +requested\n")

    def test_it_answers_by_the_ordinary_policy(self):
        def real_time():
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))

        try:
            with process("fork", preexec_fn=real_time) as child:  # its threads sleep: no other test waits for them
                self.statistics(child.pid)
                policies = {}
                for thread in os.listdir(f"/proc/{child.pid}/task"):
                    with open(f"/proc/{child.pid}/task/{thread}/comm", encoding="ascii") as name:
                        policies[name.read().strip()] = os.sched_getscheduler(int(thread))
        except subprocess.SubprocessError:
            self.skipTest("no real-time policy may be set here")
        self.assertIn(os.SCHED_FIFO, policies.values())
        self.assertEqual(policies["snug-control"], os.SCHED_OTHER)

    def test_a_child_of_a_fork_has_a_page_of_its_own(self):
        with process("fork") as parent:
            child = int(parent.said)
            wait_until_asked(child)
            self.assertEqual(self.statistics(child)["pid"], child)
            self.assertEqual(self.statistics(parent.pid)["pid"], parent.pid)
            both = snug("stats", "--json", str(parent.pid), str(child))
            self.assertEqual([json.loads(line)["pid"] for line in both.stdout.splitlines()], [parent.pid, child])
            every = [json.loads(line)["pid"] for line in snug("stats", "--json", "--all").stdout.splitlines()]
            self.assertLessEqual({parent.pid, child}, set(every))
            own = [os.readlink(f"/proc/{child}/fd/{name}") for name in os.listdir(f"/proc/{child}/fd")]
            self.assertEqual(sum("snug-control" in name for name in own), 1, "the parent's is closed")

    def test_purges(self):
        with process("work", "publish:on,purge_after:86400000,retain:1G") as child:
            self.assertGreater(self.statistics(child.pid)["bytes_retained"], 16 << 20)
            purged = snug("ctl", str(child.pid), "purge")
            self.assertRegex(purged.stdout, rf"^process {child.pid}: .* in memory, .* before\n$")
            self.assertLess(self.statistics(child.pid)["bytes_retained"], 4 << 20)

    def test_changes_what_may_change(self):
        with process("work", "publish:on,purge_after:86400000,retain:1G") as child:
            self.assertEqual(snug("ctl", str(child.pid), "set", "retain:1M,purge_after:50").returncode, 0)
            lines = snug("ctl", str(child.pid), "settings").stdout.splitlines()
            values = {line.split()[0]: line.split()[1:] for line in lines}
            self.assertEqual(values["retain"], ["1048576", "changed", "yes"])
            self.assertEqual(values["purge_after"], ["50", "changed", "yes"])
            self.assertEqual(values["publish"], ["on", "SNUG_CONF"])
            self.assertEqual(self.statistics(child.pid)["retain"], 1 << 20)
            refused = snug("ctl", str(child.pid), "set", "retain:2M,cache:1M")
            self.assert_refused(refused, child.pid, "cache is read when the process starts, and cannot be changed later")
            self.assert_refused(snug("ctl", str(child.pid), "set", "retain:x"), child.pid, "bad value 'x' for 'retain'")
            self.assert_refused(snug("ctl", str(child.pid), "set", "retian:1M"), child.pid, "did you mean 'retain'?")
            self.assertEqual(self.statistics(child.pid)["retain"], 1 << 20, "nothing of it was taken")
            told = json.loads(snug("ctl", str(child.pid), "set", "retain", "3M", "--json").stdout)
            self.assertEqual(told, {"schema": "snug.control/1", "pid": child.pid, "order": "set"})
            told = json.loads(snug("ctl", str(child.pid), "settings", "--json").stdout)
            retain = {"key": "retain", "value": str(3 << 20), "origin": "changed", "may_change": True}
            self.assertIn(retain, told["settings"])
            told = json.loads(snug("ctl", "--json", str(child.pid), "purge").stdout)
            self.assertLessEqual(told["resident_bytes"], told["resident_bytes_before"])

    def test_a_change_counts_for_what_is_kept(self):
        with process("work", "publish:on,purge_after:86400000,retain:1G") as child:
            self.assertGreater(self.statistics(child.pid)["bytes_retained"], 16 << 20)
            self.assertEqual(snug("ctl", str(child.pid), "set", "purge_after:1").returncode, 0)
            while self.statistics(child.pid)["bytes_retained"] > 4 << 20:
                time.sleep(0.05)

    def test_hostile_settings_lose_nothing(self):
        with process("work", "publish:on,report:/tmp/a\tb\tc") as child:
            lines = snug("ctl", str(child.pid), "settings")
            self.assertIn("/tmp/a?b?c", lines.stdout)
            self.assertEqual(lines.returncode, 0)

    def test_profiles_while_it_runs(self):
        with process("work") as child:
            self.assert_refused(snug("profile", str(child.pid)), child.pid, "never profiled")
            self.assertEqual(snug("ctl", str(child.pid), "profile", "on", "4K").returncode, 0)
            self.assertEqual(self.statistics(child.pid)["profile"], 4096)
            wait_for(lambda: "hold < replace" in snug("profile", str(child.pid)).stdout, "a sample of a thread")
            self.assertEqual(snug("ctl", str(child.pid), "profile", "off").returncode, 0)
            self.assertEqual(self.statistics(child.pid)["profile"], 0)
            for words in (["profile", "on", "1"], ["profile", "on", "much"]):
                self.assertEqual(snug("ctl", str(child.pid), *words).returncode, 2)

    def test_top_prints_where_there_is_no_terminal(self):
        with process("work") as child:
            row = snug("top", "--once", str(child.pid)).stdout
            self.assertIn("requested", row)
            every = snug("top", "-n", "2", "-d", "0.2").stdout
            self.assertEqual(len(re.findall(rf"(?m)^[> ] {child.pid} ", every)), 2)
            self.assertRegex(every, r"mallocs/s")
            first, second = [next(line for line in look.splitlines() if re.match(rf"[> ] {child.pid} ", line))
                             for look in every.split("mallocs/s")[1:]]
            self.assertEqual(first.split().count("-"), 3, "one look tells no rate")
            self.assertEqual(second.split().count("-"), 0)

            def allocations_a_second():
                looks = snug("top", "-n", "2", "-d", "0.2", "--json", str(child.pid)).stdout.splitlines()
                first, second = [json.loads(look)["processes"][0] for look in looks]
                self.assertEqual((first["pid"], "a_second" in first), (child.pid, False))
                self.assertGreater(second["resident_bytes"], 0)
                return second["a_second"]["allocations"]
            # Between two looks a busy machine may let no thread of the process run.
            self.assertGreater(wait_for(allocations_a_second, "a rate of allocations"), 0)

    def test_prometheus_reads_it(self):
        with process("work") as child:
            exporter = subprocess.Popen([TOOL, "stats", "--listen", "127.0.0.1:0", str(child.pid)], stderr=subprocess.PIPE,
                                        env=clean_environment(), text=True)
            try:
                port = int(exporter.stderr.readline().split()[-1])
                text = urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics").read().decode()
                sample = re.compile(r'^snug_\w+\{pid="\d+",program="[^"]*"\} \d+$')
                for line in text.splitlines():
                    self.assertTrue(sample.match(line) or re.match(r"# (HELP|TYPE) snug_\w+ ", line), line)
                names = [line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")]
                printed = snug("stats", "--prometheus", str(child.pid)).stdout
                self.assertEqual(names, [line.split()[2] for line in printed.splitlines() if line.startswith("# TYPE")])
                self.assertIn("snug_bytes_in_use", names)
                self.assertIn("snug_allocations_total", names)
                self.assertNotIn("snug_memory_rss_bytes", names)
                slow = socket.create_connection(("127.0.0.1", port))
                self.addCleanup(slow.close)
                slow.sendall(b"GET")
                with self.assertRaises(urllib.error.HTTPError):
                    urllib.request.urlopen(f"http://127.0.0.1:{port}/nothing")
                for request in (b"", b"\0" * 9000, b"GET", b"POST /metrics HTTP/1.1\r\n\r\n"):
                    with socket.create_connection(("127.0.0.1", port)) as client:
                        client.sendall(request)
                urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics").read()
            finally:
                exporter.kill()
                exporter.wait()
                exporter.stderr.close()

    def test_who_cannot_be_asked(self):
        self.assert_refused(snug("stats", "4194305"), 4194305, "there is no such process")
        with process("fakes", conf="", library=None) as child:
            self.assert_refused(snug("stats", str(child.pid)), child.pid, "does not publish: start it on snug")
        with process("fork", conf="") as child:
            self.assert_refused(snug("stats", str(child.pid)), child.pid, "runs on snug, but does not publish")
        with process("closes") as child:
            self.assert_refused(snug("stats", str(child.pid)), child.pid, "has closed snug's file")
        self.assertEqual(child.returncode, 0, "its child has lost a file")
        for words in (["stats", "12x"], ["stats"], ["ctl", "0", "purge"], ["top", "-1"], ["stats", "--all", "1"],
                      ["ctl", "1", "purge", "all"], ["ctl", "1", "set"], ["stats", "--listen", "x", "1"], ["stats", "--listen", "127.0.0.1:99999", "1"]):
            wrong = snug(*words)
            self.assertEqual((wrong.returncode, wrong.stderr.count("\n")), (2, 1), wrong)

    @unittest.skipUnless(os.getuid() == 0, "only root can be another user")
    def test_another_user_is_refused(self):
        with process("work") as child:
            asked = subprocess.run([TOOL, "stats", str(child.pid)], env=clean_environment(), text=True, check=False,
                                   capture_output=True, preexec_fn=lambda: os.setuid(NOBODY))
            if asked.returncode in (126, 127):
                self.skipTest("the tool lies where nobody may look")
            self.assert_refused(asked, child.pid, "another user's")

    def test_a_stopped_process_and_one_that_has_ended(self):
        with process("work") as child:
            stop(child)
            self.assert_refused(snug("ctl", str(child.pid), "set", "purge_after:77"), child.pid, "it is stopped")
            page = page_of(child.pid)
            self.assertEqual(word_of(page, 24), 0xffffffff, "withdrawn")
            os.close(page)
            kill(child)
            self.assert_refused(snug("stats", str(child.pid)), child.pid, "it has ended")

    def test_one_of_all_that_does_not_answer_is_not_waited_for_long(self):
        """As one in a container that is paused. It is this process, with a page of its own."""
        page = os.memfd_create("snug-control", os.MFD_ALLOW_SEALING | os.MFD_CLOEXEC)
        try:
            os.ftruncate(page, PAGE_BYTES)
            fcntl.fcntl(page, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK)
            os.pwrite(page, struct.pack("<QII", 0x314C544347554E53, 2, os.getpid()), 0)
            with process("fork") as child:
                begin = time.monotonic()
                asked = snug("stats", "--all", "--json")
                self.assertLess(time.monotonic() - begin, 10)
            told = [json.loads(line)["pid"] for line in asked.stdout.splitlines()]
            self.assertIn(child.pid, told)
            self.assertNotIn(os.getpid(), told)
            self.assertGreater(word_of(page, 16), 0, "it was asked")
        finally:
            os.close(page)

    def test_a_process_that_is_killed_while_it_is_asked(self):
        def asked_and_killed():
            """Nothing if the tool had given up on the process, as on one that is stopped, when that was killed."""
            with process("work") as child:
                stop(child)
                page = page_of(child.pid)
                before = word_of(page, 16)
                command = [TOOL, "ctl", str(child.pid), "set", "purge_after:77"]
                with subprocess.Popen(command, env=clean_environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                      stderr=subprocess.PIPE, text=True) as tool:
                    while word_of(page, 16) == before and tool.poll() is None:
                        time.sleep(0.001)
                    kill(child)
                    said = tool.communicate()
                os.close(page)
            if "it is stopped" in said[1]:
                return None
            return child.pid, subprocess.CompletedProcess(tool.args, tool.returncode, *said)

        pid, asked = wait_for(asked_and_killed, "a process that is killed before the tool gives up")
        self.assert_refused(asked, pid, "it has ended")

    def test_a_process_outlives_its_main_thread_without_the_control_thread(self):
        with process("leaves") as child:
            self.assert_refused(snug("stats", str(child.pid)), child.pid, "its main thread has")
        self.assertEqual(child.returncode, 0)

    def test_hostile_requests_are_refused(self):
        with process("work") as child:
            page = page_of(child.pid)
            with self.assertRaises(OSError):
                os.ftruncate(page, 0)
            for command in (7, 8, 99, 0xffffffff, 2, 4):
                os.pwrite(page, b"\xff" * 256, 36)
                os.pwrite(page, struct.pack("<I", command), 24)
                self.ask_anew(page)
                error, length = struct.unpack("<II", os.pread(page, 8, 28))
                self.assertNotEqual(error, 0, command)
                self.assertLess(length, 1000)
            os.pwrite(page, os.urandom(PAGE_BYTES - 16), 16)
            os.close(page)
            self.assertIsNone(child.poll())
            self.assertGreater(self.statistics(child.pid)["bytes_in_use"], WORK_BYTES)

    def ask_anew(self, page):
        request = (word_of(page, 16) + 1) & 0xffffffff
        os.pwrite(page, struct.pack("<I", request), 16)
        wake_word(page, 16)
        wait_for(lambda: word_of(page, 20) == request & 0x7fffffff, "an answer")  # the bit above is the process's own


def wake_word(page, offset):
    with mmap.mmap(page, 4096) as memory:
        word = ctypes.c_uint32.from_buffer(memory, offset)
        libc = ctypes.CDLL(None, use_errno=True)
        libc.syscall(ctypes.c_long({"x86_64": 202, "aarch64": 98}[os.uname().machine]), ctypes.byref(word), 1, 1, None, None, 0)
        del word


if __name__ == "__main__":
    unittest.main()
