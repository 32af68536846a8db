"""What makes README's figures and chart: broken parts are refused, names in the chart can be read, and the kernel's
setting of huge pages is put back whatever happens."""

import json
import os
import select
import signal
import sys
import tempfile
import threading
import time
import unittest
import xml.etree.ElementTree as ElementTree
from itertools import combinations
from pathlib import Path
from unittest import mock

from document import ROOT

sys.path[:0] = [str(ROOT / "bench" / "front_door"), str(ROOT / "bench" / "harness")]

from snug_bench.measurement import Figure, Measurement  # noqa: E402
from snug_bench.noise import Noise  # noqa: E402
from snug_bench.problem import Problem  # noqa: E402
from snug_bench.results import Results  # noqa: E402
from snug_bench.verdict import judge  # noqa: E402
from snug_front_door import chart, figures, measure, page, ranking  # noqa: E402
from snug_front_door.sources import Sources  # noqa: E402

PART = "a\n<!-- why: words -->\nold\n<!-- end of why -->\nb\n"


class PartTest(unittest.TestCase):
    def test_a_part_is_replaced_and_nothing_else(self):
        self.assertEqual(page.fill(PART, "why", "new\n"), PART.replace("old", "new"))

    def test_a_page_without_the_part_is_refused(self):
        for broken in ("a\n", PART + PART, PART.replace("end of why", "end")):
            with self.assertRaises(Problem):
                page.fill(broken, "why", "new\n")

    def test_a_figure_that_is_not_there_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "words"
            file.write_text("- It takes {little} of\n  it.\n- And {much}.\n")
            self.assertEqual(page.sentences(file, {"little": "1 MiB", "much": "9"}), "- It takes 1 MiB of it.\n- And 9.\n")
            with self.assertRaises(Problem):
                page.sentences(file, {"little": "1"})

    def test_a_changed_result_makes_readme_outdated(self):
        sources = Sources(ROOT / "docs/results")
        self.assertEqual(page.outdated(ROOT), [])
        changed = json.loads(json.dumps(sources.door))
        changed["idle"]["allocators"]["snug"]["figures"]["idle"]["median"] += 10
        with mock.patch.object(Sources, "door", changed):
            self.assertEqual(page.outdated(ROOT), ["README.md"])


class FiguresTest(unittest.TestCase):
    def test_ratios_are_as_exact_as_they_can_be(self):
        self.assertEqual([ranking.times(each) for each in (1.052, 1.949, 1.96, 9.4, 9.6, 12.6)],
                         ["1.05", "1.95", "2.0", "9.4", "10", "13"])

    def test_a_bound_holds_whatever_the_unit(self):
        self.assertEqual([figures.number_of(each) for each in (figures.amount(56), figures.amount(2048), "1.37", "none", "")],
                         ["56", "2048", "1.37", "", ""])

    def test_programs_that_grow_are_counted(self):
        def peaks(snug, other):
            return {"programs": {"lua": {"snug": {"median": snug}, "mimalloc2": {"median": other}}},
                    "versions": {"mimalloc2": "2.3.2"}}

        def cell(value):
            return {"allocators": {name: {"figures": {"idle": {"median": value}, "further_thread": {"median": value}}}
                                   for name in ("snug", *figures.PEERS)}}
        door = {"idle": cell(5), "idle_thread": cell(1), "threads_always": cell(50),
                "programs_madvise": peaks(10, 10), "programs_always": peaks(10.9, 11.1)}
        self.assertEqual(figures.of_door(door)["growth"],
                         "Of 1 real programs none grows by a tenth or more, where 1 on mimalloc 2.3.2 do.")
        door["programs_always"] = peaks(11.1, 10)
        self.assertEqual(figures.of_door(door)["growth"], "Of 1 real programs 1 grows by a tenth or more.")


COSTS = {"snug": 10.0, "dear": 13.0, "near": 10.1, "cheap": 8.0, "wide": 10.5, "dear-other": 50.0, "broken": 99.0}


def planted():
    """Each allocator's costs are those above, but `wide`'s, which differ from round to round. `broken` does one row of two."""
    def run(name, round_, row):
        cost = COSTS[name] * (1.3 if name == "wide" and round_ % 2 else 1)
        figures_ = {"wall_seconds": cost, "peak_rss_bytes": cost * 2**20, "last_rss_bytes": cost}
        figures_ |= dict.fromkeys(("user_seconds", "system_seconds", "minor_faults", "major_faults", "voluntary_switches",
                                   "involuntary_switches"), 1.0) | {"instructions": None}
        objection = "crashed" if name == "broken" and row == "b" else ""
        return Measurement(row, 1, name, round_, "id", "exited", objection, figures_, {} if objection else {"op": Figure(cost, "ns")},
                           (), "1", "1 of 1 programs", 0.0)
    loads = [{"name": name, "title": name, "kind": "real", "stresses": "", "resembles": "", "figures": ["*"], "settles": False}
             for name in ("a", "b")]
    allocators = [{"name": name, "title": name, "family": name.split("-")[0], "version": "1+x", "library": "", "environment": {}}
                  for name in COSTS]
    runs = [run(name, round_, row) for name in COSTS for round_ in range(1, 7) for row in ("a", "b")]
    results = Results({"cpus": 2}, {"repetitions": 6, "shrink": 1, "seed": 1}, loads, allocators, [], runs)
    names = {name: each for name, each in ranking.shown_names(allocators).items() if "-" not in name}
    return ranking.Ranking(judge(results), names)


