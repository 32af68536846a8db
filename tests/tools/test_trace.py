"""snug trace: traces made out of other formats, looked at, cut, filtered, packed, and turned into others again."""

import csv
import importlib
import importlib.util
import io
import json
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from tool_under_test import TOOL, clean_environment, snug

LINES = "".join(f"{line}\n" for line in (
    "a\t1\t24", "a\t2\t1000", "r\t1\t3\t48", "f\t2", "a\t2\t70000", "f\t3", "a\t5\t8"))

MTRACE = """= Start
@ ./a program:[0x11b0] + 0x55f1e1cd32a0 0xa
@ ./a program:[0x11c5] < 0x55f1e1cd32a0
@ ./a program:[0x11c5] > 0x55f1e1cd34a0 0xc8
@ ./a program:[0x11ed] + 0x55f1e1cd32a0 0x15
@ ./a program:[0x123e] ! 0x55f1e1cd34a0 0x3fffffffffffffff
@ ./a program:[0x11fd] - 0x55f1e1cd32a0
@ ./a program:[0x1258] - 0x7000
= End
"""

HEAPTRACK = """v 10400 3
X ./program
s 4 main
i 7fa2 1
t 1 0
a 18 1
+ 0
+ 0
c a
a 400 1
+ 1
R 10
- 0
- 1
"""


class FolderTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def path(self, name):
        return str(self.folder / name)

    def file(self, name, text):
        (self.folder / name).write_text(text)
        return self.path(name)

    def trace(self, *arguments, status=0):
        process = snug("trace", *arguments)
        self.assertEqual(process.returncode, status, (arguments, process.stderr))
        self.said = process.stderr
        return process.stdout

    def imported(self, text, name="made.trace"):
        self.trace("import", self.file("text", text), "-o", self.path(name))
        return self.path(name)

    def info(self, file):
        return json.loads(self.trace("info", file, "--json"))

    def events(self, file):
        return [json.loads(line) for line in self.trace("head", file, "--json", "-n", "1000000").splitlines()]

    def long_trace(self):
        """Blocks of 1 to 3000 bytes; each hundredth lives on. Several chunks."""
        lines = []
        for i in range(1, 3001):
            lines.append(f"a\t{i:x}\t{i}")
            if i % 100:
                lines.append(f"f\t{i:x}")
        return self.imported("\n".join(lines) + "\n", "long.trace")


