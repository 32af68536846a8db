"""Moments of a trace that an option names, the peak among them, and files that cannot be read at any place."""

import json
import os
import subprocess
import unittest
from pathlib import Path

from test_trace import FolderTest
from tool_under_test import snug

LINES = "".join(f"{line}\n" for line in (
    "a\t1\t24", "a\t2\t1000", "r\t1\t3\t48", "f\t2", "a\t2\t70000", "f\t3", "a\t5\t8"))


class MomentTest(FolderTest):
    def test_a_pipe_is_refused_in_a_line_and_not_waited_for(self):
        pipe = self.path("pipe")
        os.mkfifo(pipe)
        out = self.path("out")
        other = self.imported(LINES)
        for command in (("trace", "info", pipe), ("trace", "check", pipe), ("trace", "head", pipe),
                        ("trace", "cut", pipe, "-o", out), ("trace", "filter", pipe, "-o", out), ("trace", "pack", pipe, "-o", out),
                        ("trace", "anonymise", pipe, "-o", out), ("trace", "export", pipe, "--to", "csv"), ("replay", pipe),
                        ("report", pipe), ("report", other, "--against", pipe)):
            process = snug(*command)
            self.assertEqual((process.returncode, process.stderr.splitlines()[-1]), (
                2, f"snug: '{pipe}' cannot be read: a trace is read at any place, and so from no pipe: name its file"), command)
        self.assertFalse(Path(out).exists())

    def test_a_raw_file_of_heaptracks_says_which_block_goes(self):
        trace = self.imported("v 10400 3\nX ./program\nt 1 0\n+ 18 1 5000\n+ 18 1 6000\nc a\n- 5000\n+ 400 1 7000\n- 7000\n")
        lines = [line for line in snug("trace", "export", trace, "--to", "lines").stdout.splitlines() if line[0] != "#"]
        first, second = (line.split("\t")[1] for line in lines[:2])
        self.assertEqual([line.split("\t")[0] for line in lines], ["a", "a", "f", "a", "f"])
        self.assertEqual(lines[2].split("\t")[1], first)
        self.assertNotEqual(first, second)

    def test_what_is_compressed_is_no_trace_and_may_be_imported(self):
        (self.folder / "prog.zst").write_bytes(b"\x28\xb5\x2f\xfd\x04\x00")
        process = snug("trace", "info", self.path("prog.zst"))
        self.assertEqual(process.returncode, 2)
        self.assertIn("a file of heaptrack's, say, which snug trace import makes one of", process.stderr)

    def test_a_replay_at_full_speed_says_what_it_saves_in_time(self):
        for milliseconds, speed, is_told in (("7d0", "full", True), ("7d0", "recorded", False), ("a", "full", False)):
            trace = self.imported(f"v 10400 3\nX ./program\nt 1 0\na 1000 1\n+ 0\n- 0\nc {milliseconds}\n+ 0\n- 0\n")
            said = " ".join(snug("replay", trace, "--allocators", "glibc", "-n", "1", "--warmup", "0", "--speed", speed).stdout.split())
            self.assertEqual("the clock that allocators read, and give memory back by, went on as recorded" in said, is_told, said)

    def test_lines_come_by_a_pipe(self):
        pipe = self.path("pipe")
        os.mkfifo(pipe)
        for command in (("trace", "import", pipe, "-o", self.path("out")), ("classes", "fit", pipe)):
            writer = subprocess.Popen(["sh", "-c", 'printf "%s" "$1" > "$2"', "sh", LINES, pipe])
            process = snug(*command)
            self.assertEqual((process.returncode, writer.wait()), (0, 0), process.stderr)

    def test_the_peak_is_a_moment_wherever_one_is_asked_for(self):
        # Most lives behind the fifth event: 48 + 70000 bytes; the last two change that.
        trace = self.imported(LINES)
        def blocks(*arguments):
            told = json.loads(snug("trace", "info", "--json", *arguments).stdout)["blocks"]
            return told["live_at_end"], told["bytes_at_end"]
        self.assertEqual(blocks(trace, "--at", "peak"), (2, 70048))
        self.assertEqual(blocks(trace), (2, 70008))
        process = snug("trace", "cut", trace, "--at", "peak", "-o", self.path("until"))
        self.assertIn("the peak is at 0.000000 s: 68 KiB live in 2 blocks", process.stderr)
        snug("trace", "cut", trace, "--from", "peak", "-o", self.path("from"))
        snug("trace", "cut", trace, "--to", "peak", "-o", self.path("to"))
        self.assertEqual(Path(self.path("to")).read_bytes(), Path(self.path("until")).read_bytes())
        self.assertEqual([blocks(self.path(part)) for part in ("until", "from")],
                         [(2, 70048), (2, 70008)])
        self.assertEqual(snug("trace", "export", trace, "--to", "lines", "--at", "peak").stdout.count("\n"),
                         snug("trace", "export", trace, "--to", "lines").stdout.count("\n") - 2)
        self.assertEqual(len(snug("trace", "head", trace, "--at", "peak").stdout.splitlines()), 2)
        self.assertIn("at the end 68 KiB in 2 blocks live", snug("report", trace, "--at", "peak").stdout)
        snug("trace", "filter", trace, "--most", "48", "--at", "peak", "-o", self.path("small"))
        self.assertEqual(blocks(self.path("small")), (1, 48))

    def test_a_part_without_an_event_is_refused_in_a_line(self):
        trace = self.imported(LINES)
        out = self.path("none")
        for arguments, why in ((("--from", "peak", "--to", "0"), "no event lies between --from and --to"),
                               (("--to", "0.000000001", "--from", "peak"), "no event lies between --from and --to"),
                               (("--from", "9"), "it ends before --from")):
            process = snug("trace", "cut", trace, *arguments, "-o", out)
            self.assertEqual(process.returncode, 2, arguments)
            self.assertIn(why, process.stderr.splitlines()[-1])
            self.assertFalse(Path(out).exists(), arguments)

    def test_what_is_no_moment_is_refused_in_a_line(self):
        trace = self.imported(LINES)
        for arguments, why in ((("cut", trace, "--at", "pea", "-o", "x"), "--at: 'pea' is neither peak nor a number of seconds"),
                               (("cut", trace, "--at", "1", "--to", "2", "-o", "x"), "excludes"),
                               (("cut", trace, "--from", "peak", "--to", "peak", "-o", "x"), "--from is not before --to"),
                               (("info", trace, "--at", "-1"), "neither peak"),
                               (("info", trace, "--at", ""), "neither peak")):
            process = snug("trace", *arguments)
            self.assertEqual(process.returncode, 2, arguments)
            self.assertIn(why, process.stderr)


if __name__ == "__main__":
    unittest.main()
