"""snug replay: the calls of a trace come again, in their order, on each allocator, and what is said of it is so."""

import itertools
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "record"))
from tool_under_test import LIBRARY, TOOL, children_of, clean_environment, snug  # noqa: E402
from trace_file import Trace, TraceFile  # noqa: E402

MADE_UP = os.environ["MADE_UP_TRACE"]
GROWING = os.environ["GROWING"]
TELLING = os.environ["TELLING"]
RECORDER = os.environ["RECORDER"]
SUBJECT = os.environ["RECORD_SUBJECT"]


class ReplayTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def made_up(self, name, *arguments):
        file = self.folder / f"{name}.trace"
        subprocess.run([MADE_UP, name, file, *arguments], check=True)
        return file

    def recorded(self, *program, options=()):
        file = self.folder / "job.trace"
        self.printed = subprocess.run([TOOL, "record", "--force", "-o", file, "--level=0", *options, "--", *program],
                                      env=clean_environment(), check=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True).stdout
        return file

    def replay(self, file, *options, allocators="glibc", rounds=1, warmup=0, status=0, **variables):
        """The JSON; `self.said` is the table."""
        result = self.folder / "result.json"
        process = snug("replay", str(file), "--library", LIBRARY, "--allocators", allocators, f"-n{rounds}",
                       f"--warmup={warmup}", f"--json={result}", *options, **variables)
        self.assertEqual(process.returncode, status, process.stderr + process.stdout)
        self.said = " ".join((process.stdout + process.stderr).split())
        return json.loads(result.read_text())

    def of(self, result, name="glibc"):
        return result["replay"]["allocators"][name]


class OrderTest(ReplayTest):
    def test_a_block_is_freed_after_it_has_come(self):
        self.assertEqual(self.of(self.replay(self.made_up("hand_over")))["threads"], 2)

    def test_slots_that_are_used_again(self):
        self.replay(self.made_up("ping_pong"))

    def test_hand_overs_come_in_their_turns(self):
        told = []
        for attempt in range(3):  # the second may be told first, by a hair
            log = self.folder / f"log{attempt}"
            self.replay(self.made_up("turns"), allocators=TELLING, TELL=str(log))
            told.append(log.read_text()[-2:])  # this tool's own come before
        self.assertIn("12", told)

    def test_thousands_of_threads(self):
        of = self.of(self.replay(self.made_up("short_threads")))
        self.assertEqual(of["threads"], 5998)
        self.assertLess(of["own"]["memory_bytes"], 40 << 20, "each lane has few kinds of calls")
        self.assertEqual(of["checkpoints"][-1]["live_bytes"], 0)

    def test_a_thread_in_the_place_of_one_that_has_ended(self):
        for _ in range(3):
            self.assertEqual(self.of(self.replay(self.made_up("births"), "--timeout=1200"))["threads"], 298)

    def test_threads_of_the_allocator_are_not_waited_for_at_each_checkpoint(self):
        self.replay(self.made_up("births"), "--timeout=1200", allocators=TELLING, THREADS="helped")


def without_nothrow(operation):
    """Operators new are replayed in their forms that do not throw."""
    return operation.removesuffix("_nothrow") if operation.startswith("new") else operation


def calls_of(trace):
    """What each thread asked for, in its order; a block is named by the thread that got it, and when. Without what starting
    threads asks for, which is zeroed."""
    dropped = set()
    names = {}
    counts = {}
    calls = {}
    for event in trace.events:
        if event.operation == "calloc" and 200 < event.size < 400:
            dropped.add(event.result)
            continue
        if event.block in dropped:
            continue
        if event.result is not None:
            counts[event.thread] = counts.get(event.thread, 0) + 1
            names[event.result] = (event.thread, counts[event.thread])
        if event.allocates() or event.frees() or event.operation == "usable_size":
            calls.setdefault(event.thread, []).append(
                (without_nothrow(event.operation), event.size, event.alignment, names.get(event.block)))
    return calls


