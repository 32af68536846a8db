"""snug record: every event is in the trace. Who says so is an allocator that counts, in the same run."""

import json
import os
import resource
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

from trace_file import ALLOCATING, Trace

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from tool_under_test import LIBRARY, TOOL, clean_environment  # noqa: E402

SUBJECT = os.environ["RECORD_SUBJECT"]
EARLY = os.environ["RECORD_EARLY"]
COUNTING = os.environ["RECORD_COUNTING"]
OWN_MALLOC = os.environ["RECORD_OWN_MALLOC"]
WAITING = os.environ["RECORD_WAITING"]
KINDS = "malloc calloc realloc reallocarray aligned_alloc memalign posix_memalign valloc pvalloc free".split()
# What an operator asks the allocator for.
PLAIN_NEW = ("new", "new[]", "new_nothrow", "new[]_nothrow")
ALIGNED_NEW = ("new_aligned", "new[]_aligned", "new_aligned_nothrow", "new[]_aligned_nothrow")


class Recorded:
    """One run of the subject under the recorder, on the allocator that counts."""

    def __init__(self, *subject, options=(), allocator=COUNTING, program=SUBJECT, **variables):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "job.trace")
            self.run = subprocess.run(
                [TOOL, "record", "-o", file, "--level=0", "--allocator", allocator, *options, "--", program, *subject],
                env=clean_environment(COUNTS=f"{folder}/counts", **variables), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, text=True, timeout=100, check=False)
            self.main = Trace(file) if file.exists() else None
            self.others = [Trace(path) for path in sorted(Path(folder).glob("job.*.trace"))]
            self.counts = {}
            for path in Path(folder).glob("counts.*"):
                _, process, number = path.name.split(".")
                sums = struct.unpack("<20Q", path.read_bytes())
                self.counts[int(process), int(number)] = dict(zip(KINDS, zip(sums[:10], sums[10:])))

    def traces(self):
        return [self.main, *self.others]


class KilledCollector:
    """A subject that waits for its steps, of 60000 rounds each, and the tool that recorded it, which is a zombie."""

    def __enter__(self):
        self.files = tempfile.TemporaryDirectory()
        self.errors = open(Path(self.files.name, "errors"), "w+")
        self.tool = subprocess.Popen([TOOL, "record", "-o", Path(self.files.name, "job.trace"), "--", SUBJECT, "paused", "60000"],
                                     env=clean_environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                     stderr=self.errors, text=True)
        assert self.tool.stdout.readline() == "ready\n"
        [self.subject] = Path(f"/proc/{self.tool.pid}/task/{self.tool.pid}/children").read_text().split()
        variables = Path("/proc", self.subject, "environ").read_bytes().split(b"\0")
        [session] = [line for line in variables if line.startswith(b"SNUG_RECORD=")]
        self.folder = Path(session.decode().split(":")[-1])
        time.sleep(0.3)  # the ring has been found by then
        self.tool.send_signal(signal.SIGKILL)
        os.waitid(os.P_PID, self.tool.pid, os.WEXITED | os.WNOWAIT)
        return self

    def step(self, what="x"):
        self.tool.stdin.write(what + "\n")
        self.tool.stdin.flush()
        done, _, _ = select.select([self.tool.stdout], [], [], 60)
        if not done:
            os.kill(int(self.subject), signal.SIGKILL)
        assert done and self.tool.stdout.readline().startswith("done"), "the subject waits"

    def said(self):
        return Path(self.errors.name).read_text()

    def __exit__(self, *_):
        self.tool.stdin.close()
        self.tool.wait()
        self.tool.stdout.close()
        self.errors.close()
        self.files.cleanup()
        shutil.rmtree(self.folder, ignore_errors=True)


