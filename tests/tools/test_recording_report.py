"""snug report: what it says of made-up traces of known figures, of limits, and of what it cannot read or write."""

import collections
import json
import os
import random
import subprocess
import unittest
from pathlib import Path

from report_files import Files
from tool_under_test import TOOL, snug

PLANTED = os.environ["REPORT_PLANTED"]


class KnownFigures(Files):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.trace = cls.imported("lines.trace")
        cls.data = cls.data_of(cls.trace)

    def test_totals(self):
        totals = self.data["totals"]
        # The block before a reallocation and the one behind it do not live together: it is one event.
        self.assertEqual(totals["allocated_bytes"], 1000 + 1000 + 100 + 4360 + 3000 + 50)
        self.assertEqual((totals["allocated_blocks"], totals["temporary_blocks"]), (6, 3))
        self.assertEqual((totals["peak_bytes"], totals["peak_blocks"]), (3000 + 4360, 2))
        self.assertEqual((totals["live_at_end_bytes"], totals["live_at_end_blocks"]), (3050, 2))
        self.assertEqual(totals["copied_bytes"], 1000)
        self.assertEqual(totals["peak_rounded_bytes"], 3072 + 4608)

    def test_each_view_adds_up_to_the_totals(self):
        totals = self.data["totals"]
        series = self.data["series"]
        entries = [flat[at:at + 7] for flat in series for at in range(0, len(flat), 7)]
        self.assertEqual(sum(entry[1] for entry in entries), totals["allocated_bytes"])
        self.assertEqual(sum(entry[1] - entry[3] for entry in entries), totals["live_at_end_bytes"])
        self.assertEqual(sum(entry[6] for entry in entries), totals["temporary_blocks"])
        self.assertEqual(sum(self.data["at_peak"]["bytes"]), totals["peak_bytes"])
        self.assertEqual(max(self.data["slices"]["most_live_bytes"]), totals["peak_bytes"])
        self.assertEqual(sum(self.data["slices"]["allocated_blocks"]), totals["allocated_blocks"])
        cells = self.data["lifetimes"]["cells"]
        self.assertEqual(sum(cells[3::5]), totals["allocated_blocks"])
        self.assertEqual(sum(self.data["threads"]["allocated_bytes"]), totals["allocated_bytes"])

    def test_sizes_of_each_slice_add_up_to_it(self):
        slices, sizes = self.data["slices"], self.data["sizes"]
        entries = [(row["size"], *row["series"][at:at + 4]) for row in sizes for at in range(0, len(row["series"]), 4)]
        self.assertGreater(len({entry[1] for entry in entries}), 3)
        live = 0
        for slice_ in range(len(slices["end_ns"])):
            of_slice = [entry for entry in entries if entry[1] == slice_]
            self.assertEqual(sum(size * came for size, _, came, _, _ in of_slice), slices["allocated_bytes"][slice_])
            self.assertEqual(sum(size * freed for size, _, _, freed, _ in of_slice), slices["freed_bytes"][slice_])
            live += sum(came - freed for _, _, came, freed, _ in of_slice)
            self.assertEqual(live, slices["live_blocks"][slice_])

    def test_without_stacks_no_function_is_named_and_the_way_to_them_is(self):
        process = snug("report", self.trace)
        self.assertIn("snug record --stacks", process.stdout)
        self.assertNotIn("[unknown stack]", process.stdout)

    def test_every_limit_can_be_asked(self):
        for limit, status in (("peak<=7360", 0), ("peak<7360", 1), ("leaked>3049", 0), ("leaked_blocks<=2", 0), ("copied>=1000", 0),
                              ("allocations<7", 0), ("allocated<1K", 1), ("temporary<4", 0), ("rounding<1", 1), ("resident<1G", 1),
                              ("peak_blocks<=2, peak<1M", 0)):
            with self.subTest(limit):
                self.assertEqual(snug("report", self.trace, "--check", limit).returncode, status)

    def test_what_is_no_limit_is_refused_in_a_line_that_says_why(self):
        for limit in ("", "peak", "peak<", "peak<1X", "peak<-1", "paek<1M", "<1M", "peak=1M", "peak<1M,,leaked<1M", "peak<99999999999999999999"):
            with self.subTest(limit):
                process = snug("report", self.trace, "--check", limit)
                self.assertEqual((process.returncode, len(process.stderr.splitlines())), (2, 1), process.stderr)


    def test_blocks_from_before_the_recording_are_not_allocated(self):
        # A part of a trace finds the blocks that lived at its begin.
        part = self.path("part.trace")
        process = snug("trace", "cut", self.trace, "--from", "0.00000023", "-o", part)
        self.assertEqual(process.returncode, 0, process.stderr)
        told = json.loads(snug("trace", "info", part, "--json").stdout)["blocks"]
        data = self.data_of(part)
        self.assertEqual(data["totals"]["allocated_blocks"], told["came"])
        self.assertLess(told["came"], self.data["totals"]["allocated_blocks"])
        self.assertEqual(data["totals"]["freed_by_others_blocks"], 0)
        self.assertEqual(data["totals"]["live_at_end_bytes"], self.data["totals"]["live_at_end_bytes"])
        self.assertIn("were there before the recording", data["trace"]["notes"][0])


