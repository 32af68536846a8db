"""A recording of 10⁸ events, with the stacks of four threads: `snug report` reads it in bounded memory, and its page has no more points
than one of a short recording has, so that it opens as soon. No second is judged; they are printed.

    test_many_events.py [PAIRS OF MALLOC AND FREE]
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

from page_under_test import PageCase, chromium, main
from test_page import EMPTY_VIEWS, SCHEMES, VIEWS, WIDTHS

TOOL = os.environ["SNUG_TOOL"]
PROGRAM = os.environ["MANY_EVENTS"]
PAIRS = 50_000_000
STACKS = 512  # of many_events.cpp
MIB = 1 << 20
MOST_OF_PAGE = 8 * MIB
MOST_OF_REPORT = 256 * MIB  # in memory: of 100,000 live blocks and the sums by slice, whatever the events


def run(*words):
    """Runs the tool; returns its peak RSS."""
    begin = time.monotonic()
    process = subprocess.Popen([TOOL, *words], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, (words, process.returncode)
    print(f"snug {words[0]}: {time.monotonic() - begin:.0f} s, {usage.ru_utime + usage.ru_stime:.0f} s of processors, at most "
          f"{usage.ru_maxrss / 1024:.0f} MiB resident", file=sys.stderr)
    return usage.ru_maxrss * 1024


class ManyEventsTest(PageCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        trace, cls.page = pathlib.Path(folder.name, "many.trace"), pathlib.Path(folder.name, "many.html")
        run("record", "--stacks", "-o", trace, "--", PROGRAM, str(PAIRS))
        cls.resident = run("report", trace, "--no-replay", "-o", cls.page)
        print(f"{trace.stat().st_size / MIB:.0f} MiB of trace, {cls.page.stat().st_size / MIB:.1f} MiB of page", file=sys.stderr)
        [data] = re.findall(r'<script type="application/json" id="snug-data">(.*?)</script>', cls.page.read_text(encoding="utf-8"))
        cls.data = json.loads(data)

    def test_each_event_is_in_the_sums(self):
        totals = self.data["totals"]
        self.assertGreaterEqual(totals["allocated_blocks"], PAIRS)
        self.assertLess(totals["allocated_blocks"], PAIRS + 1000)
        self.assertGreaterEqual(self.data["trace"]["events"], 2 * totals["allocated_blocks"] - totals["live_at_end_blocks"])
        by_stack = [sum(flat[2::7]) for flat in self.data["series"]]
        self.assertEqual(sum(by_stack), totals["allocated_blocks"])
        self.assertGreaterEqual(sum(blocks > 0 for blocks in by_stack), STACKS)

    def test_memory_page_and_points_are_bounded(self):
        self.assertLess(self.resident, MOST_OF_REPORT)
        self.assertLess(self.page.stat().st_size, MOST_OF_PAGE)
        slices = len(self.data["slices"]["end_ns"])
        self.assertTrue(128 <= slices <= 256, slices)
        self.assertTrue(20 <= len(self.data["samples"]["ns"]) <= 2000, len(self.data["samples"]["ns"]))
        self.assertLessEqual(len(self.data["nodes"]["name"]), 4 * STACKS)
        self.assertLessEqual(max(map(len, self.data["series"])), 7 * slices)
        self.assertLessEqual(len(self.data["sizes"]), 200)

    def test_it_is_drawn_at_each_width_in_both_schemes(self):
        for width in WIDTHS:
            for scheme in SCHEMES:
                with self.subTest(width=width, scheme=scheme):
                    ready = chromium.open(self.page, width=width, scheme=scheme)
                    print(f"{width} px, {scheme}: ready after {ready} ms", file=sys.stderr)
                    chromium.settle()
                    self.assertEqual(chromium.errors, [])
                    self.assertEqual(chromium.evaluate(EMPTY_VIEWS), [])
                    wide, room = chromium.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
                    self.assertLessEqual(wide, room)
                    drawn = chromium.evaluate("[...document.querySelectorAll('.view[data-drawn]')].map((view) => view.id)")
                    self.assertEqual([view for view in drawn if view != "against"], VIEWS)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        PAIRS = int(sys.argv.pop())
    main()