class Stepped:
    """A subject that goes on when it is told to, and the tool that records it."""

    def __init__(self, rounds, *options):
        self.rounds, self.options = rounds, options

    def __enter__(self):
        self.files = tempfile.TemporaryDirectory()
        self.file = Path(self.files.name, "job.trace")
        self.tool = subprocess.Popen(
            [TOOL, "record", "-o", self.file, "--level=0", *self.options, "--", SUBJECT, "paused", str(self.rounds)],
            env=clean_environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        assert self.tool.stdout.readline() == "ready\n"
        return self

    def step(self, what="x"):
        """What the subject has said of it."""
        self.tool.stdin.write(what + "\n")
        self.tool.stdin.flush()
        answer = self.tool.stdout.readline()
        assert answer.endswith("done\n"), answer
        return answer

    def send(self, number):
        self.tool.send_signal(number)
        time.sleep(0.3)

    def finish(self):
        self.tool.stdin.close()
        self.tool.wait(60)
        return Trace(self.file)

    def __exit__(self, *_):
        self.tool.stdin.close()
        self.tool.wait(60)
        self.tool.stdout.close()
        self.files.cleanup()


def told(trace):
    """Calls and bytes by the allocator's functions."""
    sums = {kind: (trace.count(kind), trace.bytes(kind)) for kind in KINDS}
    freeing = [event for event in trace.events if event.operation.startswith(("free", "delete"))]
    sums["free"] = (len(freeing), 0)
    sums["malloc"] = (sums["malloc"][0] + trace.count(*PLAIN_NEW), sums["malloc"][1] + trace.bytes(*PLAIN_NEW))
    # The runtime asks for a multiple of the alignment.
    aligned = [-(-event.size // event.alignment) * event.alignment for event in trace.events if event.operation in ALIGNED_NEW]
    calls, bytes_asked = sums["aligned_alloc"]
    sums["aligned_alloc"] = (calls + len(aligned), bytes_asked + sum(aligned))
    return sums


class RecordTest(unittest.TestCase):
    maxDiff = None

    def assert_whole(self, recorded):
        """Each trace keeps its order, and says what the allocator has counted in that process."""
        self.assertIsNotNone(recorded.main, recorded.run.stderr)
        counts = sorted(tuple(sorted(sums.items())) for sums in recorded.counts.values())
        traces = sorted(tuple(sorted(told(trace).items())) for trace in recorded.traces())
        for trace in recorded.traces():
            trace.check()
        self.assertEqual(traces, counts)
        self.assertNotIn("frees were not seen", recorded.run.stderr)

    def test_whole_family(self):
        recorded = Recorded("family")
        self.assertEqual(recorded.run.returncode, 0, recorded.run.stderr)
        trace = recorded.main
        self.assert_whole(recorded)
        asked = {event.operation: event for event in trace.events if 101 <= event.size <= 110 or 200 < event.size < 213}
        sizes = {operation: event.size for operation, event in asked.items() if operation in ALLOCATING}
        self.assertEqual(sizes | {"realloc": 103}, {
            "malloc": 101, "calloc": 102, "realloc": 103, "reallocarray": 104, "memalign": 106, "posix_memalign": 107,
            "valloc": 108, "pvalloc": 109, "new": 209, "new[]": 210, "new_nothrow": 203, "new[]_nothrow": 204,
            "new_aligned": 211, "new[]_aligned": 212, "new_aligned_nothrow": 207, "new[]_aligned_nothrow": 208})
        self.assertEqual({asked[name].alignment for name in sizes if "aligned" in name}, {64})
        self.assertEqual((asked["memalign"].alignment, asked["posix_memalign"].alignment), (48, 4096))
        self.assertEqual([(event.size, event.alignment) for event in trace.events if event.operation == "aligned_alloc"],
                         [(128, 64)])
        told_sizes = {(event.operation, event.size) for event in trace.events if event.operation.endswith("sized")}
        self.assertLessEqual({("delete_sized", 209), ("delete[]_sized", 210)}, told_sizes)
        self.assertEqual(asked["delete_sized_aligned"].size, 211)
        self.assertEqual(asked["delete[]_sized_aligned"].size, 212)
        deletes = {event.operation for event in trace.events if event.operation.startswith("delete")}
        self.assertEqual(len(deletes), 12)
        self.assertEqual([event.operation for event in trace.events if event.refused], ["malloc"])
        self.assertEqual(trace.count("trim"), 1)
        self.assertEqual(trace.count("usable_size"), 1)
        names = [event.operation for event in trace.events if event.operation in ("map", "remap", "unmap")]
        self.assertEqual(names[-3:], ["map", "remap", "unmap"])
        grown = [event for event in trace.events if event.operation == "realloc" and event.size in (103, 1 << 20)]
        self.assertIsNone(grown[0].block)
        self.assertEqual(grown[1].block, grown[0].result)

    def test_threads_that_pass_blocks_on(self):
        for threads in (1, 2, 7):
            recorded = Recorded("threads", str(threads))
            self.assert_whole(recorded)
            begun = [event for event in recorded.main.events if event.operation == "thread_begin"]
            self.assertEqual(len(begun), threads + 1)
            self.assertEqual([event.values[1] for event in begun], [0] + [1] * threads, "who made them")
            self.assertEqual(recorded.main.count("thread_end"), threads)
        handed_over = [event for event in recorded.main.events if event.frees() and event.block[0] != event.thread]
        self.assertGreater(len(handed_over), 100)

    def test_tells_of_a_free_before_anybody_has_the_block_again(self):
        self.assert_whole(Recorded("threads", "7", HANDS_ON="1"))

    def test_real_programs(self):
        threads = ("import json, threading; text = json.dumps([{str(i): list(range(i % 9))} for i in range(2000)]);"
                   "threads = [threading.Thread(target=json.loads, args=(text,)) for _ in range(4)];"
                   "[thread.start() for thread in threads]; [thread.join() for thread in threads]")
        for program, *arguments in (
                (sys.executable, "-c", threads),
                ("perl", "-e", "$h{$_} = 'x' x ($_ % 100) for 1 .. 3000; system('true'); print scalar(sort keys %h)"),
                ("sh", "-c", "for i in 1 2 3 4 5; do ls / | sort | head -n 2; done")):
            with self.subTest(program):
                recorded = Recorded(*arguments, program=program, PYTHONMALLOC="malloc")
                self.assertEqual(recorded.run.returncode, 0, recorded.run.stderr)
                self.assert_whole(recorded)
                self.assertGreater(sum(len(trace.events) for trace in recorded.traces()), 1000)

    def test_same_events_on_each_allocator(self):
        def asked(trace):
            return [(event.operation, event.size) for event in trace.events if event.allocates() or event.frees()]

        expected = asked(Recorded("churn", "2000").main)
        for allocator in ("glibc", "snug", "jemalloc", "mimalloc", "tcmalloc", "tbbmalloc", "scudo"):
            with self.subTest(allocator):
                recorded = Recorded("churn", "2000", allocator=allocator, options=("--library", LIBRARY))
                if recorded.main is None and "is not installed" in recorded.run.stderr:
                    self.skipTest(f"{allocator} is not installed")
                recorded.main.check()
                self.assertIn(allocator if allocator != "glibc" else "libc.so", recorded.main.facts["allocator"])
                self.assertEqual(asked(recorded.main), expected)

    def test_resolvers(self):
        recorded = Recorded(program=EARLY)
        self.assertEqual(recorded.run.returncode, 0, recorded.run.stderr)
        trace = recorded.main
        trace.check()
        # The program's resolver runs when there is an allocator, its library's before: that block was only found.
        self.assertEqual([event.operation for event in trace.events if event.size == 4001], ["malloc"])
        self.assertEqual([event.operation for event in trace.events if event.size == 4002], ["found"])
        [found] = [event.block for event in trace.events if event.size == 4002]
        self.assertIn("free", [event.operation for event in trace.events if event.block == found])
        self.assertEqual(trace.count("thread_begin"), 1)

    def test_nothing_is_looked_up_while_a_library_is_loaded(self):
        with tempfile.TemporaryDirectory() as folder:
            run = self.record(folder, sys.executable, "-c", f"import ctypes; ctypes.CDLL({WAITING!r})")
            self.assertEqual(run.returncode, 0, run.stderr)

    def test_a_program_with_a_heap_of_its_own_keeps_to_it(self):
        with tempfile.TemporaryDirectory() as folder:
            run = self.record(folder, OWN_MALLOC)
            self.assertEqual(run.stdout, "one heap\n", run.stderr)

    def test_two_hundred_threads(self):
        self.assert_whole(Recorded("threads", "200"))
        recorded = Recorded("short-threads", "200")
        self.assert_whole(recorded)
        self.assertEqual(recorded.main.count("thread_end"), 200)

    def test_full_ring_blocks(self):
        recorded = Recorded("churn", "60000")  # many times what the ring holds
        self.assert_whole(recorded)

    def test_a_handler_may_leave_a_thread_that_waits(self):
        """By exit(), whose destructors free more than the ring holds, and by siglongjmp()."""
        for mode in ("exit-in-handler", "jump-from-handler"):
            with self.subTest(mode):
                recorded = Recorded(mode, "60000")
                self.assertEqual(recorded.run.returncode, 0, recorded.run.stderr)
                recorded.main.check()
                self.assertGreater(recorded.main.count("malloc"), 60000)
                self.assertGreater(recorded.main.count("free"), 60000)
                self.assertNotIn("cut short", recorded.run.stderr)

    def test_status_of_processes_that_end_at_once(self):
        with tempfile.TemporaryDirectory() as folder:
            for _ in range(10):
                run = self.record(folder, SUBJECT, "no such mode")
                self.assertEqual(run.returncode, 2)
                exits = [event.values for event in Trace(Path(folder, "job.trace")).events if event.operation == "exit"]
                self.assertEqual(exits, [[2]])

    def test_constructors_and_destructors(self):
        recorded = Recorded("churn", "1")
        self.assert_whole(recorded)
        sizes = [event.size for event in recorded.main.events]
        self.assertIn(31337, sizes)
        self.assertIn(31 * 4, sizes)

    def test_forks(self):
        recorded = Recorded("storm", "30")
        self.assertEqual(len(recorded.others), 30)
        self.assertEqual(recorded.main.count("fork"), 30)
        for trace in recorded.others:
            self.assertEqual(trace.facts["parent"], str(recorded.main.process))
            self.assertGreaterEqual(trace.count("found"), 1)
        self.assert_whole(recorded)

    def test_size_of_what_a_child_inherits(self):
        recorded = Recorded("storm", "3", allocator="glibc")
        self.assertEqual(len(recorded.others), 3)
        for trace in recorded.others:
            trace.check()
            inherited = [event.size for event in trace.events if event.operation == "found"]
            self.assertTrue(any(777 <= size < 800 for size in inherited), inherited)

    def test_execs(self):
        recorded = Recorded("exec", "4")
        self.assertEqual(len(recorded.others), 4)
        self.assertEqual({trace.process for trace in recorded.traces()}, {recorded.main.process})
        self.assertEqual([trace.count("exec") for trace in recorded.traces()].count(1), 4)
        self.assert_whole(recorded)

    def test_kill_loses_nothing_but_calls_cut_short(self):
        recorded = Recorded("killed", "20000")
        self.assertEqual(recorded.run.returncode, -signal.SIGKILL)
        recorded.main.check()
        [counts] = recorded.counts.values()
        sums = told(recorded.main)
        for kind in ("malloc", "free"):
            # Each thread may have been in one call: a malloc that has been counted, a free that has yet to be.
            self.assertLessEqual(abs(counts[kind][0] - sums[kind][0]), 4)
        self.assertGreater(sums["malloc"][0], 20000)

    def test_a_process_in_another_pid_namespace_says_so(self):
        unshare = ("unshare", "--user", "--map-root-user", "--pid", "--fork")
        if subprocess.run([*unshare, "true"], stderr=subprocess.DEVNULL, check=False).returncode != 0:
            self.skipTest("no PID namespaces for users here")
        recorded = Recorded(*unshare[1:], SUBJECT, "churn", "60000", program=unshare[0], allocator="glibc")
        self.assertEqual(recorded.run.returncode, 0, recorded.run.stderr)
        self.assertIn("process 1 is not recorded: snug record: it runs in another PID namespace", recorded.run.stderr)

    def test_nobody_waits_for_a_collector_that_was_killed(self):
        """Not even while it is a zombie."""
        with KilledCollector() as killed:
            killed.step()

    def test_a_killed_collector_leaves_all_but_two_seconds(self):
        with Stepped(5000) as stepped:
            stepped.step()
            early = json.loads(self.trace_info(stepped.file))
            self.assertIn("program", [fact["key"] for fact in early["facts"]])
            time.sleep(2.5)
            stepped.tool.kill()
            info = json.loads(self.trace_info(stepped.file))
        self.assertFalse(info["has_index"])
        self.assertEqual(info["damaged_chunks"], 0)
        self.assertGreaterEqual(info["operations"]["malloc"]["events"], 5000)

    def trace_info(self, file):
        return subprocess.run([TOOL, "trace", "info", file, "--json"], stdout=subprocess.PIPE, text=True, check=True).stdout

    def test_nothing_is_left_for_a_collector_that_was_killed(self):
        """Whatever starts afterwards keeps silent, and leaves no ring in memory."""
        with KilledCollector() as killed:
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
                    time.sleep(1)
                    self.assertIsNone(tool.poll(), "the daemon runs")
                    tool.send_signal(signal.SIGTERM)
                    self.assertEqual(tool.wait(20), 3)
                    os.kill(int(daemon.read_text()), 0)  # it does still
                finally:
                    os.kill(int(daemon.read_text()), signal.SIGKILL)
                    tool.kill()
                said = tool.stderr.read()
            self.assertNotIn("cut short", said)
            [trace] = [trace for trace in map(Trace, Path(folder).glob("job.*.trace"))
                       if trace.facts["arguments"].endswith("churn-for-ever")]
            trace.check()
            self.assertGreater(trace.count("malloc"), 10000)

    def record(self, folder, *program, file="job.trace", **options):
        return subprocess.run([TOOL, "record", "-o", Path(folder, file), "--level=0", "--", *program], env=clean_environment(),
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              timeout=60, check=False, **options)

    def test_nothing_starts_before_the_file_can_be_written(self):
        with tempfile.TemporaryDirectory() as folder:
            run = self.record(folder, "touch", f"{folder}/started", file="none/job.trace")
            self.assertEqual(run.returncode, 1)
            self.assertIn("job.trace': No such file or directory", run.stderr)
            self.assertEqual(os.listdir(folder), [])

    def test_a_file_that_cannot_be_written_leaves_the_others(self):
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "job.trace").symlink_to("/dev/full")
            run = self.record(folder, "sh", "-c", f"{SUBJECT} churn 10; {SUBJECT} churn 20; exit 0")
            self.assertEqual(run.returncode, 1)
            self.assertRegex(run.stderr, r"process \d+ is not recorded further: cannot write .*: No space left on device")
            others = [Trace(path) for path in Path(folder).glob("job.*.trace")]
            self.assertEqual(sum(trace.facts["program"].endswith(Path(SUBJECT).name) for trace in others), 2)
            for trace in others:
                trace.check()

    def test_more_processes_than_usual_descriptors(self):
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        with tempfile.TemporaryDirectory() as folder:
            run = self.record(folder, "sh", "-c", "ulimit -n; for i in $(seq 30); do sleep 1 & done; wait",
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (24, most)))
            self.assertEqual(run.returncode, 0, run.stderr)
            self.assertEqual(run.stdout, "24\n")
            programs = [Trace(path).facts["program"] for path in Path(folder).glob("job.*.trace")]
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
