"""Where traces come from, and what replays them: the recorder, the generator, record_emacs, s2_traces and s2_drift."""

import gzip
import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

SOURCE, BUILD = Path(os.environ["SNUG_SOURCE"]), Path(os.environ["SNUG_BUILD"])
RECORDER = BUILD / "bin" / "traces" / "liballocation_recorder.so"
HUMMINGBIRD = BUILD / "bin" / "traces" / "hummingbird"
RECORD_EMACS = SOURCE / "bench" / "traces" / "record_emacs"
TRACES, DRIFT = (BUILD / "bin" / "seeds" / name for name in ("s2_traces", "s2_drift"))
SNUG = BUILD / "bin" / "snug"
TRACED = os.environ["TRACED"]
HAS_REPLAY = TRACES.exists()


def run(*command, **environment):
    return subprocess.run([str(word) for word in command], env={**os.environ, **environment}, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=110, check=False)


def figures(process):
    return {row["name"]: row["value"] for row in json.loads(process.stdout.splitlines()[-1])["results"]}


class InFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def trace_of(self, text, name="a.trace"):
        path = self.folder / name
        path.write_text(text)
        return path

    def expect_refused(self, process, status, said):
        self.assertEqual((process.returncode, process.stdout, process.stderr.count("\n")), (status, "", 1), process.stderr)
        self.assertRegex(process.stderr, said)


class RecorderTest(InFolder):
    def record(self, *words, name="t.trace"):
        process = run(TRACED, *words, SNUG_TRACE=str(self.folder / name), LD_PRELOAD=str(RECORDER))
        self.assertEqual((process.returncode, process.stderr), (0, ""))
        return process

    def known(self, text):
        """The events whose sizes are those of traced.c, and the frees of their blocks, keys as letters."""
        letters, events = {}, []
        for line in text.splitlines():
            kind, *fields = line.split("\t")
            keys = fields if kind == "f" else fields[:-1]
            if kind != "f" and re.fullmatch(r"70\d\d\d", fields[-1]):
                letters[keys[-1]] = letters.get(keys[-1], chr(ord("a") + len(letters)))
            if all(key in letters for key in keys):
                events.append((kind, *(fields[-1:] if kind != "f" else [])))
                if kind == "f":
                    del letters[keys[0]]
        return events

    EXPECTED = [("a", "70001"), ("a", "70049"), ("r", "70003"), ("f",), ("a", "70004"), ("f",), ("a", "70005"), ("f",),
                ("a", "70016"), ("f",), ("a", "70007"), ("f",), ("f",)]

    def test_every_call_is_there_in_its_order(self):
        for words in ([], ["_exit"]):
            with self.subTest(words):
                self.record(*words)
                self.assertEqual(self.known((self.folder / "t.trace").read_text()), self.EXPECTED)

    def test_the_snug_command_reads_it(self):
        for words in ([], ["threads"]):
            self.record(*words)
            process = run(SNUG, "classes", "fit", self.folder / "t.trace", "-o", self.folder / "map")
            self.assertEqual(process.returncode, 0, process.stderr)

    def test_children_are_not_recorded_unless_asked_for(self):
        self.record("fork")
        text = (self.folder / "t.trace").read_text()
        self.assertEqual(self.known(text), self.EXPECTED)
        self.assertNotRegex(text, "\t8000[12]\n")
        self.record("fork", name="%p.asked")
        texts = [file.read_text() for file in self.folder.glob("*.asked")]
        self.assertEqual([self.known(each) for each in texts], [self.EXPECTED] * 2)
        self.assertEqual(sum("\t80002\n" in each for each in texts), 1)

    def test_without_a_name_nothing_is_written(self):
        process = run(TRACED, LD_PRELOAD=str(RECORDER))
        self.assertEqual((process.returncode, process.stderr), (0, ""))

    def test_a_file_that_cannot_be_written_is_refused(self):
        for name, why in (("/nonexistent/t", "No such file or directory"), ("/dev/full", "No space left on device")):
            process = run(TRACED, SNUG_TRACE=name, LD_PRELOAD=str(RECORDER))
            self.expect_refused(process, 2, f"^allocation_recorder: cannot write .*: {why}\n$")