class ImportTest(FolderTest):
    def test_lines(self):
        file = self.imported(LINES)
        self.assertIn("lines says nothing of: threads", self.said)
        info = self.info(file)
        self.assertEqual({name: row["events"] for name, row in info["operations"].items()},
                         {"malloc": 4, "realloc": 1, "free": 2})
        self.assertEqual(info["peak"], {"bytes": 70048, "blocks": 2, "time_ns": 4 * 64})
        self.assertEqual((info["blocks"]["live_at_end"], info["blocks"]["bytes_at_end"]), (2, 70008))
        self.assertEqual(info["facts"][0], {"key": "imported", "value": "lines"})
        realloc = self.events(file)[2]
        self.assertEqual((realloc["block"], realloc["result"], realloc["size"]), ("1:1", "1:3", 48))
        self.trace("check", file)

    def test_mtrace(self):
        file = self.imported(MTRACE)
        self.assertIn("1 block(s) were there before the trace began", self.said)
        events = self.events(file)
        self.assertEqual([event["operation"] for event in events],
                         ["malloc", "realloc", "malloc", "realloc", "free", "found", "free"])
        self.assertTrue(events[3]["refused"])
        self.assertEqual((events[3]["block"], events[4]["block"]), ("1:2", "1:3"))
        self.trace("check", file)

    def test_heaptrack(self):
        file = self.imported(HEAPTRACK)
        events = self.events(file)
        self.assertEqual([event["operation"] for event in events],
                         ["malloc", "malloc", "malloc", "sample", "free", "free"])
        self.assertEqual([event["size"] for event in events[:3]], [24, 24, 1024])
        self.assertEqual([event["block"] for event in events[4:]], ["1:2", "1:3"])  # the one that came last
        self.assertEqual(events[2]["time_ns"], 10_000_000)
        self.assertEqual(events[3]["value"], 16 * 4096)

    def test_compressed_text_and_standard_input(self):
        text = self.file("text", HEAPTRACK)
        expected = self.info(self.imported(HEAPTRACK))["operations"]
        with open(text, encoding="utf-8") as file:
            subprocess.run([TOOL, "trace", "import", "-", "-o", self.path("piped")], stdin=file, check=True,
                           env=clean_environment(), stderr=subprocess.DEVNULL)
        self.assertEqual(self.info(self.path("piped"))["operations"], expected)
        # A frame of zstd by hand: one block as it is, the last.
        data = HEAPTRACK.encode()
        frame = b"\x28\xb5\x2f\xfd\x20" + bytes([len(data)]) + (len(data) << 3 | 1).to_bytes(3, "little") + data
        Path(text).write_bytes(frame)
        self.trace("import", text, "-o", self.path("framed"))
        self.assertEqual(self.info(self.path("framed"))["operations"], expected)
        Path(text).write_bytes(frame[:-1])
        self.trace("import", text, "-o", self.path("cut"), status=2)
        self.assertIn("cannot be read", self.said)

    def test_what_is_wrong_is_said_with_its_line(self):
        for text, words in ((LINES + "f\t9\n", ":8: key 9 names no live block"),
                            (MTRACE + "@ x > 0x1 0x2\n", ":10: the two halves"),
                            (MTRACE + "@ x + 0x1\n", ":10: no event of mtrace"),
                            (HEAPTRACK + "+ 9\n", ":15: there is no allocation 9"),
                            (HEAPTRACK + "- 1\n", ":15: more blocks of this allocation"),
                            ("v 1 4\n", ":1: version 4 of heaptrack's format"),
                            ("\x1f\x8b", "compressed by gzip"),
                            ("words\n", "of no format that is known")):
            self.trace("import", self.file("text", text), "-o", self.path("x"), status=2)
            self.assertIn(words, self.said)
            self.assertEqual(self.said.count("\n"), 1, self.said)

    def test_a_file_of_another_format_than_was_named(self):
        for text, name, words in ((LINES, "mtrace", "text: no log of mtrace"), ("", "mtrace", "text: no log of mtrace"),
                                  (LINES, "heaptrack", "text: no file of heaptrack's"), (MTRACE, "lines", ":1: ")):
            self.trace("import", self.file("text", text), "--from", name, "-o", self.path("x"), status=2)
            self.assertIn(words, self.said)
            self.assertEqual(self.said.count("\n"), 1, self.said)


