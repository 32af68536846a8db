"""snug report: what it says of programs with one known fault each."""

import json
import os
import re
import sys
import time
import unittest
from pathlib import Path

from report_files import Files
from tool_under_test import LIBRARY, snug

PLANTED = os.environ["REPORT_PLANTED"]


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
                                    ("spike", "spike", "The peak of"), ("slowing", "leak", "keep_session")):
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

    def test_what_is_smaller_than_any_class_gets_other_advice(self):
        finding, = (finding for finding in self.data_of(self.recorded("tiny"))["findings"] if finding["kind"] == "rounding")
        self.assertIn(" blocks of 1 to 8 bytes that take 16 on snug: ", finding["sentence"])
        self.assertIn("put several of these into one block", finding["advice"])
        self.assertNotIn("falls into the class below", finding["advice"])

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
        process = snug("report", self.recorded("waste"), "--check", "rounding<1K")
        self.assertRegex(process.stdout, r"^FAILED: rounding is .*, asked: rounding<1K; most of it, 194 KiB, is of .*make_row")

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

    def test_of_several_processes_of_another_recording_one_can_be_named(self):
        both = self.path("both.trace")
        process = snug("record", "--stacks", "-o", both, "--", "sh", "-c", f"{PLANTED} leak; {PLANTED} nothing")
        self.assertEqual(process.returncode, 0, process.stderr)
        listed = json.loads(snug("trace", "info", both, "--json").stdout)["processes"]
        for kind in ("leak", "nothing"):
            [number] = [one["number"] for one in listed if one["arguments"] == f"{PLANTED} {kind}"]
            data = self.data_of(self.recorded("leak"), "--against", both, "--against-process", str(number))
            self.assertEqual(data["against"]["trace"]["program"].split()[1], kind)
        refused = snug("report", self.recorded("leak"), "--against", both, "--against-process", "nobody")
        self.assertEqual(refused.returncode, 2)
        self.assertIn("no process 'nobody' is in it", refused.stderr)

    def test_at_recorded_speed_a_replay_takes_as_long_as_the_program(self):
        trace = self.path("waits.trace")
        program = "import time; first = bytearray(5 << 20); time.sleep(2); last = bytearray(6 << 20)"
        process = snug("record", "-o", trace, "--", sys.executable, "-c", program)
        self.assertEqual(process.returncode, 0, process.stderr)

        def taken(speed, *options):
            begin = time.monotonic()
            process = snug("report", trace, "--json", "--library", LIBRARY, *options)
            self.assertEqual(json.loads(process.stdout)["what_if"]["speed"], speed, process.stderr)
            return time.monotonic() - begin

        as_recorded = taken("recorded", "--recorded-speed")
        self.assertGreater(as_recorded, 3.96, "on both allocators")
        # All else takes as long at both speeds, but for other work of the machine.
        self.assertTrue(any(taken("full") < as_recorded - 2 for _ in range(3)), as_recorded)

    def test_a_replay_shows_what_others_need_and_where_blocks_lie(self):
        process = snug("report", self.recorded("leak"), "--json", "--replay", "glibc", "--library", LIBRARY)
        data = json.loads(process.stdout)
        self.assertEqual([row["name"] for row in data["what_if"]["allocators"]], ["snug", "glibc"])
        self.assertTrue(all(row["ok"] for row in data["what_if"]["allocators"]), data["what_if"])
        self.assertEqual(data["what_if"]["speed"], "full")
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


if __name__ == "__main__":
    unittest.main()