class RankingTest(unittest.TestCase):
    def test_each_stands_where_its_word_puts_it(self):
        found = planted()
        rows = found.verdict.rows
        self.assertEqual({name: found.cell(rows, "time", name) for name in found.names if name != "snug"},
                         {"dear": "1.30", "near": "1.01 =", "cheap": "0.80 !", "wide": "1.21 ?", "broken": "failed"})
        self.assertEqual(found.counts(rows, "time"),
                         "1 takes more time than snug, 1 takes as much, within 3%, 1 takes less and 1 is not to be told from it")
        self.assertEqual(found.largest_losses("time"), "`a` (1.25 times cheap 1's) and `b` (1.25 times cheap 1's)")
        self.assertEqual(found.count("memory"), "2 of 2 rows")

    def test_a_disturbed_grid_has_no_word_of_time(self):
        found = planted()
        found.verdict.noise = Noise(0.5, 0.01)
        self.assertEqual(found.counts(found.verdict.rows, "time"), "4 are not to be told from it and none takes less")
        self.assertIn("1 takes less", found.counts(found.verdict.rows, "memory"))

    def test_names_are_those_that_readers_know(self):
        def of(name, family, version):
            return ranking.shown_names([{"name": name, "family": family, "version": version}])[name]
        self.assertEqual([of("mimalloc2", "mimalloc", "2.3.2"), of("tcmalloc_google", "tcmalloc", "of 2025-06-16"),
                          of("rpmalloc", "rpmalloc", "1.4.3+b097fd0"), of("snug", "snug", "0.1.0")],
                         ["mimalloc 2.3.2", "Google's tcmalloc", "rpmalloc 1.4.3", "snug"])


class ChartTest(unittest.TestCase):
    def test_every_name_can_be_read(self):
        sources = Sources(ROOT / "docs/results")
        drawn, names = page.standings(sources), sources.ranking.names
        self.assertLess(len(drawn) // 2, len(sources.real), "too few rows have all allocators")
        self.assertEqual(self.overlaps(drawn, names), [])
        for theme in (chart.LIGHT, chart.DARK):
            svg = chart.chart(drawn, names, 5, "a machine", theme)
            words = [each.text for each in ElementTree.fromstring(svg).iter() if each.text]
            self.assertIn("a machine", words)
            for name in drawn:
                self.assertTrue(any(word.startswith(names[name]) for word in words), name)

    def test_names_on_top_of_each_other_are_noticed(self):
        def at(time, memory):
            return chart.Standing(time, memory, (time, time), (memory, memory))
        same = {f"allocator{n}": at(1.0 + n / 1e6, 1.0) for n in range(20)} | {"far": at(0.8, 1.5)}
        self.assertNotEqual(self.overlaps(same, {name: name for name in same}), [])

    def overlaps(self, drawn, names):
        boxes = chart.label_boxes(drawn, names)
        return [(a, b) for a, b in combinations(boxes, 2) if boxes[a].overlap(boxes[b]) > 4]


def is_in_call_of_main_thread(name):
    frame = sys._current_frames()[threading.main_thread().ident]
    while frame is not None and frame.f_code.co_name != name:
        frame = frame.f_back
    return frame is not None


class CommandTest(unittest.TestCase):
    def test_what_it_prints_is_kept(self):
        self.assertEqual(measure.output_of(["sh", "-c", "echo $COLUMNS; pwd"], Path("/"), COLUMNS="80"), "80\n/\n")

    def test_a_failure_is_said(self):
        with self.assertRaises(Problem) as raised:
            measure.output_of(["false"], ROOT)
        self.assertEqual(str(raised.exception), "exit status 1 of false")

    def test_an_interruption_ends_what_it_has_started(self):
        with tempfile.TemporaryDirectory() as folder:
            pipe = Path(folder) / "pipe"  # opens with its writer, and ends once nobody is left that could write to it
            held = Path(folder) / "held"  # what is started waits at it, and does not outlive the test
            os.mkfifo(pipe)
            os.mkfifo(held)
            self.addCleanup(os.close, os.open(held, os.O_RDWR))
            reading: list[int] = []

            def interrupt():
                reading.append(os.open(pipe, os.O_RDONLY))
                while not is_in_call_of_main_thread("communicate"):  # the call that has started it may not have returned yet
                    time.sleep(0.01)
                signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
            interruption = threading.Thread(target=interrupt)
            interruption.start()
            with self.assertRaises(KeyboardInterrupt):
                measure.output_of(["sh", "-c", f"exec 3>{pipe}; cat {held} & wait"], ROOT)
            self.assertTrue(select.select(reading, [], [], 600)[0])  # only a hang lasts so long
            os.close(reading[0])


class HugePagesTest(unittest.TestCase):
    def test_the_setting_is_put_back(self):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "enabled"
            file.write_text("always [madvise] never\n")
            with mock.patch.object(measure, "HUGE_PAGES", file):
                with self.assertRaises(KeyboardInterrupt), measure.huge_pages("always"):
                    self.assertEqual(file.read_text(), "always")
                    raise KeyboardInterrupt
                self.assertEqual(file.read_text(), "madvise")

    def test_what_may_not_be_set_is_said(self):
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(measure, "HUGE_PAGES", Path(folder) / "none"):
            with self.assertRaises(Problem), measure.huge_pages("always"):
                pass


if __name__ == "__main__":
    unittest.main()