class ExportTest(FolderTest):
    def test_lines_are_what_was_imported(self):
        file = self.imported(LINES)
        lines = self.trace("export", file, "--to", "lines")
        self.assertIn("lines loses: threads", self.said)
        again = self.imported(lines, "again.trace")
        self.assertEqual(self.events(again), self.events(file))

    def test_blocks_that_were_found_are_allocated(self):
        lines = self.trace("export", self.imported(MTRACE), "--to", "lines")
        self.assertEqual(self.info(self.imported(lines, "again.trace"))["operations"]["free"]["events"], 2)

    def test_csv(self):
        rows = list(csv.DictReader(io.StringIO(self.trace("export", self.imported(LINES), "--to", "csv"))))
        self.assertEqual(len(rows), 7)
        self.assertEqual((rows[2]["operation"], rows[2]["block"], rows[2]["result"], rows[2]["size"]),
                         ("realloc", "1:1", "1:3", "48"))

    def test_csv_has_samples(self):
        rows = list(csv.DictReader(io.StringIO(self.trace("export", self.imported(HEAPTRACK), "--to", "csv"))))
        samples = [(row["measure"], row["value"]) for row in rows if row["operation"] == "sample"]
        self.assertEqual(samples, [("resident", "65536")])
        self.assertEqual({row["value"] for row in rows if row["operation"] != "sample"}, {""})

    @unittest.skipUnless(importlib.util.find_spec("pyarrow"), "pyarrow is not installed")
    def test_parquet_and_arrow_as_the_page_makes_them(self):
        """By pyarrow, which also reads both again: every column has what the CSV says, and sizes beyond 2^63 are sizes."""
        huge = MTRACE.replace("0x3fffffffffffffff", "0xffffffffffffffff")
        self.trace("export", self.imported(huge), "--to", "csv", "-o", self.path("prog.csv"))
        page = (Path(__file__).resolve().parents[2] / "docs" / "traces.md").read_text()
        [code] = re.findall(r"^python3 - <<'END'\n(from pyarrow.*?)^END$", page, re.MULTILINE | re.DOTALL)
        subprocess.run([sys.executable, "-c", code], cwd=self.folder, check=True)
        rows = list(csv.DictReader(io.StringIO((self.folder / "prog.csv").read_text())))
        self.assertIn(str(2**64 - 1), [row["size"] for row in rows])
        parquet, feather = (importlib.import_module(f"pyarrow.{name}") for name in ("parquet", "feather"))
        for table in (parquet.read_table(self.path("prog.parquet")), feather.read_table(self.path("prog.arrow"))):
            self.assertEqual(table.column_names, list(rows[0]))
            self.assertEqual(str(table.schema.field("size").type), "uint64")
            told = [{name: "" if value is None else value for name, value in row.items()} for row in table.to_pylist()]
            for row, told_row in zip(rows, told, strict=True):
                self.assertEqual({**row, "seconds": float(row["seconds"])} if "seconds" in row else row,
                                 {name: value if name == "seconds" else str(value) for name, value in told_row.items()})

    def test_samples(self):
        info = self.info(self.imported(HEAPTRACK))["samples"]
        self.assertEqual(info["resident"], {"count": 1, "most_bytes": 65536})
        self.assertEqual(info["mallinfo2"]["count"], 0)
        self.assertIn("memory at most 64 KiB resident, in 1 samples", self.trace("info", self.path("made.trace")).replace("  ", " "))

    def test_chrome(self):
        file = self.path("chrome.json")
        self.trace("export", self.imported(HEAPTRACK), "--to", "chrome", "-o", file)
        events = json.loads(Path(file).read_text())["traceEvents"]
        live = [event["args"]["bytes"] for event in events if event["name"] == "live bytes"]
        self.assertEqual((live[0], live[1], live[-1]), (24, 1072, 24))
        self.assertEqual([event["args"]["bytes"] for event in events if event["name"] == "resident"], [65536])

    def test_a_full_disk_is_told(self):
        self.trace("export", self.imported(LINES), "--to", "csv", "-o", "/dev/full", status=1)
        self.assertIn("cannot write '/dev/full'", self.said)
        self.trace("pack", self.imported(LINES), "-o", "/dev/full", status=1)
        self.assertEqual(self.said, "snug: cannot write '/dev/full': No space left on device\n")


