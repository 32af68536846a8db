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

sys.path.insert(0, str(ROOT / "bench"))

from snug_bench.problem import Problem  # noqa: E402
from snug_front_door import chart, figures, measure, page  # noqa: E402
from snug_front_door.sources import Sources  # noqa: E402
from snug_front_door.standing import Standing, standings  # noqa: E402

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
        self.assertEqual([figures.times(each) for each in (1.052, 1.949, 1.96, 9.4, 9.6, 12.6)],
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


class ChartTest(unittest.TestCase):
    def test_every_name_can_be_read(self):
        sources = Sources(ROOT / "docs/results")
        drawn = standings(sources.real, sources.names, "glibc")
        self.assertLess(len(drawn) // 2, len(sources.real), "too few rows have all allocators")
        self.assertEqual(self.overlaps(drawn), [])
        for theme in (chart.LIGHT, chart.DARK):
            words = [each.text for each in ElementTree.fromstring(chart.chart(drawn, 5, theme)).iter() if each.text]
            for name in drawn:
                self.assertTrue(any(word.startswith(name) for word in words), name)

    def test_names_on_top_of_each_other_are_noticed(self):
        same = {f"allocator{n}": Standing(1.0 + n / 1e6, 1.0) for n in range(20)} | {"far": Standing(0.8, 1.5)}
        self.assertNotEqual(self.overlaps(same), [])

    def overlaps(self, drawn):
        boxes = chart.label_boxes(drawn)
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
            os.mkfifo(pipe)
            reading: list[int] = []

            def interrupt():
                reading.append(os.open(pipe, os.O_RDONLY))
                while not is_in_call_of_main_thread("communicate"):  # the call that has started it may not have returned yet
                    time.sleep(0.01)
                signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
            interruption = threading.Thread(target=interrupt)
            interruption.start()
            with self.assertRaises(KeyboardInterrupt):
                measure.output_of(["sh", "-c", f"exec 3>{pipe}; sleep 60 & wait"], ROOT)
            self.assertTrue(select.select(reading, [], [])[0])
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
