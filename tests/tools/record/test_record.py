"""snug record: every event is in the trace, as an allocator that counts in the same run proves."""

import os
import shutil
import signal
import sys
import tempfile
import time
import unittest
from pathlib import Path

from recorded import LIBRARY, SUBJECT, Recorded, record, told
from trace_file import ALLOCATING, Trace

EARLY = os.environ["RECORD_EARLY"]
OWN_MALLOC = os.environ["RECORD_OWN_MALLOC"]
WAITING = os.environ["RECORD_WAITING"]
LIBRARY_TO_COPY = os.environ["RECORD_STORM_LIBRARY"]
HEAP = 11  # the measure of a sample


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
            self.assertEqual([event.values[1] for event in begun], [0] + [1] * threads, "the threads that made them")
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
            """From the program's first constructor to its last destructor: an allocator may have some of its own."""
            calls = [(event.operation, event.size) for event in trace.events if event.allocates() or event.frees()]
            return calls[calls.index(("new", 31 * 4)) : calls.index(("delete_sized", 31 * 4)) + 1]

        expected = asked(Recorded("churn", "2000").main)
        for allocator in ("glibc", "snug", "jemalloc", "mimalloc", "tcmalloc", "tbbmalloc", "scudo"):
            with self.subTest(allocator):
                recorded = Recorded("churn", "2000", allocator=allocator, options=("--library", LIBRARY) if allocator == "snug" else ())
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
            run = record(folder, sys.executable, "-c", f"import ctypes; ctypes.CDLL({WAITING!r})")
            self.assertEqual(run.returncode, 0, run.stderr)

    def test_a_program_with_a_heap_of_its_own_keeps_to_it(self):
        with tempfile.TemporaryDirectory() as folder:
            run = record(folder, OWN_MALLOC)
            self.assertEqual(run.stdout, "one heap\n", run.stderr)

    def test_two_hundred_threads(self):
        self.assert_whole(Recorded("threads", "200"))
        recorded = Recorded("short-threads", "200")
        self.assert_whole(recorded)
        self.assertEqual(recorded.main.count("thread_end"), 200)

    def test_times_are_those_of_the_clock(self):
        program = "import time; first = bytearray(5 << 20); time.sleep(0.5); last = bytearray(6 << 20)"
        begin = time.monotonic()
        recorded = Recorded("-c", program, program=sys.executable)
        passed = time.monotonic() - begin
        first, last = ([event.time for event in recorded.main.events if event.allocates() and event.size >> 20 == size]
                       for size in (5, 6))
        seconds = (last[0] - first[0]) * 64e-9
        self.assertGreater(seconds, 0.4999)
        self.assertLess(seconds, passed)

    def test_full_ring_blocks(self):
        recorded = Recorded("churn", "60000")  # many times what the ring holds
        self.assert_whole(recorded)

    def test_a_handler_may_leave_a_thread_that_waits(self):
        """By exit(), with destructors that free more than the ring holds, and by siglongjmp()."""
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
                run = record(folder, SUBJECT, "no such mode")
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

    def test_the_allocator_is_asked_what_it_says_of_itself(self):
        """While there are many threads, and in the middle of a fork storm, as well."""
        for program, amount in (("threads", 7), ("churn", 20000), ("storm", 100)):
            # On a busy machine a short program has ended before the recorder's thread runs.
            for longer in (1, 5, 25):
                recorded = Recorded(program, str(amount * longer), allocator="glibc")
                self.assertEqual(recorded.run.returncode, 0, recorded.run.stderr)
                recorded.main.check()
                samples = [event.values for event in recorded.main.events if event.operation == "sample"]
                told = [values for measure, *values in samples if measure == 8]
                if told:
                    break
            self.assertGreaterEqual(len(told), 1, program)
            # It may end between the two.
            self.assertLessEqual(abs(len(told) - len([values for measure, *values in samples if measure == 2])), 1)
            self.assertGreater(told[-1][0], 1000)
        # One that has none of its own is not asked, nor is libc's behind it.
        samples = [event.values for event in Recorded("churn", "20000").main.events if event.operation == "sample"]
        self.assertLessEqual({measure for measure, _ in samples}, {1, 11, 12})  # no heap of one that ends meanwhile

    def heap_with(self, libraries):
        """As the last look at a program that sleeps has it. On a busy machine a short sleep is over before the first."""
        for seconds in ("0.5", "5", "50", "500"):
            recorded = Recorded(seconds, program=shutil.which("sleep"), LD_PRELOAD=":".join(libraries))
            samples = [event.values for event in recorded.main.events if event.operation == "sample"]
            if heaps := [heap for measure, heap in samples if measure == HEAP]:
                return heaps[-1]
        raise AssertionError("it was never looked at")

    def test_what_the_dynamic_linker_has_of_libraries_is_no_heap(self):
        """Of a program with forty libraries more as much is heap as of one without."""
        with tempfile.TemporaryDirectory() as folder:
            libraries = [shutil.copy(LIBRARY_TO_COPY, f"{folder}/library{number}.so") for number in range(40)]
            few, many = self.heap_with([]), self.heap_with(libraries)
        self.assertLess(many - few, 40 << 10)  # of what the libraries allocate

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


if __name__ == "__main__":
    unittest.main()