class PartTest(FolderTest):
    def test_cut(self):
        file = self.long_trace()
        whole = self.events(file)
        begin, end = whole[1001]["time_ns"] * 1e-9, whole[2000]["time_ns"] * 1e-9
        self.trace("cut", file, "--from", f"{begin:.9f}", "--to", f"{end:.9f}", "-o", self.path("part"))
        part = self.events(self.path("part"))
        found = [event for event in part if event["operation"] == "found"]
        self.assertEqual(part[len(found):], whole[1001:2000])
        self.assertEqual([event["size"] for event in found], [100, 200, 300, 400, 500])
        self.assertTrue(json.loads(self.trace("check", self.path("part"), "--json"))["well"])

    def test_nothing_to_cut(self):
        self.trace("cut", self.long_trace(), "--from", "7200", "-o", self.path("part"), status=2)
        self.assertIn("it ends before --from: its last event is at 0.000", self.said)
        self.assertEqual(self.said.count("\n"), 1, self.said)

    def test_filter(self):
        file = self.imported(LINES)
        self.trace("filter", file, "--most", "100", "-o", self.path("small"))
        self.assertEqual([(event["operation"], event["size"]) for event in self.events(self.path("small"))
                          if event["operation"] != "free"], [("malloc", 24), ("realloc", 48), ("malloc", 8)])
        self.assertEqual(self.info(self.path("small"))["blocks"]["live_at_end"], 1)
        self.trace("check", self.path("small"))
        self.trace("filter", file, "--thread", "2", "-o", self.path("none"))
        self.assertEqual(self.events(self.path("none")), [])
        self.assertEqual(self.info(self.path("none"))["facts"], self.info(file)["facts"])

    def test_pack(self):
        file = self.long_trace()
        self.trace("pack", file, "--level", "0", "-o", self.path("plain"))
        self.trace("pack", self.path("plain"), "--level", "19", "-o", self.path("packed"))
        plain, packed = self.info(self.path("plain")), self.info(self.path("packed"))
        self.assertGreater(plain["file_bytes"], 2 * packed["file_bytes"])
        self.assertEqual(plain["operations"], packed["operations"])
        self.assertEqual(self.events(self.path("packed")), self.events(file))
        self.assertLess(plain["plain_bytes"] / plain["events"], 12)

    def test_what_was_written_as_json(self):
        made = self.imported(LINES)
        lines = self.file("lines.txt", LINES)
        for arguments in (("cut", made, "--to", "1"), ("filter", made, "--most", "100"), ("pack", made, "--level", "0"),
                          ("anonymise", made), ("import", lines), ("synth", "hummingbird", "--events", "1000", "--live", "1M", "--table", "0")):
            with self.subTest(arguments[0]):
                file = self.path("written.trace")
                self.assertEqual(self.trace(*arguments, "-o", file), "")
                written = json.loads(self.trace(*arguments, "-o", file, "--json"))
                self.assertIn(f"snug: wrote {file}: {written['events']} events", self.said)
                info = self.info(file)
                self.assertEqual(written, {"file": file, **{key: info[key] for key in ("events", "file_bytes", "plain_bytes")}})

    def test_no_file_is_written_over_itself(self):
        file, text = self.imported(LINES), self.path("text")
        (self.folder / "link").symlink_to("text")
        for arguments in (("pack", file, "-o", file), ("cut", file, "-o", file), ("filter", file, "-o", file),
                          ("anonymise", file, "-o", file),
                          ("export", file, "--to", "lines", "-o", file), ("export", file, "--to", "csv", "-o", file),
                          ("import", text, "-o", text), ("import", text, "-o", self.path("link"))):
            self.trace(*arguments, status=2)
            self.assertIn("cannot be written at the same time", self.said)
        self.trace("check", file)
        self.assertEqual(Path(text).read_text(), LINES)


class AnonymiseTest(FolderTest):
    def test_what_goes_and_what_stays(self):
        file = self.imported(LINES)
        self.trace("anonymise", file, "-o", self.path("gift"))
        self.assertRegex(self.said, r"removed: process, date; replaced: 0 text\(s\), 0 process id\(s\), ")
        self.assertEqual(self.events(self.path("gift")), self.events(file))
        self.assertEqual(self.info(self.path("gift"))["facts"],
                         [*self.info(file)["facts"], {"key": "anonymised", "value": "sizes kept"}])
        self.trace("check", self.path("gift"))

    def test_sizes_are_raised(self):
        self.trace("anonymise", self.imported(LINES), "--round", "1K", "-o", self.path("gift"))
        self.assertEqual([event["size"] for event in self.events(self.path("gift")) if "size" in event],
                         [1024, 1024, 1024, 70656, 1024])
        self.assertIn({"key": "anonymised", "value": "sizes raised to multiples of 1024"}, self.info(self.path("gift"))["facts"])
        self.trace("anonymise", self.path("gift"), "--round", "0", "-o", self.path("x"), status=2)
        self.assertEqual(self.said.count("\n"), 1)