def renamed(calls, names):
    """The same where threads have other numbers: the recorder gives them in the order in which threads start to run."""
    return {names[thread]: [(*call, block and (names[block[0]], block[1])) for *call, block in listed]
            for thread, listed in calls.items()}


def renamings(threads):
    """All that leave the first thread its number."""
    first, *others = sorted(threads)
    for order in itertools.permutations(others):
        yield dict(zip((first, *others), (first, *order)))


class FidelityTest(ReplayTest):

    def replayed_under_the_recorder(self, file):
        again = self.folder / "again.trace"
        subprocess.run([TOOL, "record", "--force", "-o", again, "--level=0", "--", TOOL, "replay", file, "--library", LIBRARY,
                        "--allocators", RECORDER, "-n1", "--warmup=0", "--touch=first"],
                       env=clean_environment(), check=False, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        traces = TraceFile(again).traces()
        # On snug it is replayed as well, which stands before the recorder and leaves it nothing to see.
        return max((trace for trace in traces if trace.facts["program"].endswith("snug-replayer")),
                   key=lambda trace: len(trace.events))

    def test_under_the_recorder_it_gives_the_same_trace(self):
        for program in (("churn", "2000"), ("threads", "3")):
            with self.subTest(program):
                file = self.recorded(SUBJECT, *program)
                again = self.replayed_under_the_recorder(file)
                again.check()
                first, second = calls_of(Trace(file)), calls_of(again)
                self.assertGreater(sum(map(len, first.values())), 1000)
                self.assertEqual(sorted(first), sorted(second))
                self.assertTrue(any(renamed(second, names) == first for names in renamings(first)), "other calls, or by others")

    def test_memory_is_that_of_the_program(self):
        for threads in ("one", "two"):
            with self.subTest(threads):
                file = self.recorded(GROWING, threads)
                used, resident = map(int, self.printed.split())
                checkpoints = self.of(self.replay(file))["checkpoints"]
                last = checkpoints[-1]
                replayed = last["mallinfo2"]["uordblks"] + last["mallinfo2"]["hblkhd"]
                self.assertAlmostEqual(replayed / used, 1, delta=0.02)
                self.assertAlmostEqual(last["rss_bytes"] / resident, 1, delta=0.05)
                self.assertTrue(any("recorded_rss_bytes" in one for one in checkpoints))

    def test_memory_is_that_of_the_recording_at_every_checkpoint(self):
        """The allocator says the same of itself in the replay as it did in the program, and as much is resident of the heap, what
        the program has beside left out: data and mappings. (With huge pages both are as large as the clock says.) A program that ends
        between two readings of one sample has told what is resident, and not of what: at most one sample of a recording."""
        for name, options in (("glibc", ()), ("snug-nothp", ("--allocator=snug-nothp", f"--library={LIBRARY}"))):
            for threads in ("one", "two"):
                with self.subTest(allocator=name, threads=threads):
                    for _ in range(5):  # a recorder that is kept from the processor in a look has the next one late
                        result = self.replay(self.recorded(GROWING, threads, "slowly", options=options), allocators=name)
                        of = self.of(result, name)
                        if sum("recorded_mallinfo2" in one for one in of["checkpoints"]) > 4:
                            break
                    self.assertIn(f"On {name}, as recorded: what its mallinfo2 counts as used", self.said)
                    used = resident = with_heap = untold = 0
                    for one in of["checkpoints"]:
                        if recorded := one.get("recorded_mallinfo2"):
                            was = recorded["uordblks"] + recorded["hblkhd"]
                            now = one["mallinfo2"]["uordblks"] + one["mallinfo2"]["hblkhd"]
                            used += was != 0  # of nothing there is no share
                            self.assertLessEqual(abs(now - was), 0.02 * was, one)
                        if "recorded_rss_bytes" not in one:
                            continue
                        resident += 1
                        if "recorded_heap_rss_bytes" not in one:
                            untold += 1
                            continue
                        heap = one["recorded_heap_rss_bytes"]
                        with_heap += heap != 0
                        if one["live_bytes"] > 0:  # what stands beside is written before anything is allocated
                            self.assertLess(heap, one["recorded_rss_bytes"] - (12 << 20), one)
                        if heap >= 1 << 20:
                            self.assertLess(abs(one["heap_rss_bytes"] - heap), 0.05 * heap, one)
                    self.assertGreater(used, 2)
                    self.assertGreater(resident, 2)
                    self.assertLessEqual(untold, 1)
                    told = of["against_recording"]
                    self.assertEqual([told[each]["checkpoints"] for each in ("mallinfo2_used", "rss", "heap_rss")],
                                     [used, resident, with_heap])
                    self.assertLess(told["mallinfo2_used"]["most"], 0.02)

    def test_two_replays_agree(self):
        result = self.replay(self.made_up("many"), rounds=2)
        [glibc] = [one for one in result["allocators"] if one["name"] == "glibc"]
        peaks = [run["peak_rss_bytes"] for run in glibc["runs"]]
        self.assertAlmostEqual(peaks[0] / peaks[1], 1, delta=0.02)

    def test_two_replays_agree_at_every_checkpoint(self):
        for name, more_than in (("many", 10), ("ping_pong", 2)):
            with self.subTest(name):
                file = self.made_up(name)
                first, second = (self.of(self.replay(file)) for _ in range(2))
                for what in ("calls", "threads", "peak_live_bytes"):
                    self.assertEqual(first[what], second[what])
                self.assertGreater(len(first["checkpoints"]), more_than)
                for one, other in zip(first["checkpoints"], second["checkpoints"], strict=True):
                    for what in ("events", "live_bytes", "live_blocks"):
                        self.assertEqual(one[what], other[what])
                    self.assertAlmostEqual(one["rss_bytes"], other["rss_bytes"], delta=max(0.02 * one["rss_bytes"], 1 << 18))
                    self.assertAlmostEqual(one["mallinfo2"]["uordblks"] / other["mallinfo2"]["uordblks"], 1, delta=0.005)

    def test_touch(self):
        file = self.made_up("large")
        peaks = {touch: self.of(self.replay(file, f"--touch={touch}"))["checkpoints"][-1]["rss_bytes"]
                 for touch in ("none", "first", "all")}
        self.assertGreater(peaks["all"] - peaks["none"], 60 << 20)
        self.assertLess(abs(peaks["first"] - peaks["none"]), 4 << 20)

    def test_recorded_speed(self):
        file = self.made_up("slow")
        begin = time.monotonic()
        played = self.of(self.replay(file, "--speed=recorded"))["checkpoints"][-1]["played_seconds"]
        self.assertGreater(played, 0.48)
        self.assertGreater(time.monotonic() - begin, 0.9, "on both allocators")
        # Else it takes milliseconds, and as long as a busy machine lets it wait.
        self.assertTrue(any(self.of(self.replay(file))["checkpoints"][-1]["played_seconds"] < 0.4 for _ in range(100)))


class ComponentTest(ReplayTest):
    """Heaps that are no malloc: the cell heap over a region, pools, the compacting heap by handles, and TLSF."""

    ALL = "--component=cell,pool,compact"

    def test_each_has_the_same_blocks_live(self):
        for name in ("hand_over", "ping_pong", "many", "large"):
            with self.subTest(name):
                result = self.replay(self.made_up(name), self.ALL)
                live = {tuple((one["live_bytes"], one["live_blocks"]) for one in self.of(result, contender)["checkpoints"])
                        for contender in ("snug", "glibc", "cell", "pool", "compact")}
                self.assertEqual(len(live), 1)
                self.assertFalse([run["objection"] for one in result["allocators"] for run in one["runs"] if run["objection"]])

    def test_a_real_program_with_threads_and_reallocations(self):
        file = Path(os.environ["SNUG_GOLDEN"], "traces", "git.trace")
        result = self.replay(file, self.ALL, "--region=512M", "--kappa=3")
        self.assertEqual(self.of(result, "cell")["component"], {"region_bytes": 512 << 20})
        self.assertEqual(self.of(result, "compact")["component"], {"kappa": 3})
        self.assertNotIn("component", self.of(result))
        self.assertIn("over one region of 512", self.said)
        self.assertIn("compacting heap with 3 not full page(s) a class", self.said)
        self.assertNotIn("On cell, as recorded", self.replay(self.recorded(GROWING, "one"), self.ALL) and self.said)
        self.assertIn("reallocations are emulated by a copy, alignments above 16 B are not kept", self.said)
        for name in ("cell", "pool", "compact"):
            self.assertRegex(self.said, f"{name} [0-9.]+: called directly by the replayer: it is no malloc")

    def test_what_is_written_is_resident(self):
        file = self.made_up("large")
        for name in ("cell", "pool", "compact"):
            rss = {touch: self.of(self.replay(file, self.ALL, f"--touch={touch}"), name)["checkpoints"][-1]["rss_bytes"]
                   for touch in ("none", "all")}
            self.assertGreater(rss["all"] - rss["none"], 60 << 20, name)

    def test_the_region_is_all_that_the_cell_heap_has(self):
        result = self.replay(self.made_up("large"), "--component=cell", "--region=32M", status=1)
        [cell] = [one for one in result["allocators"] if one["name"] == "cell"]
        self.assertIn("allocations failed that had not when recorded", cell["runs"][0]["objection"])
        self.assertEqual(result["allocators"][1]["runs"][0]["objection"], "")

    def test_kappa_is_what_the_compacting_heap_keeps(self):
        """The more pages may have free blocks, the less is moved, and the more is resident."""
        file = self.made_up("sparse")
        rss = [self.of(self.replay(file, "--component=compact", f"--kappa={kappa}"), "compact")["checkpoints"][-1]["rss_bytes"]
               for kappa in (1, 1000)]
        self.assertGreater(rss[1] - rss[0], 5 << 20)

    def test_tlsf_is_a_library(self):
        file = self.made_up("hand_over")
        process = snug("replay", str(file), "--library", LIBRARY, "--component=tlsf", SNUG_PEERS=str(self.folder))
        self.assertEqual((process.returncode, process.stderr.count("\n")), (2, 1), process.stderr)
        self.assertIn(f"tlsf is not here (no libtlsf.so in {self.folder})", process.stderr)
        result = self.replay(file, "--component=tlsf", f"--tlsf={TELLING}")
        self.assertEqual(result["allocators"][2]["name"], "tlsf")

    def test_wrong_usage(self):
        file = str(self.made_up("hand_over"))
        for option, words in (("--component=cells", "cells not in"), ("--component=cell,cell", "stands there twice"),
                              ("--region=1", "not in range"), ("--kappa=0", "not in range"), ("--tlsf=none/such", "no library")):
            process = snug("replay", file, "--library", LIBRARY, "--component=tlsf" if "tlsf" in option else "-n1", option)
            self.assertEqual((process.returncode, process.stderr.count("\n")), (2, 1), process.stderr)
            self.assertIn(words, process.stderr)


class ReportTest(ReplayTest):
    def test_table_and_json(self):
        result = self.replay(self.made_up("many"), "--sizes", rounds=2, warmup=1)
        self.assertEqual(result["schema"], "snug.comparison/2")
        self.assertEqual([one["name"] for one in result["allocators"]], ["snug", "glibc"])
        self.assertIn("malloc bound to it in 1 of 1 programs", self.said)
        self.assertIn("The replayer itself takes", self.said)
        self.assertIn("malloc to 64 B", self.said)
        for name in ("snug", "glibc"):
            of = self.of(result, name)
            self.assertEqual(of["calls"], sum(row["calls"] for row in of["ticks"]) // 2)
            self.assertGreater(of["own"]["nanoseconds_a_call"], 0)
            self.assertGreater(of["own"]["memory_bytes"], 1 << 16)
            for row in of["ticks"]:
                self.assertLessEqual(row["p50"], row["p99"])
                self.assertLessEqual(row["p99"], row["max"])
        self.assertFalse([name for name in result["allocators"][0]["runs"][0]["figures"] if "p99" in name],
                         "a quantile is none that a verdict may rest on")
        last = self.of(result, "snug")["checkpoints"][-1]
        self.assertGreaterEqual(last["snug"]["bytes_in_use"], last["live_bytes"])
        self.assertGreater(last["snug"]["bytes_in_slabs"], last["snug"]["bytes_in_use"])
        self.assertNotIn("snug", self.of(result)["checkpoints"][-1])
        [snug_itself] = [one for one in result["allocators"] if one["name"] == "snug"]
        self.assertGreaterEqual(snug_itself["runs"][0]["served"]["allocations"], 200_000)

    def test_picture(self):
        plot = self.folder / "memory.svg"
        self.replay(self.made_up("many"), f"--plot={plot}")
        text = plot.read_text()
        for words in ("RSS on snug", "RSS on glibc", "live bytes"):
            self.assertIn(words, text)

    def test_interrupt_ends_it_all(self):
        process = subprocess.Popen([TOOL, "replay", self.made_up("slow"), "--library", LIBRARY, "--speed=recorded", "-n50"],
                                   env=clean_environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        runs = set()  # of a half second each
        while len(runs) < 4 and process.poll() is None:
            runs.update(children_of(process.pid))
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate()
        self.assertEqual(process.returncode, 128 + signal.SIGINT)
        self.assertIn("INTERRUPTED", said)

    def test_bad_input(self):
        text = self.folder / "text"
        text.write_text("no trace")
        for arguments, words in (
                (["replay", str(text)], "text:0: "),
                (["replay", str(self.folder / "none")], "cannot be read"),
                (["replay", str(self.made_up("immense")), "--library", LIBRARY], "--touch first writes less"),
                (["replay", str(self.made_up("slow")), "--touch=some"], "--touch"),
                (["replay", str(self.made_up("slow")), "--library", LIBRARY, "--touch=recorded"], "does not say what was touched"),
                (["replay", str(self.made_up("slow")), "--allocators=none_such"], "no allocator 'none_such'"),
                (["replay", str(self.made_up("slow")), "--plot=a.gif"], "ends in .svg or .png")):
            process = snug(*arguments)
            self.assertNotEqual(process.returncode, 0)
            self.assertIn(words, process.stderr)
            self.assertEqual(process.stderr.count("\n"), 1, process.stderr)

    def test_the_trace_is_not_written_over(self):
        file = self.made_up("slow")
        before = file.read_bytes()
        picture = self.folder / "trace.svg"
        picture.symlink_to(file)
        for option in (f"--json={file}", f"--plot={picture}"):
            process = snug("replay", str(file), "--library", LIBRARY, "-n1", option)
            self.assertNotEqual(process.returncode, 0)
            self.assertIn("is read, and cannot be written", process.stderr)
            self.assertEqual(file.read_bytes(), before)

    def test_a_replay_that_stops_short_does_not_count(self):
        for threads, words in (("refused", "a thread could not be started"),
                               ("quit", "the replayer ended before the trace did")):
            result = self.replay(self.made_up("hand_over"), allocators=TELLING, status=1, THREADS=threads)
            [run] = result["allocators"][1]["runs"]
            self.assertEqual(run["objection"], words)

    def test_allocations_that_fail_are_counted(self):
        file = self.made_up("impossible")
        result = self.replay(file, "--touch=first", status=1)
        for allocator in result["allocators"]:
            [run] = allocator["runs"]
            self.assertIn("8 allocations failed", run["objection"])

    def test_the_time_limit_is_that_of_all_windows(self):
        result = self.replay(self.made_up("births"), "--speed=recorded", "--timeout=0.05", status=1)  # of 0.1 s
        self.assertEqual([one["runs"][0]["ending"] for one in result["allocators"]], ["timed out"] * 2)

    def test_damage_is_told_once_and_the_rest_replayed(self):
        file = self.made_up("many")
        data = bytearray(file.read_bytes())
        data[len(data) // 2] ^= 0xFF
        file.write_bytes(data)
        self.assertTrue(self.replay(file, rounds=2, warmup=1, status=3)["replay"]["damaged"])
        self.assertEqual(self.said.count("damaged chunk(s) passed over"), 1)


if __name__ == "__main__":
    unittest.main()