class HummingbirdTest(InFolder):
    def test_the_same_options_give_the_same_trace(self):
        small = ["--events", "5000", "--live", "2M", "--table", "100K"]
        one, same, other = (run(HUMMINGBIRD, *small, "--seed", seed) for seed in ("1", "1", "2"))
        self.assertEqual((one.returncode, one.stderr), (0, ""))
        self.assertEqual(one.stdout, same.stdout)
        self.assertNotEqual(one.stdout, other.stdout)
        self.assertTrue(5000 <= one.stdout.count("\n") < 5100)

    def test_it_explains_itself_and_refuses_nonsense(self):
        self.assertTrue(run(HUMMINGBIRD, "--help").stdout.startswith("usage: hummingbird "))
        for words in (["--nosuch", "1"], ["--events"], ["--events", "x"], ["--clusters", "1.5"], ["--clusters", "0.95"]):
            self.expect_refused(run(HUMMINGBIRD, *words), 2, "^hummingbird: ")
        with Path("/dev/full").open("w") as full:
            process = subprocess.run([HUMMINGBIRD], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
        self.assertEqual((process.returncode, process.stderr), (1, "hummingbird: cannot write the trace\n"))


@unittest.skipUnless(shutil.which("emacs"), "no emacs")
class EmacsTest(InFolder):
    def test_a_small_session_is_recorded(self):
        out = self.folder / "new" / "e.trace.gz"
        process = run(RECORD_EMACS, "--files", "2", "--out", out, "--build", BUILD)
        self.assertEqual((process.returncode, process.stderr), (0, ""))
        self.assertRegex(process.stdout, r"e\.trace\.gz: \d{5,} events; \d+ edits, \d+ collections\n$")
        self.assertEqual([file.name for file in out.parent.iterdir()], [out.name])
        with gzip.open(out, "rt") as lines:
            self.assertLessEqual({line[0] for line in lines}, set("afr"))

    def test_what_cannot_be_recorded_is_said(self):
        self.expect_refused(run(RECORD_EMACS, "--build", self.folder), 1, "^record_emacs: no .*: build first")
        self.expect_refused(run(RECORD_EMACS, "--files", "0"), 2, "^record_emacs: --files")


@unittest.skipUnless(HAS_REPLAY, "this build has no s2_traces: x86-64 alone")
class ReplayTest(InFolder):
    TEXT = "# a comment\na\t1\t100\n\na\t2\t40000\nr\t1\t3\t200\nf\t2\na\t2\t0\n"

    def test_a_corrupt_trace_is_refused_with_its_line(self):
        for text, said in (("a\t1\t10\nf\t2\n", r":2: key 2 names no live block"), ("a\t1\t10\na\t1\t10\n", ":2: key 1 names a live"),
                           ("a\t1\t10\nb\t1\n", ":2: 'b' is no event"), ("a\tx\t10\n", ":1: 'x' is no hexadecimal key"),
                           ("a\t1\t-1\n", ":1: '-1' is no size"), ("a\t1\t10\nf\t1", ":2: the line has no end"),
                           ("a\t1\t5000000000\n", ":1: a block of 5000000000 bytes cannot be replayed"), ("", "allocates nothing"),
                           ("f\n", ":1: 1 field ")):
            with self.subTest(text):
                self.expect_refused(run(TRACES, self.trace_of(text)), 2, f"^s2_traces: .*{said}")
        self.expect_refused(run(TRACES, self.trace_of("no gzip", "a.trace.gz")), 2, "gzip cannot unpack it")
        self.expect_refused(run(TRACES, self.folder / "none"), 2, "^s2_traces: cannot read .*: No such file or directory\n$")

    def test_nonsense_is_refused(self):
        trace = self.trace_of(self.TEXT)
        for words in ([], ["--nosuch", trace], [trace, "--rounds"], ["--rounds", "0", trace], ["--scale", "2", trace],
                      ["--pool", "TLSF", trace]):
            self.expect_refused(run(TRACES, *words), 2, "^s2_traces: ")
        self.assertTrue(run(TRACES, "--help").stdout.startswith("usage: s2_traces "))

    def test_figures_of_every_heap(self):
        trace = self.trace_of(self.TEXT)
        packed = self.folder / "a.trace.gz"
        packed.write_bytes(gzip.compress(self.TEXT.encode()))
        for path in (trace, packed):
            found = figures(run(TRACES, "--rounds", "1", path))
            heaps = {name.rpartition("/")[0] for name in found}
            self.assertEqual(len(heaps), 20)
            for heap in heaps:
                self.assertEqual(len([name for name in found if name.rpartition("/")[0] == heap]), 19)
                # The peak of a heap that compacts is the first of two, before or after 100 bytes became 200.
                self.assertIn(found[f"{heap}/requested"], (40100, 40200))
                self.assertEqual(found[f"{heap}/requested_at_end"], 200)
            self.assertGreaterEqual(found["a/TLSF/16/peak"], 40200)
        only = figures(run(TRACES, "--rounds", "1", "--only", "a/cells/peak,*/TLSF/8/end", "--pool", "TLSF/8=1M", trace))
        self.assertEqual(only, {"a/cells/peak": 65536, "a/TLSF/8/end": 1 << 20})
        process = run(TRACES, "--only", "*/TLSF/8/end", "--pool", "TLSF/8=64K", self.trace_of("a\t1\t100000\n"))
        self.expect_refused(process, 1, "out of memory in step 1, a block of 100000 bytes")

    def test_damage_is_found(self):
        lines = [f"a\t{key:x}\t{key % 2000 + 8}\n" for key in range(3000)] + [f"f\t{key:x}\n" for key in range(2500)]
        trace = self.trace_of("".join(lines))
        process = run(TRACES, "--verify", trace)
        self.assertEqual((process.returncode, process.stderr), (0, ""))
        self.assertEqual(process.stdout.count(" bytes compared\n"), 20)
        # Blocks that the reading of the trace has none of.
        trace = self.trace_of("".join(f"a\t{key:x}\t100001\n" for key in range(400)) + "f\t1\n")
        damaged = run(TRACES, "--verify", "--only", "*/malloc/*", trace, LD_PRELOAD=os.environ["DAMAGING_LIBRARY"],
                      DAMAGED_FROM="100001")
        self.expect_refused(damaged, 1, r"^s2_traces: the block of \d+ bytes allocated in step \d+ was damaged when ")


@unittest.skipUnless(HAS_REPLAY, "this build has no s2_traces: x86-64 alone")
class DriftTest(InFolder):
    def test_the_store_grows_its_objects_and_keeps_its_bytes(self):
        for heap in ("compact", "malloc"):
            for order in ("sweep", "chance"):
                with self.subTest(heap=heap, order=order):
                    process = run(DRIFT, "--heap", heap, "--order", order, "--bytes", "4M", "--points", "10")
                    self.assertEqual((process.returncode, process.stderr), (0, ""))
                    told = json.loads(process.stdout.splitlines()[-1])
                    self.assertEqual(len(told["series"]), 11)
                    self.assertTrue(all(4 << 20 <= requested < 4.1 * (1 << 20) for _, requested, *_ in told["series"]))
                    means = [float(row.split()[1]) for row in process.stdout.splitlines()[1:-1]]
                    self.assertTrue(240 < means[0] < 272 and 1200 < means[-1] < 2300, means)
                    self.assertGreater(figures(process)["ratio"], 0.9)

    def test_damage_and_nonsense(self):
        damaged = run(DRIFT, "--heap", "malloc", "--bytes", "4M", LD_PRELOAD=os.environ["DAMAGING_LIBRARY"])
        self.expect_refused(damaged, 1, r"^s2_drift: an object of \d+ bytes was damaged")
        for words in (["--heap", "x"], ["--order", "x"], ["--bytes", "1"], ["--bytes"], ["--nosuch", "1"]):
            self.expect_refused(run(DRIFT, *words), 2, "^s2_drift: ")


if __name__ == "__main__":
    unittest.main()