class DamageTest(FolderTest):
    def test_check_tells_file_and_offset(self):
        file = self.imported(LINES)
        data = bytearray(Path(file).read_bytes())
        second = 64 + int.from_bytes(data[64 + 8:64 + 12], "little")
        data[second + 97] ^= 1
        Path(file).write_bytes(data)
        self.trace("check", file, status=1)
        self.assertEqual(self.said.splitlines(),
                         [f"snug: {file}:{second}: chunk 0 of thread 1: the chunk's checksum is wrong",
                          f"snug: {file}: 1 damaged chunk(s) passed over, 0 missing; the rest was read"])
        self.trace("info", file, status=3)  # reads on
        self.assertEqual(json.loads(self.trace("info", file, "--json", status=3))["damaged_chunks"], 1)

    def test_a_file_that_was_cut_is_read(self):
        file = self.long_trace()
        whole = Path(file).read_bytes()
        Path(file).write_bytes(whole[:-16])
        self.assertFalse(self.info(file)["has_index"])
        self.trace("check", file)
        Path(file).write_bytes(whole[:len(whole) // 2])
        self.trace("check", file, status=1)

    def test_damage_has_a_status_of_its_own(self):
        file = self.path("long.trace")
        self.trace("synth", "hummingbird", "--events", "300000", "--live", "2000000", "--table", "400000", "-o", file)
        data = bytearray(Path(file).read_bytes())
        data[len(data) // 2] ^= 0xff
        Path(file).write_bytes(data)
        self.assertEqual(json.loads(self.trace("info", file, "--json", status=3))["damaged_chunks"], 1)
        for command in (["head", "-n", "10000000"], ["cut", "--from=0", "-o", self.path("part")],
                        ["filter", "--least=0", "-o", self.path("part")], ["pack", "-o", self.path("part")],
                        ["anonymise", "-o", self.path("part")], ["export", "--to=csv", "-o", self.path("part")]):
            self.trace(command[0], file, *command[1:], status=3)
        self.trace("pack", file, "-o", self.path("part"), status=3)
        self.trace("info", self.path("part"))  # it has what was left

    def test_lines_are_read_as_what_they_are_imported_to(self):
        lines, trace = self.file("a.lines", LINES), self.imported(LINES)
        infos = [self.info(lines), self.info(trace)]
        for info in infos:
            for key in ("file", "file_bytes"):
                del info[key]
        self.assertEqual(*infos)
        self.assertEqual(self.trace("head", lines), self.trace("head", trace))

    def test_what_is_no_trace(self):
        for data, words, status in ((b"", "file' is empty: ", 3), (b"x" * 100, ":0: it is no trace", 2),
                                    (b"\x89snugtr\n\x03", ":0: it is no trace: it is shorter", 3),
                                    (b"\x89snugtr\n\x04" + bytes(60), ":0: version 4 of the format", 2),
                                    (b"# no event\na\t1\t24\nf\t2\n", ":3: key 2 names no live block", 2)):
            Path(self.path("file")).write_bytes(data)
            self.trace("info", self.path("file"), status=status)
            self.assertEqual(self.said.count("\n"), 1)
            self.assertIn(words, self.said)
        self.trace("info", self.path("gone"), status=2)
        self.trace("info", str(self.folder), status=2)


class HelpTest(FolderTest):
    def test_each_command_teaches(self):
        for command in ("info", "check", "head", "cut", "filter", "pack", "anonymise", "synth", "import", "export"):
            self.assertRegex(self.trace(command, "--help"), f"Examples?:(\n.*)*snug trace {command}")

    def test_wrong_usage_is_one_line(self):
        for arguments in ((), ("info",), ("cut", "x", "-o", "y", "--from", "2", "--to", "1"), ("head", "x", "-n", "a"),
                          ("export", "x", "--to", "arrow"), ("export", "x", "--to", "csv", "--weight", "blocks"), ("wrong",)):
            self.trace(*arguments, status=2)
            self.assertEqual(self.said.count("\n"), 1, self.said)


if __name__ == "__main__":
    unittest.main()
