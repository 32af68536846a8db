"""Options of the snug command that would do nothing where they stand, and numbers that none of them can mean, are refused."""

import tempfile
import unittest

from tool_under_test import LIBRARY, snug


class RefusedTest(unittest.TestCase):
    def refused(self, call, words):
        process = snug(*call)
        self.assertEqual((process.returncode, process.stderr.count("\n")), (2, 1), (call, process.stderr, process.stdout[:200]))
        self.assertIn(words, process.stderr)

    def test_options_without_what_they_are_of(self):
        for call, words in (
                ("record --library /x ls", "--library requires --allocator"),
                ("record --library /x --allocator glibc ls", "--library is of --allocator snug, not of glibc"),
                ("profile --diff a.pb -o d.pb b.pb", "--output excludes --diff"),
                ("run --compare glibc --all ls", "--all needs --report"),
                ("report x.trace --against-process 2", "--against-process requires --against"),
                ("replay x.trace --region 1G", "--region requires --component"),
                ("replay x.trace --kappa 2", "--kappa requires --component"),
                ("replay x.trace --tlsf /x", "--tlsf requires --component"),
                ("stats --all --classes --prometheus", "--classes excludes --prometheus"),
                ("stats --all --classes --listen 127.0.0.1:0", "--classes excludes --listen"),
                ("profile --distance 5 --show x.pb", "--distance is of a program that is run, not of --show"),
                ("profile --library /x --diff x.pb y.pb", "--library is of a program that is run, not of --diff"),
                ("profile --conf check:on 1", "--conf is of a program that is run, not of a process that runs")):
            self.refused(call.split(), words)

    def test_a_component_that_is_not_asked_for(self):
        with tempfile.TemporaryDirectory() as folder:
            trace = f"{folder}/x.trace"
            self.assertEqual(snug("trace", "synth", "hummingbird", "--events", "1000", "-o", trace).returncode, 0)
            self.refused(("replay", trace, "--library", LIBRARY, "--component", "cell", "--kappa", "2"),
                         "--kappa is of --component compact, which is not asked for")

    def test_a_process_without_a_name(self):
        for call in (("trace", "info", "x", "--process", ""), ("report", "x", "--against", "y", "--against-process", "")):
            self.refused(call, "no process is called ''")

    def test_numbers_below_0_do_not_wrap(self):
        for call in ("trace head x -n -1", "trace filter x -o y --thread -1", "trace synth hummingbird -o y --seed -1",
                     "run --compare glibc --seed -1 ls", "run --compare glibc --min-served -1 ls", "replay x --seed -1"):
            self.refused(call.split(), "'-1' is not in range 0 to ")
        for call in ("trace filter x -o y --least -1", "trace filter x -o y --most -1K", "trace anonymise x -o y --round -1",
                     "classes fit x --cached-bytes -1", "classes fit x --cache -1", "replay x --component cell --region -1"):
            self.refused(call.split(), "is less than 0")

    def test_time_limits_are_times(self):
        for command in ("run --compare glibc", "measure", "replay x"):
            for word in ("nan", "inf", "0", "-1", "1e300"):
                self.refused((*command.split(), "--timeout", word, "ls"), f"'{word}' is not in range 0.001 to 1000000000")


if __name__ == "__main__":
    unittest.main()
