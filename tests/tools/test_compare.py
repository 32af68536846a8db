"""snug run --compare: planted faults are seen, failures are never dropped, nothing unproven counts."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from tool_under_test import (ALLOCATING, BYSTANDER, LIBRARY, PLANTED_HOG, PLANTED_NONE, PLANTED_POSER, PLANTED_SLOW, SHELL, TOOL,
                             clean_environment, compare, contender, snug, wait_for)

MEBIBYTE = 1 << 20


class FiguresTest(unittest.TestCase):
    def test_a_slow_allocator_is_seen_as_slow(self):
        process, result = compare(f"glibc,{PLANTED_SLOW}", "-n", "3", "--", ALLOCATING, "40000")
        self.assertEqual(process.returncode, 0, process.stderr + process.stdout)
        slow = contender(result, PLANTED_SLOW)["summary"]["wall_seconds"]
        self.assertGreater(slow["median"], 0.2)  # 40,000 calls of 5 microseconds
        self.assertGreater(slow["against_snug"]["ratio"], 2)
        self.assertNotIn(slow["word"], ("better", "equal"))
        self.assertRegex(process.stdout, r"\d×")

    def test_a_wasteful_allocator_is_seen_as_large(self):
        process, result = compare(f"glibc,{PLANTED_HOG}", "-n", "6", "--", ALLOCATING, "20000")
        self.assertEqual(process.returncode, 0, process.stderr + process.stdout)
        hog = contender(result, PLANTED_HOG)["summary"]["peak_rss_bytes"]
        self.assertGreater(hog["median"], 78 * MEBIBYTE)  # 20,000 times 4 KiB
        self.assertLess(contender(result, "glibc")["summary"]["peak_rss_bytes"]["median"], 8 * MEBIBYTE)
        self.assertEqual((hog["word"], hog["against_snug"]["word"]), ("worse", "worse"))
        self.assertRegex(" ".join(process.stdout.split()), r"(Verdict: |apart from time, )snug is (better|equal|worse|unclear) in \d")

    def test_peak_rss_has_nothing_of_the_tools_own(self):
        _, result = compare("glibc", "-n", "3", "--", "/bin/true")
        self.assertLess(contender(result, "glibc")["summary"]["peak_rss_bytes"]["median"], 2.5 * MEBIBYTE)

    def test_the_interval_is_one_of_order_statistics(self):
        for rounds, outside, name in ((5, 0, "min to max"), (6, 0, "95% interval of the median"),
                                      (9, 1, "95% interval of the median")):
            _, result = compare("glibc", "-n", str(rounds), "--", ALLOCATING, "100")
            glibc = contender(result, "glibc")
            walls = sorted(run["wall_seconds"] for run in glibc["runs"])
            summary = glibc["summary"]["wall_seconds"]
            self.assertEqual(summary["range"], name)
            self.assertEqual((summary["low"], summary["high"]), (walls[outside], walls[-1 - outside]))
            self.assertAlmostEqual(summary["median"], (walls[rounds // 2] + walls[(rounds - 1) // 2]) / 2)

    def test_one_round_proves_neither_a_difference_nor_a_tie(self):
        process, result = compare(PLANTED_SLOW, "-n", "1", "--", ALLOCATING, "40000")
        slow = contender(result, PLANTED_SLOW)["summary"]["wall_seconds"]
        self.assertIn((slow["word"], slow["against_snug"]["word"]), (("unclear", "unclear"), (None, None)))  # None: others ran
        self.assertIsNone(slow["against_snug"]["low"])
        self.assertNotIn("*", process.stdout.split("Medians;")[0])
        self.assertEqual(result["noise"]["half_width"], None)

    def test_the_machines_other_load_is_measured(self):
        _, result = compare(PLANTED_SLOW, "-n", "6", "--", ALLOCATING, "40000")  # over a second
        self.assertTrue(0 <= result["noise"]["others_share"] <= 1, result["noise"])

    def test_the_table_is_as_wide_as_asked_for(self):
        for columns in (80, 100):
            process, _ = compare("glibc,jemalloc,mimalloc-nothp,glibc-nothp,jemalloc-nothp", "-n", "1", "--", ALLOCATING, "10",
                                 COLUMNS=str(columns))
            self.assertLessEqual(max(map(len, process.stdout.splitlines())), columns)

    def test_figures_of_the_program_become_rows(self):
        program = '''echo '{"load": {"value": 1234.5, "unit": "op/s", "better": "higher"}}' > $SNUG_FIGURES; ls >/dev/null'''
        process, result = compare("glibc", "-n", "2", "--", SHELL, "-c", program)
        self.assertEqual(process.returncode, 0, process.stderr + process.stdout)
        figure = contender(result, "snug")["figures"]["load"]
        self.assertEqual((figure["median"], figure["unit"], figure["better"]), (1234.5, "op/s", "higher"))
        self.assertIn("load", process.stdout)


class OrderTest(unittest.TestCase):
    def test_rounds_are_interleaved_and_the_seed_decides_their_order(self):
        def order(seed):
            process, result = compare("glibc,jemalloc", "-n", "6", "--seed", seed, "--warmup", "0", "--", ALLOCATING, "10")
            self.assertEqual(process.returncode, 0, process.stderr)
            places = {a["name"]: [run["position"] for run in a["runs"]] for a in result["allocators"]}
            for positions in zip(*places.values()):
                self.assertEqual(sorted(positions), [1, 2, 3])
            return places

        self.assertEqual(order("1"), order("1"))
        self.assertNotEqual(order("1"), order("2"))

    def test_progress_is_a_line_per_run_without_a_terminal(self):
        process, _ = compare("glibc", "-n", "2", "--", ALLOCATING, "10")
        lines = process.stderr.splitlines()
        self.assertEqual(len(lines), 6, process.stderr)
        self.assertRegex(lines[-1], r"^snug: run 6/6: round 2, \w+: \d+\.\d+ s \(about 0 s left\)$")


    def test_each_stands_before_each_other_as_often_as_behind_it(self):
        _, result = compare("glibc,jemalloc", "-n", "6", "--", ALLOCATING, "10")
        snug, glibc, jemalloc = ([run["position"] for run in one["runs"]] for one in result["allocators"])
        for one, other in ((snug, glibc), (snug, jemalloc), (glibc, jemalloc)):
            for first in (0, 2, 4):
                self.assertNotEqual(one[first] < other[first], one[first + 1] < other[first + 1])


class ProofTest(unittest.TestCase):
    def test_snug_proves_what_it_served(self):
        process, result = compare("glibc", "-n", "2", "--min-served", "5000", "--", ALLOCATING, "5000")
        self.assertEqual(process.returncode, 0, process.stdout)
        for run in contender(result, "snug")["runs"]:
            self.assertGreaterEqual(run["served"]["allocations"], 5000)
            self.assertEqual(run["served"]["processes"], 1)
        self.assertRegex(process.stdout, r"served [0-9.]+ ?[kM]? allocations in 1 process")

    def test_a_run_below_the_minimum_counts_as_not_run(self):
        process, result = compare("glibc", "-n", "2", "--min-served", "1000000", "--", ALLOCATING, "5000")
        self.assertEqual(process.returncode, 1)
        self.assertEqual(contender(result, "snug")["counted_runs"], 0)
        self.assertEqual(contender(result, "glibc")["counted_runs"], 2)
        self.assertIn("not run on snug", process.stdout)

    def test_a_library_that_reports_nothing_is_not_taken_for_snug(self):
        process, result = compare("glibc", "-n", "1", "--", ALLOCATING, "5000", library=PLANTED_POSER)
        self.assertEqual(process.returncode, 1)
        self.assertIn("it proved 0 allocations", contender(result, "snug")["failure"])
        self.assertIn("its library does not know the setting 'served'", contender(result, "snug")["failure"])

    def test_libc_may_be_named_by_its_path(self):
        libc = next(line.split()[-1] for line in Path("/proc/self/maps").read_text().splitlines() if "/libc.so" in line)
        process, result = compare(libc, "-n", "1", "--", ALLOCATING, "5000")
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertEqual(contender(result, libc)["counted_runs"], 1)

    def test_a_library_without_malloc_is_not_tried(self):
        process, result = compare(f"glibc,{BYSTANDER}", "-n", "1", "--", ALLOCATING, "5000")
        self.assertEqual(process.returncode, 1)
        self.assertIn("leaves malloc to", contender(result, BYSTANDER)["failure"])
        self.assertEqual(contender(result, BYSTANDER)["runs"], [])
        self.assertEqual(contender(result, "glibc")["counted_runs"], 1)

    def test_an_allocator_the_program_shakes_off_counts_as_not_run(self):
        process, result = compare(PLANTED_NONE, "-n", "1", "--", "/usr/bin/env", "-u", "LD_PRELOAD", ALLOCATING, "10")
        self.assertEqual(process.returncode, 1)
        self.assertIn("malloc bound to it in 1 of 2 programs, in others to", contender(result, PLANTED_NONE)["failure"])
        self.assertIn("it proved 0 allocations", contender(result, "snug")["failure"])

    def test_malloc_is_traced_to_the_peers_library(self):
        _, result = compare(f"glibc,jemalloc,{PLANTED_NONE}", "-n", "1", "--", SHELL, "-c", f"{ALLOCATING} 10; exit 0")
        for name in ("glibc", "jemalloc", PLANTED_NONE):
            bindings = contender(result, name)["malloc_bindings"]
            self.assertEqual((bindings["programs"], bindings["bound"], bindings["other"]), (2, 2, ""), name)

    def test_a_malloc_called_through_the_programs_own_linkage_table_is_traced_too(self):
        _, result = compare("glibc,jemalloc", "-n", "1", "--", sys.executable, "-c", "print(1)")
        for name in ("glibc", "jemalloc"):
            self.assertEqual(contender(result, name)["counted_runs"], 1, contender(result, name)["failure"])


class FailureTest(unittest.TestCase):
    def test_a_program_that_fails_everywhere_is_given_up_after_one_round(self):
        program = (SHELL, "-c", "echo its name >&2; echo its last words >&2; exit 3")
        process, result = compare("glibc", "-n", "2", "--", *program)
        self.assertEqual(process.returncode, 1)
        self.assertIn("1 of 1 runs do not count: exit status 3: its last words", " ".join(process.stdout.split()))
        self.assertEqual(contender(result, "glibc")["runs"], [])
        self.assertIn("given up after one round: the program fails on every allocator\n  its name\n  its last words\n",
                      process.stderr)
        _, result = compare("glibc", "-n", "2", "--warmup", "0", "--", *program)
        self.assertEqual(len(contender(result, "glibc")["runs"]), 1)

    def test_a_program_that_fails_later_is_a_row(self):
        with tempfile.TemporaryDirectory() as folder:
            # Succeeds as often as it can make a folder: twice.
            program = f'mkdir {folder}/1 2>/dev/null || mkdir {folder}/2 2>/dev/null || exit 3; {ALLOCATING} 10'
            process, result = compare("glibc", "-n", "2", "--", SHELL, "-c", program)
        self.assertEqual(process.returncode, 1)
        self.assertEqual(len(contender(result, "glibc")["runs"]), 2)
        self.assertIn("2 of 3 runs do not count: exit status 3", " ".join(process.stdout.split()))

    def test_a_failure_on_one_allocator_leaves_the_others(self):
        program = f'case $LD_PRELOAD in *jemalloc*) kill -SEGV $$;; esac; {ALLOCATING} 10'
        process, result = compare("glibc,jemalloc", "-n", "2", "--", SHELL, "-c", program)
        self.assertEqual(process.returncode, 1)
        self.assertIn("killed by SIGSEGV", contender(result, "jemalloc")["failure"])
        self.assertEqual(contender(result, "glibc")["counted_runs"], 2)
        self.assertFalse(result["clean"])

    def test_a_run_over_time_is_killed_with_all_it_started(self):
        process, result = compare("glibc", "-n", "1", "--warmup", "0", "--timeout", "0.5", "--", SHELL, "-c",
                                  "sleep 3661.75 & sleep 3661.75")
        self.assertEqual(process.returncode, 1)
        self.assertIn("stopped at the time limit", contender(result, "glibc")["failure"])
        await_end_of("sleep\x003661.75")

    def test_different_output_is_a_failure(self):
        process, result = compare("glibc", "-n", "1", "--check-output", "--", SHELL, "-c", f"echo $LD_PRELOAD; {ALLOCATING} 9")
        self.assertEqual(process.returncode, 1)
        self.assertIn("output differs", result["output_difference"])
        self.assertIn("FAILED: output differs", process.stdout)
        process, result = compare("glibc", "-n", "1", "--check-output", "--", ALLOCATING, "9")
        self.assertEqual((process.returncode, result["output_difference"]), (0, ""))

    def test_no_program_is_127(self):
        process, _ = compare("glibc", "--", "no-such-program-of-snug")
        self.assertEqual(process.returncode, 127)

    def test_ctrl_c_ends_the_program_and_shows_what_there_is(self):
        # Three runs are over at once, the fourth would last.
        program = f'{ALLOCATING} 10; for i in 1 2 3; do mkdir "$FOLDER/$i" 2>/dev/null && exit; done; sleep 3631.73'
        command = [TOOL, "run", "--library", LIBRARY, "--compare", "glibc", "--warmup", "0", "-n", "50", "--",
                   SHELL, "-c", program]
        with tempfile.TemporaryDirectory() as folder, \
                subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                 env=clean_environment(FOLDER=folder)) as process:
            try:
                wait_for(lambda: processes_running("sleep\x003631.73"), "the fourth run")
            except BaseException:
                process.terminate()
                raise
            process.send_signal(signal.SIGINT)
            output, errors = process.communicate()
        self.assertEqual(process.returncode, 130)
        self.assertIn("INTERRUPTED", output)
        self.assertRegex(output, r"served \d+ allocations in \d processes")
        self.assertIn("interrupted", errors)
        await_end_of("sleep\x003631.73")


class NamesTest(unittest.TestCase):
    def test_an_unknown_allocator_is_one_line_with_the_known_ones(self):
        process = snug("run", "--library", LIBRARY, "--compare", "nosuchmalloc", "--", "ls")
        self.assertEqual((process.returncode, process.stderr.count("\n")), (2, 1))
        for name in ("nosuchmalloc", "glibc", "jemalloc", "mimalloc", "mimalloc3", "snmalloc", "tcmalloc", "tbbmalloc"):
            self.assertIn(name, process.stderr)

    def test_a_known_one_that_is_not_installed_names_its_package(self):
        packages = {"tcmalloc": "libtcmalloc-minimal4", "tbbmalloc": "libtbbmalloc2", "jemalloc": "libjemalloc2",
                    "mimalloc": "libmimalloc2.0"}
        for name, package in packages.items():
            process = snug("run", "--library", LIBRARY, "--compare", name, "-n", "1", "--warmup", "0", "--", ALLOCATING)
            if process.returncode != 0:
                self.assertIn(f"apt-get install {package}", process.stderr)

    def test_one_that_is_not_built_names_the_command_that_builds_it(self):
        for name, file in (("mimalloc3", "libmimalloc3.so"), ("snmalloc", "libsnmalloc.so")):
            with tempfile.TemporaryDirectory() as folder:
                process = snug("run", "--library", LIBRARY, "--compare", name, "--", ALLOCATING, SNUG_PEERS=folder)
            self.assertEqual((process.returncode, process.stderr.count("\n")), (2, 1))
            self.assertIn(f"no {file} in {folder}", process.stderr)
            self.assertIn(f"bench/harness/allocators/fetch {name}", process.stderr)

    def test_an_installed_tool_names_no_script_of_the_source_tree(self):
        with tempfile.TemporaryDirectory() as folder:
            tool = Path(folder) / "usr" / "bin" / "snug"
            tool.parent.mkdir(parents=True)
            shutil.copy(TOOL, tool)
            for arguments in (("run", "--library", LIBRARY, "--compare", "mimalloc3", "ls"), ("run", "ls")):
                process = subprocess.run([tool, *arguments], env=clean_environment(), stdout=subprocess.PIPE,
                                         stderr=subprocess.PIPE, text=True, check=False)
                self.assertEqual((process.returncode, process.stderr.count("\n")), (2, 1))
                self.assertNotRegex(process.stderr, "bench/|scripts/|make ")

    def test_no_name_stands_twice(self):
        process = snug("run", "--library", LIBRARY, "--compare", "glibc,jemalloc,glibc", ALLOCATING)
        self.assertEqual((process.returncode, process.stderr), (2, "snug: --compare: 'glibc' stands there twice\n"))
        process = snug("run", "--library", LIBRARY, "--compare", f"glibc,glibc={LIBRARY}", ALLOCATING)
        self.assertEqual((process.returncode, process.stderr), (2, "snug: --compare: 'glibc' stands there twice\n"))

    def test_a_library_is_called_what_the_user_says(self):
        process = snug("run", "--library", LIBRARY, "--compare", f"other={LIBRARY}", "-n1", "--warmup=0", "--json", "--", ALLOCATING)
        result = json.loads(process.stdout)
        self.assertEqual([one["name"] for one in result["allocators"]], ["snug", "other"])
        for name, words in ((f"={LIBRARY}", "names no allocator before the '='"), ("other=nothing", "no allocator 'nothing'")):
            process = snug("run", "--library", LIBRARY, "--compare", name, ALLOCATING)
            self.assertEqual((process.returncode, process.stderr.count("\n")), (2, 1), process.stderr)
            self.assertIn(words, process.stderr)

    def test_a_library_that_is_called_like_snug_is_not_taken_for_it(self):
        libc = next(line.split()[-1] for line in Path("/proc/self/maps").read_text().splitlines() if "libc.so.6" in line)
        process = snug("run", "--library", LIBRARY, "--compare", f"snug-nothp={libc}", "-n1", "--warmup=0", "--json", "--", ALLOCATING)
        self.assertEqual(process.returncode, 0, process.stderr)
        for one, serves in zip(json.loads(process.stdout)["allocators"], (True, False), strict=True):
            self.assertEqual(["served" in run for run in one["runs"]], [serves])

    def test_help_names_the_allocators_and_files_without_a_grammar(self):
        text = snug("run", "--help").stdout
        for name in ("glibc", "jemalloc", "mimalloc", "tcmalloc", "snmalloc", "rpmalloc"):
            self.assertIn(name, text.split("--compare", 1)[1].split("With --compare", 1)[0])
        self.assertNotIn("{", text.split("Examples:", 1)[0])
        process = snug("run", "--library", LIBRARY, "--compare", "glibc", "--input", "/no/such", ALLOCATING)
        self.assertEqual((process.returncode, process.stderr.count("\n")), (2, 1))
        self.assertIn("cannot read '/no/such'", process.stderr)

    def test_a_built_one_is_found_in_the_peers_folder_with_the_version_written_beside_it(self):
        with tempfile.TemporaryDirectory() as folder:
            library = Path(folder).resolve() / "libsnmalloc.so"
            shutil.copy(PLANTED_NONE, library)
            library.with_suffix(".txt").write_text("version: 9.8.7\nsource: a test\n")
            process, result = compare("snmalloc", "-n", "1", "--", ALLOCATING, "100", SNUG_PEERS=folder)
        self.assertEqual(process.returncode, 0, process.stderr + process.stdout)
        peer = contender(result, "snmalloc")
        self.assertEqual((peer["version"], peer["library"]), ("9.8.7", str(library)))

    def test_mimallocs_version_is_read_in_both_its_notations(self):
        for name, major in (("mimalloc", "[23]"), ("mimalloc3", "3")):
            process, result = compare(name, "-n", "1", "--", ALLOCATING, "100")
            if result is None and "is not here" in process.stderr:
                continue  # of a crate, and not built here
            self.assertRegex(contender(result, name)["version"], rf"^{major}\.\d+\.\d+$")

    def test_nothp_runs_without_huge_pages(self):
        process, result = compare("mimalloc-nothp", "-n", "1", "--show-output", "--", "grep", "THP_enabled",
                                  "/proc/self/status")
        self.assertIn("THP_enabled:\t0", process.stdout)
        self.assertIn("THP_enabled:\t1", process.stdout)
        self.assertEqual(contender(result, "mimalloc-nothp")["huge_pages"], "refused")


class JsonTest(unittest.TestCase):
    def test_the_schema(self):
        _, result = compare("glibc", "-n", "2", "--check-output", "--", ALLOCATING, "10")
        self.assertEqual(result["schema"], "snug.comparison/2")
        self.assertEqual((result["program"], result["rounds"], result["clean"]), ([ALLOCATING, "10"], 2, True))
        self.assertEqual(set(result["host"]), {"cpu", "cpus_online", "memory_bytes", "kernel", "transparent_huge_pages",
                                               "libc", "load_average", "date"})
        for allocator in result["allocators"]:
            self.assertTrue(os.path.isabs(allocator["library"]))
            self.assertTrue(allocator["version"])
            self.assertEqual((len(allocator["warmup_runs"]), len(allocator["runs"])), (1, 2))
            for run in allocator["runs"]:
                self.assertTrue({"round", "position", "counts", "objection", "ending", "code", "wall_seconds",
                                 "user_seconds", "system_seconds", "peak_rss_bytes", "minor_faults", "major_faults",
                                 "output"} <= set(run), run)
            self.assertTrue({"median", "min", "max", "low", "high", "n", "range", "against_snug", "word"}
                            <= set(allocator["summary"]["wall_seconds"]))
        self.assertEqual(set(result["allocators"][1]["summary"]["wall_seconds"]["against_snug"]),
                         {"ratio", "rounds", "low", "high", "range", "word"})
        self.assertEqual(set(result["noise"]), {"others_share", "half_width", "too_noisy", "reasons"})

    def test_json_without_a_file_goes_to_standard_output_alone(self):
        process = snug("run", "--library", LIBRARY, "--compare", "glibc", "-n", "1", "--json", "--", ALLOCATING, "10")
        self.assertEqual(json.loads(process.stdout)["schema"], "snug.comparison/2")
        self.assertIn("Who served the program", process.stderr)


def await_end_of(command_line):
    """A killed process is there for a moment longer."""
    wait_for(lambda: not processes_running(command_line), f"the end of {command_line!r}")


def processes_running(command_line):
    for process in os.listdir("/proc"):
        if not process.isdigit():
            continue
        try:
            with open(f"/proc/{process}/cmdline", encoding="utf-8") as file:
                if file.read().startswith(command_line):
                    return True
        except (OSError, UnicodeDecodeError):
            continue  # gone meanwhile, or not ours to read
    return False


if __name__ == "__main__":
    unittest.main()