class RandomTrace(Files):
    """Against a plain count of the same events."""

    def test_figures_by_size_are_those_of_a_plain_count(self):
        draw = random.Random(7)
        lines, live, calls, key = [], {}, 0, 0
        by_size = collections.defaultdict(collections.Counter)
        total = most = temporary = copied = 0
        at_peak = {}

        def come(size):
            live[key] = (size, calls)
            by_size[size]["allocated_blocks"] += 1

        for _ in range(20000):
            key += 1
            what = draw.random()
            size = draw.choice((16, 17, 100, 1000, 4360, 70000, draw.randrange(1, 9000)))
            # Grows on the whole, with ups and downs.
            if what < 0.5 + 0.1 * (len(lines) // 1000 % 2) or not live:
                lines.append(f"a\t{key:x}\t{size}")
                calls += 1
                come(size)
                total += size
            else:
                victim = draw.choice(list(live)[-40:])
                before, came = live.pop(victim)
                total -= before
                if what < 0.9:
                    lines.append(f"f\t{victim:x}")
                    calls += 1
                    temporary += calls - came <= 8
                    by_size[before]["temporary_blocks"] += calls - came <= 8
                else:
                    lines.append(f"r\t{victim:x}\t{key:x}\t{size}")
                    calls += 2
                    copied += before if size > before else 0
                    come(size)
                    total += size
            if total > most:
                most, at_peak = total, collections.Counter(size for size, _ in live.values())
        data = self.data_of(self.imported("random.trace", "\n".join(lines) + "\n"))
        totals = data["totals"]
        self.assertEqual((totals["peak_bytes"], totals["peak_blocks"]), (most, sum(at_peak.values())))
        self.assertEqual((totals["temporary_blocks"], totals["copied_bytes"]), (temporary, copied))
        self.assertEqual(totals["live_at_end_blocks"], len(live))
        left = collections.Counter(size for size, _ in live.values())
        self.assertEqual(len(data["sizes"]), 200)
        for row in data["sizes"]:
            size = row["size"]
            told = (row["allocated_blocks"], row["peak_blocks"], row["live_at_end_blocks"], row["temporary_blocks"])
            self.assertEqual(told, (by_size[size]["allocated_blocks"], at_peak[size], left[size], by_size[size]["temporary_blocks"]))
            came, freed, brief = (sum(row["series"][at::4]) for at in (1, 2, 3))
            self.assertEqual((came, came - freed, brief), (told[0], told[2], told[3]))
            self.assertEqual(row["series"][::4], sorted(set(row["series"][::4])))
        slices = data["slices"]
        self.assertLessEqual(len(slices["end_ns"]), 256)
        self.assertEqual(max(slices["most_live_bytes"]), most)
        self.assertEqual(slices["live_bytes"][-1], total)


class WrongUse(Files):
    def test_files_that_cannot_be_read_or_written(self):
        broken = self.path("broken")
        Path(broken).write_bytes(b"\x89PNG nothing")
        trace = self.imported("lines.trace")
        for arguments in ((broken,), (self.path("none"),), (self.folder.name,), (), (trace, "-o", trace), (trace, "--json=" + trace),
                          (trace, "-o", "/nowhere/page.html"), (trace, "--against", broken), (trace, "--no-replay", "--replay", "glibc"),
                          (trace, "--replay", "nobody"), (trace, "--temporary", "0")):
            with self.subTest(arguments):
                process = snug("report", *arguments)
                lines = process.stderr.splitlines()
                self.assertEqual((process.returncode, len(lines)), (2, 1), process.stderr)

    def test_no_output_destroys_another_or_an_input(self):
        trace, old = self.imported("inputs.trace"), self.imported("old.trace")
        before = Path(old).read_bytes()
        for arguments in (("-o", old, "--against", old), ("--json=" + old, "--against", old), ("-o", self.path("x"), "--json=" + self.path("x")),
                          ("-o", "-", "--json")):
            with self.subTest(arguments):
                process = snug("report", trace, "--no-replay", "--force", *arguments)
                self.assertEqual((process.returncode, len(process.stderr.splitlines())), (2, 1), process.stderr)
        self.assertEqual(Path(old).read_bytes(), before)
        self.assertFalse(Path(self.path("x")).exists())

    def test_a_full_disk_is_told(self):
        trace = self.imported("full.trace")
        for arguments in ((), ("--check", "peak<1G"), ("--no-replay", "--json"), ("--no-replay", "-o", "-")):
            with self.subTest(arguments), open("/dev/full", "w", encoding="ascii") as full:
                process = subprocess.run([TOOL, "report", trace, *arguments], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
                self.assertEqual(process.returncode, 1, process.stderr)

    def test_a_trace_that_was_cut_is_read_as_far_as_it_goes(self):
        trace = self.path("whole.trace")
        process = snug("record", "-o", trace, PLANTED, "storm")
        self.assertEqual(process.returncode, 0, process.stderr)
        cut = self.path("cut.trace")
        Path(cut).write_bytes(Path(trace).read_bytes()[:-1000])
        process = snug("report", cut)
        self.assertEqual(process.returncode, 3)
        self.assertIn("damaged", process.stdout)

    def test_no_event_is_no_crash(self):
        trace = self.imported("empty.trace", "")
        process = snug("report", trace, "--no-replay", "--json=" + self.path("empty.json"), "-o", self.path("empty.html"))
        self.assertEqual(process.returncode, 3, process.stderr)
        self.assertEqual(json.loads(Path(self.path("empty.json")).read_text(encoding="utf-8"))["totals"]["peak_bytes"], 0)


if __name__ == "__main__":
    unittest.main()
