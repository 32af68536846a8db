"""The workloads as programs: each explains itself, refuses nonsense in one line, and tells the same figures everywhere."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import unittest
from fnmatch import fnmatchcase
from pathlib import Path

sys.path.insert(0, str(Path(os.environ["SNUG_SOURCE"]) / "bench" / "harness"))

from snug_bench.legend import figure_sentence  # noqa: E402
from snug_bench.workload import load_loads  # noqa: E402

WORKLOADS = Path(os.environ["SNUG_BUILD"]) / "bin" / "workloads"
PROGRAMS = sorted(WORKLOADS.iterdir())
SOURCE = Path(os.environ["SNUG_SOURCE"])
LOADS = [load for load in load_loads(SOURCE / "bench" / "loads").values() if "{build}/bin/workloads/" in load.command[0]]
# What these keep alive, the damaging malloc cannot reach: blocks of calloc, of realloc, one at a time, or too few.
OUT_OF_ITS_REACH = {"calloc_large", "growing_realloc", "false_sharing", "large_replace"}
ROUNDS = 20  # at most, of what depends on how the threads take turns
SMALL = ["--rounds", "1", "--scale", "0.002", "--verify", "1"]


def run(program, *arguments, **environment):
    return subprocess.run([program, *arguments], env={**os.environ, "LD_PRELOAD": os.environ["SNUG_LIBRARY"], **environment},
                          capture_output=True, text=True, check=False)


def results(process):
    """The figures of the JSON line, by name."""
    return {row["name"]: row for row in json.loads(process.stdout.splitlines()[-1])["results"]}


class HelpTest(unittest.TestCase):
    def test_every_workload_explains_itself(self):
        self.assertGreater(len(PROGRAMS), 15)
        for program in PROGRAMS:
            with self.subTest(program.name):
                process = run(program, "--help")
                self.assertEqual((process.returncode, process.stderr), (0, ""))
                self.assertTrue(process.stdout.startswith(f"usage: {program.name} "))
                for word in ("Figures: ", "--threads", "--size", "--rounds", "--seed", "--scale", "--verify", "--only"):
                    self.assertIn(word, process.stdout)
                self.assertLessEqual(max(len(line) for line in process.stdout.splitlines()), 120)

    def test_nonsense_is_refused_in_one_line(self):
        for arguments in (["--nosuch", "1"], ["--rounds"], ["--rounds", "0"], ["--rounds", "1.5"], ["--scale", "x"],
                          ["--scale", "0"], [*SMALL, "--only", "nosuch"]):
            process = run(WORKLOADS / "calloc_large", *arguments)
            self.assertEqual((process.returncode, process.stderr.count("\n")), (2, 1), arguments)
            self.assertTrue(process.stderr.startswith("calloc_large: "), process.stderr)


class FiguresTest(unittest.TestCase):
    def test_what_is_printed_is_what_is_written(self):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "figures"
            process = run(WORKLOADS / "swap", *SMALL, SNUG_FIGURES=str(file))
            written = json.loads(file.read_text())
        printed = results(process)
        self.assertEqual(set(printed), {"64", "512"})
        self.assertEqual({name: figure["value"] for name, figure in written.items()},
                         {name: row["value"] for name, row in printed.items()})
        self.assertEqual(written["64"]["unit"], "ns")

    def test_more_a_second_is_better(self):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "figures"
            run(WORKLOADS / "server", *SMALL, SNUG_FIGURES=str(file))
            written = json.loads(file.read_text())
        self.assertEqual({name: figure["better"] for name, figure in written.items()},
                         {"replacements": "higher", "rss": "lower"})

    def test_a_time_is_told_as_a_rate_too(self):
        rows = run(WORKLOADS / "lifetimes", *SMALL, "--only", "10k/64").stdout.splitlines()
        value = json.loads(rows[-1])["results"][0]["value"]
        self.assertRegex(rows[0], r" ns  \([0-9.]+ M/s\)$")
        self.assertAlmostEqual(float(rows[0].split("(")[1].split()[0]), 1e3 / value, delta=0.02 * 1e3 / value)

    def test_only_what_is_wanted_is_measured(self):
        process = run(WORKLOADS / "batches", *SMALL, "--size", "4000", "--only", "lifo/*/1000,random/*/100")
        self.assertEqual(set(results(process)), {"lifo/4000/1000", "random/4000/100"})

    def test_every_workload_is_a_load(self):
        self.assertEqual({program.name for program in PROGRAMS}, {Path(load.command[0]).name for load in LOADS})

    def test_more_threads_than_processors_are_served(self):
        for program in PROGRAMS:
            if "--threads N      has no effect" in run(program, "--help").stdout:
                continue
            with self.subTest(program.name):
                process = run(program, *SMALL, "--threads", "5", "--seed", "7")
                self.assertEqual((process.returncode, process.stderr), (0, ""))
                line = json.loads(process.stdout.splitlines()[-1])
                self.assertEqual((line["threads"], line["seed"]), (5, 7))

    def test_a_damaged_block_is_noticed(self):
        for program in PROGRAMS:
            if program.name in OUT_OF_ITS_REACH:
                continue
            with self.subTest(program.name):
                process = run(program, "--rounds", "1", "--scale", "0.01", "--verify", "1",
                              LD_PRELOAD=os.environ["DAMAGING_LIBRARY"])
                # Said in a line (of each thread that met it), or by a crash where a link between blocks was hit.
                self.assertIn(process.returncode, (1, -signal.SIGSEGV), process.stderr)
                if process.returncode == 1:
                    self.assertRegex(process.stderr, f"^{program.name}: failed: .+\n")

    def test_every_pattern_of_a_load_meets_a_figure(self):
        for load in LOADS:
            with self.subTest(load.name):
                threads = load.threads_among([2])[0]
                program, *arguments = load.command_line(SOURCE, Path(os.environ["SNUG_BUILD"]), threads, 0.002, 1)
                process = run(program, *arguments)
                self.assertEqual((process.returncode, process.stderr), (0, ""))
                found = results(process)
                self.assertTrue(all(row["value"] >= 0 for row in found.values()))
                for pattern in load.figures:
                    self.assertTrue(any(fnmatchcase(name, pattern) for name in found), pattern)
                self.assertEqual([name for name in found if figure_sentence(load.name, name) is None], [])


class BetweenThreadsTest(unittest.TestCase):
    """Memory that goes from one thread to another: which thread frees which blocks, and what counts as the heap's memory."""

    def share_of_remote_frees(self, program, *arguments):
        with tempfile.TemporaryDirectory() as folder:
            account = Path(folder) / "account"
            process = run(WORKLOADS / program, "--rounds", "1", *arguments, LD_PRELOAD=os.environ["ATTRIBUTING_LIBRARY"],
                          ATTRIBUTED=str(account))
            self.assertEqual((process.returncode, process.stderr), (0, ""))
            counts = [[int(word) for word in line.split()] for line in account.read_text().splitlines()]
        own, remote = (sum(column) for column in zip(*counts, strict=True))
        return remote / (own + remote)

    def test_who_frees_whose_blocks(self):
        for program, arguments, least, most in (
                ("owners_asleep", ["--scale", "0.02"], 0.95, 1),
                ("worker_and_main", ["--scale", "0.02"], 0.45, 0.55),
                ("load_then_serve", ["--scale", "0.02"], 0.95, 1),
                ("idle_threads", ["--scale", "0.1"], 0, 0.05),
                ("table_free", ["--scale", "0.05"], 0.95, 1),
                ("xmalloc_like", ["--scale", "0.1", "--threads", "3"], 0.95, 1),
                ("owner_latency", ["--scale", "0.2"], 0.4, 0.55)):
            with self.subTest(program, arguments=arguments):
                share = self.share_of_remote_frees(program, *arguments)
                self.assertTrue(least <= share <= most, share)

    def test_blocks_that_change_hands(self):
        """So many where the threads run side by side. Where one is done before another begins, they are run again."""
        for program, arguments, least, most in (
                # Three in four, if the threads took turns evenly; fewer where each runs for long.
                ("crossing", ["--scale", "0.05", "--threads", "4"], 0.2, 0.8),
                # A quarter: half of the objects go through slots, out of which the other thread has half. The main thread
                # frees what is left in the end.
                ("migrating", ["--scale", "0.2", "--only", "same/*"], 0.15, 0.45),
                ("migrating", ["--scale", "0.2", "--only", "new/*"], 0.3, 0.95)):
            with self.subTest(program, arguments=arguments):
                share = 0.0
                for _ in range(ROUNDS):
                    share = self.share_of_remote_frees(program, *arguments)
                    self.assertLessEqual(share, most)
                    if share >= least:
                        break
                self.assertGreaterEqual(share, least)

    def test_the_programs_own_arrays_are_not_counted(self):
        # An address for each block would add one half of what these take.
        for program, figure, scale, live in (("owners_asleep", "random/filled", "0.2", 4e5 * 16),
                                             ("worker_and_main", "filled", "0.2", 4e5 * 16),
                                             ("load_then_serve", "filled", "0.1", 4e5 * 16),
                                             ("table_free", "highest", "0.01", 6.4e5 * 16)):
            with self.subTest(program):
                process = run(WORKLOADS / program, "--rounds", "1", "--size", "16", "--scale", scale, "--only", figure)
                filled = results(process)[figure]["value"] * 2**20
                self.assertTrue(live <= filled < 1.4 * live, (filled, live))

    def test_trimmed_is_after_malloc_trim(self):
        # glibc keeps what is freed below its heap's top until it is told to trim.
        found = results(run(WORKLOADS / "worker_and_main", "--rounds", "1", "--scale", "0.05", LD_PRELOAD=""))
        self.assertGreater(found["filled"]["value"], 10)
        self.assertLess(found["trimmed"]["value"], 1)


if __name__ == "__main__":
    unittest.main()
