"""snug record in storms of forks, threads, ends, libraries and cancellations, on each allocator that is here: every event is
in the traces, as a counter between the recorder and the allocator proves in the same run.

The storms' numbers are those of storms.cpp. A storm that an allocator does not survive by itself says nothing of the
recorder: it is skipped, and so is an allocator that is not installed."""

import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest
from collections import Counter
from pathlib import Path

from recorded import KINDS, LIBRARY, Recorded, clean_environment, told
from tool_under_test import snug

STORMS = os.environ["RECORD_STORMS"]
ALONE = "idle_thread:off"  # threads are counted
STORM_LIBRARY = os.environ["RECORD_STORM_LIBRARY"]
BY_ITSELF = 300  # seconds, of what takes less than one: a catalogue's allocator that hangs is found out
WITH_STACKS = ("snug", "glibc")


def catalogue():
    """The names, as the tool prints them when it is asked for another one."""
    said = snug("record", "--allocator", "none_such", "--", "true").stderr
    return re.search(r"known are ([^(]*) \(", said)[1].split(", ")


def library_of(name):
    """The file that is preloaded for it; if there is none, what the tool says."""
    run = snug("measure", "--library", LIBRARY, "--on", name, "--", "true")
    return (json.loads(run.stdout)["library"], None) if run.returncode == 0 else (None, run.stderr.strip())


class StormTest(unittest.TestCase):
    maxDiff = None

    def storm(self, check, mode, *arguments):
        """On each allocator, one after the other; `check` looks at what is recorded."""
        for name in catalogue():
            with self.subTest(name):
                library, why = library_of(name)
                if library is None:
                    self.skipTest(why)
                if ending := self.fails_by_itself(library, mode, *arguments):
                    self.assertNotIn(name, ("snug", "glibc"), ending)
                    self.skipTest(f"{name} does not survive it by itself: {ending}")
                recorded = Recorded(mode, *arguments, program=STORMS, LD_PRELOAD=library, SNUG_CONF=ALONE)
                self.assertEqual({os.path.realpath(file) for file in recorded.served_by}, {os.path.realpath(library)})
                self.assert_every_event(recorded)
                check(recorded)
                if name in WITH_STACKS:
                    self.assert_well(Recorded(mode, *arguments, program=STORMS, LD_PRELOAD=library, SNUG_CONF=ALONE,
                                              options=("--stacks",)))

    @staticmethod
    def fails_by_itself(library, mode, *arguments):
        """How; empty if it does not."""
        try:
            status = subprocess.run([STORMS, mode, *arguments], timeout=BY_ITSELF,
                                    env=clean_environment(LD_PRELOAD=library, SNUG_CONF=ALONE), stdout=subprocess.DEVNULL,
                                    stderr=subprocess.DEVNULL, check=False).returncode
        except subprocess.TimeoutExpired:
            return f"it takes more than {BY_ITSELF} s"
        return f"ends with {status}" if status != 0 else ""

    def assert_every_event(self, recorded):
        counts, traces = list(recorded.counts.values()), [told(trace) for trace in recorded.traces()]
        counted, freed = (sum(sums["free"][0] for sums in each) for each in (counts, traces))
        self.assertLessEqual(counted, freed)
        self.assertLessEqual(freed, counted + recorded.inside)
        # Of frees from within the allocator the counter does not know which are of the program's blocks.
        kinds = [kind for kind in KINDS if kind != "free" or recorded.inside == 0]
        counts, traces = (sorted([sums[kind] for kind in kinds] for sums in each) for each in (counts, traces))
        self.assertEqual(traces, counts)
        self.assert_well(recorded)

    def assert_well(self, recorded):
        """With stacks, this is all that can be told: the counter hears of what the unwinder allocates, too."""
        self.assertEqual(recorded.run.returncode, 0, recorded.run.stderr)
        for trace in recorded.traces():
            trace.check()
            trace.stacks()
        for words in ("frees were not seen", "cut short", "is not recorded"):
            self.assertNotIn(words, recorded.run.stderr)

    def test_forks(self):
        def check(recorded):
            # 32 children: a quarter of them forks, and a quarter executes; and what is spawned
            self.assertEqual(len(recorded.others), 32 + 8 + 8 + 1)
            self.assertEqual(recorded.main.count("fork"), 32)
            self.assertEqual(sum(trace.count("fork") for trace in recorded.others), 8)
            self.assertEqual(sum(trace.count("exec") for trace in recorded.others), 8)
            parents = Counter(trace.facts.get("parent") for trace in recorded.others)
            self.assertEqual((parents[str(recorded.main.process)], parents[None]), (32, 8 + 1))

        self.storm(check, "forks")

    def test_threads(self):
        def check(recorded):
            self.assertEqual(recorded.main.count("thread_begin"), 201)
            self.assertEqual(recorded.main.count("thread_end"), 200)
            passed = [event for event in recorded.main.events if event.frees() and event.block and event.block[0] != event.thread]
            self.assertGreater(len(passed), 200)

        self.storm(check, "threads")

    def test_ends(self):
        def check(recorded):
            self.assertEqual(recorded.main.count("thread_begin"), 1 + 6 * 31)
            self.assertEqual(recorded.main.count("thread_end"), 6 * 31)
            sizes = Counter(event.size for event in recorded.main.events if event.operation == "malloc")
            self.assertEqual([sizes[size] for size in (41, 42, 43)], [2 * 180, 180, 180])

        self.storm(check, "ends")

    def test_libraries(self):
        def check(recorded):
            sizes = Counter(event.size for event in recorded.main.events if event.operation == "malloc")
            self.assertEqual(sizes[901], 120)
            self.assertGreater(sizes[900], 3, "libraries come again")
            self.assertLessEqual(sizes[900], 120)

        with tempfile.TemporaryDirectory() as folder:
            for number in range(3):
                shutil.copy(STORM_LIBRARY, Path(folder, f"library{number}.so"))
            self.storm(check, "libraries", folder)

    def test_cancellations(self):
        def check(recorded):
            self.assertEqual(recorded.main.count("thread_end"), 60)
            of_threads = [event for event in recorded.main.events if event.thread != 1]
            came = [event for event in of_threads if event.operation in ("malloc", "realloc")]
            blocks = {event.result for event in came if event.size in (100, 200)}
            self.assertGreater(len(blocks), 60)
            gone = {event.block for event in of_threads if event.frees()}
            self.assertEqual(blocks - gone, set(), "each is freed when its thread is cancelled")

        self.storm(check, "cancellations")


if __name__ == "__main__":
    unittest.main(verbosity=2)
