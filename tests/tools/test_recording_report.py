"""snug report: what it says of programs with one known fault each, of made-up traces of known figures, of limits,
and of what it cannot read or write."""

import collections
import json
import os
import random
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

from tool_under_test import LIBRARY, TOOL, snug

PLANTED = os.environ["REPORT_PLANTED"]

# Allocations a, frees f, reallocations r, by key and size: what snug classes fit reads.
LINES = """a a1 1000
a a2 1000
a a3 100
f a3
a a4 4360
f a2
r a1 a5 3000
f a4
a a6 50
"""


class Files(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @classmethod
    def path(cls, name):
        return str(Path(cls.folder.name) / name)

    @classmethod
    def imported(cls, name, lines=LINES):
        """A trace of lines, of which each blank becomes a tab."""
        Path(cls.path("lines")).write_text(lines.replace(" ", "\t"), encoding="ascii")
        process = snug("trace", "import", cls.path("lines"), "--from", "lines", "-o", cls.path(name))
        assert process.returncode == 0, process.stderr
        return cls.path(name)

    @classmethod
    def data_of(cls, trace, *options):
        process = snug("report", trace, "--no-replay", "--json", *options)
        return json.loads(process.stdout) if process.returncode == 0 else process.stderr


class PlantedFaults(Files):
    @classmethod
    def recorded(cls, kind):
        trace = cls.path(f"{kind}.trace")
        if not os.path.exists(trace):
            process = snug("record", "--stacks", "-o", trace, PLANTED, kind)
            assert process.returncode == 0, process.stderr
        return trace

    def first_finding(self, kind):
        findings = self.data_of(self.recorded(kind))["findings"]
        return findings[0]["kind"], findings[0]["sentence"]

    def test_each_fault_is_the_first_finding_and_its_function_is_named(self):
        for kind, finding, said in (("leak", "leak", "keep_session"), ("storm", "temporary", "format_line"),
                                    ("waste", "rounding", "4,360 bytes that take 4,608"), ("growth", "growth", "append_all"),
                                    ("handover", "handover", "thread 1 allocates are freed by thread 2"),
                                    ("spike", "spike", "The peak of")):
            with self.subTest(kind):
                first, sentence = self.first_finding(kind)
                self.assertEqual(first, finding)
                self.assertIn(said, sentence)

    def test_a_leak_is_told_that_is_little_beside_the_peak_and_beside_other_findings(self):
        data = self.data_of(self.recorded("drip"))
        self.assertLess(300_000 / data["totals"]["peak_bytes"], 0.011)
        self.assertEqual(len(data["findings"]), 5)
        self.assertEqual({finding["kind"] for finding in data["findings"]}, {"temporary", "peak", "leak"})
        leak, = (finding for finding in data["findings"] if finding["kind"] == "leak")
        self.assertEqual((leak["bytes"], "keep_note" in leak["sentence"]), (3000 * 100, True))

    def test_the_class_that_wastes_is_told_with_the_function_of_its_blocks(self):
        for kind, sizes, function, waste in (
                ("waste", "4,360", "make_row", 800 * (4608 - 4360)),
                ("spread", "4,200 to 4,399", "make_text", sum(4608 - 4200 - number % 200 for number in range(800)))):
            with self.subTest(kind):
                data = self.data_of(self.recorded(kind))
                finding, = (finding for finding in data["findings"] if finding["kind"] == "rounding")
                self.assertIn(f" blocks of {sizes} bytes that take 4,608 on snug: ", finding["sentence"])
                self.assertRegex(finding["sentence"], rf" Most of that is of [^,]*\b{function} \(planted\.cpp:\d+\), called by main\.$")
                self.assertEqual(finding["bytes"], waste)
                self.assertIn(function, data["nodes"]["name"][finding["node"]])

    def test_sentences_name_functions_without_their_parameters(self):
        _, sentence = self.first_finding("storm")
        self.assertRegex(sentence, r" blocks of [^,]*format_line \(planted\.cpp:\d+\), called by main, are freed within ")

    def test_of_a_program_without_a_fault_none_is_told(self):
        kinds = {finding["kind"] for finding in self.data_of(self.recorded("nothing"))["findings"]}
        self.assertLessEqual(kinds, {"held", "peak"})

    def test_blocks_that_do_not_grow_are_not_told_to(self):
        self.assertEqual(self.data_of(self.recorded("ring"))["totals"]["copied_bytes"], 0)

    def test_what_is_resident_between_samples_is_known(self):
        totals = self.data_of(self.recorded("spike"))["totals"]
        self.assertGreater(totals["resident_peak_bytes"], totals["peak_bytes"] * 0.95)

    def test_a_leaks_figures_are_right(self):
        data = self.data_of(self.recorded("leak"))
        finding = data["findings"][0]
        self.assertEqual(finding["bytes"], 3000 * 1000)
        self.assertIn("keep_session", data["nodes"]["name"][finding["node"]])
        row = next(row for row in data["sizes"] if row["size"] == 1000)
        self.assertEqual((row["takes"], row["allocated_blocks"], row["live_at_end_blocks"]), (1024, 3000, 3000))

    def test_limits_name_the_function_that_breaks_them(self):
        process = snug("report", self.recorded("leak"), "--check", "leaked<1M,peak<1G")
        self.assertEqual(process.returncode, 1)
        failed, held = process.stdout.splitlines()
        self.assertRegex(failed, r"^FAILED: leaked is 2\.9 MiB, asked: leaked<1M; most of it, 2\.9 MiB, is of .*keep_session")
        self.assertRegex(held, "^ok: peak is ")
        self.assertEqual(snug("report", self.recorded("leak"), "--check", "leaked<1G").returncode, 0)

    def suppressed(self, rules, *options, kind="leak"):
        Path(self.path("rules")).write_text(rules, encoding="utf-8")
        return snug("report", self.recorded(kind), "--suppressions", self.path("rules"), *options)

    def test_what_is_suppressed_is_no_leak(self):
        process = self.suppressed("# on purpose\n\n  leak:keep_session \nleak:nowhere\n")
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertNotIn("never freed", process.stdout)
        self.assertRegex(process.stdout, r"\nsuppressed  leak:keep_session: 2\.9 MiB in 3,000 blocks, of 1 stack\n")
        self.assertTrue(process.stdout.endswith(f"\nunused      leak:nowhere ({self.path('rules')}:4)\n"), process.stdout)
        self.assertIn("never freed", self.suppressed("leak:nowhere\n").stdout)
        limit = ("--check", "leaked<1M,leaked_blocks<1000,peak<1G")
        kept = self.suppressed("leak:keep_session\n", *limit)
        self.assertEqual((kept.returncode, len(kept.stdout.splitlines())), (0, 4), kept)
        self.assertRegex(kept.stdout, r"^ok: leaked is [\d.]+ KiB, asked: leaked<1M\nok: leaked_blocks is \d+, ")
        broken = self.suppressed("leak:nowhere\n", *limit)
        self.assertEqual(broken.returncode, 1)
        self.assertRegex(broken.stdout, r"^FAILED: leaked is 2\.9 MiB, .*keep_session")

    def test_suppressions_match_functions_files_and_modules(self):
        for pattern, matches in (("^*keep_session", True), ("planted.cpp$", True), ("/snug_tools_planted_faults$", True),
                                 ("^keep_session", False), ("main$", True), ("^main$", True), ("*keep*session*", True),
                                 ("session*keep", False), ("libnothing.so", False)):
            process = self.suppressed(f"leak:{pattern}\n", "--check", "leaked<1M")
            self.assertEqual(process.returncode, 0 if matches else 1, (pattern, process.stdout))

    def test_the_first_rule_that_matches_the_innermost_call_counts(self):
        data = json.loads(self.suppressed("leak:^main$\nleak:keep_session\nleak:keep_*\n", "--no-replay", "--json").stdout)
        rules = data["suppressions"]["rules"]
        self.assertEqual([(rule["pattern"], rule["line"], rule["blocks"], rule["bytes"]) for rule in rules][1:],
                         [("keep_session", 2, 3000, 3000000), ("keep_*", 3, 0, 0)])
        self.assertEqual(data["suppressions"]["file"], self.path("rules"))
        self.assertGreater(data["totals"]["live_at_end_bytes"], 3000000, "the totals are those of the recording")
        self.assertNotIn("suppressions", self.data_of(self.recorded("leak")))

    def test_what_is_no_suppression_is_refused_in_a_line(self):
        for rules, line in (("race:foo\n", 1), ("leak:\n", 1), ("leak:a\nkeep_session\n", 2), ("leak:a\n\nleak :b", 3)):
            process = self.suppressed(rules)
            self.assertEqual((process.returncode, process.stdout, process.stderr.count("\n")), (2, "", 1), process)
            self.assertIn(f"{self.path('rules')}:{line}: ", process.stderr)
            self.assertIn("is no leak:PATTERN", process.stderr)
        for path in (self.path("not_there"), self.folder.name, "/dev/zero"):
            process = snug("report", self.recorded("leak"), "--suppressions", path)
            self.assertEqual((process.returncode, process.stderr.count("\n")), (2, 1), process)
        empty = self.suppressed("", "--check", "leaked<1G")
        self.assertEqual((empty.returncode, empty.stdout.count("\n")), (0, 1))

    def test_another_recording_shows_what_is_more(self):
        process = snug("report", self.recorded("leak"), "--against", self.recorded("nothing"))
        more = process.stdout[process.stdout.index("more (+)"):].splitlines()[1]
        self.assertRegex(more, r"^  \+2\.9 MiB +.*keep_session")
        data = self.data_of(self.recorded("leak"), "--against", self.recorded("nothing"))
        self.assertEqual(data["against"]["trace"]["program"].split()[1], "nothing")
        self.assertEqual(len(data["nodes"]["name"]), len(data["series"]))

    def test_a_replay_shows_what_others_need_and_where_blocks_lie(self):
        process = snug("report", self.recorded("leak"), "--json", "--replay", "glibc", "--library", LIBRARY)
        data = json.loads(process.stdout)
        self.assertEqual([row["name"] for row in data["what_if"]["allocators"]], ["snug", "glibc"])
        self.assertTrue(all(row["ok"] for row in data["what_if"]["allocators"]), data["what_if"])
        parts = data["what_if"]["on_snug"]["parts"]
        self.assertEqual({len(part["bytes"]) for part in parts}, {len(data["what_if"]["on_snug"]["ns"])})
        of_rows = {len(column) for column in data["map"]["columns"]}
        self.assertEqual(of_rows, {len(data["map"]["row_address"])})
        tenths = sum(int(letter) if letter.isdigit() else 10 * (letter == "#") for letter in data["map"]["columns"][-1])
        live = tenths * data["map"]["bytes_per_row"] / 10
        self.assertAlmostEqual(live / data["totals"]["live_at_end_bytes"], 1, delta=0.15)

    def test_the_page_has_the_data_and_no_element_of_a_trace(self):
        page = self.path("leak.html")
        process = snug("report", self.recorded("leak"), "--no-replay", "-o", page)
        self.assertEqual(process.returncode, 0, process.stderr)
        text = Path(page).read_text(encoding="utf-8")
        data = re.search(r'<script type="application/json" id="snug-data">(.*?)</script>', text, re.S).group(1)
        self.assertNotIn("<", data)
        self.assertEqual(json.loads(data)["format"], "snug.report/1")
        again = snug("report", self.recorded("leak"), "--no-replay", "-o", page)
        self.assertEqual((again.returncode, Path(page).read_text(encoding="utf-8")), (2, text))
        self.assertEqual(snug("report", self.recorded("leak"), "--no-replay", "--force", "-o", page).returncode, 0)


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
                self.assertEqual(process.returncode, 2, process.stderr)

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
