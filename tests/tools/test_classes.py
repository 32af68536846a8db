"""snug classes: maps in words, as files that the drop-in loads, as pictures; and the fit."""

import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree
from pathlib import Path

from tool_under_test import ALLOCATING, LIBRARY, clean_environment, run_on_snug, snug

GOLDEN = Path(os.environ["SNUG_GOLDEN"])
MAPS = ["default", "dense", "3,4,8,17,128,16", "1,4,6,17,8,10,2"]


def classes(*arguments, **changes):
    """The output of a call that has to succeed, and that names each file it wrote."""
    process = snug("classes", *arguments, **changes)
    files = [arguments[arguments.index(option) + 1] for option in ("-o", "--plot") if option in arguments]
    if (process.returncode, process.stderr) != (0, "".join(f"snug: wrote {file}\n" for file in files)):
        raise AssertionError(f"snug classes {arguments}: {process.returncode}, {process.stderr}")
    return process.stdout


def as_json(*arguments):
    return json.loads(classes(*arguments, "--json"))


class FolderTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def file(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return str(path)

    def assert_refused(self, arguments, words, status=2):
        process = snug("classes", *arguments)
        self.assertEqual((process.returncode, process.stdout), (status, ""), arguments)
        self.assertEqual(process.stderr.count("\n"), 1, process.stderr)
        self.assertTrue(process.stderr.startswith("snug: "), process.stderr)
        self.assertIn(words, process.stderr)


class ShownTest(FolderTest):
    def test_compatible_text_of_dense_is_the_documents(self):
        self.assertEqual(classes("dense", "--compat"), (GOLDEN / "dense_size_classes.txt").read_text())
        self.assertEqual(classes("3,4,8,17,8,10", "--compat"), classes("dense", "--compat"))

    def test_the_ids_are_right_unless_compatibility_is_asked_for(self):
        rows = as_json("dense")["classes"]
        self.assertEqual([row["id"] for row in rows], list(range(53)))
        table = [line.split() for line in classes("dense").splitlines()]
        self.assertEqual([line[-1] for line in table[1:54]], [str(row) for row in range(53)])
        compatible = classes("dense", "--compat").splitlines()
        self.assertEqual([line.rsplit(" ", 1)[1] for line in compatible[17:21]], ["49", "50", "51", "48"])

    def test_json_and_table_say_the_same(self):
        for name in MAPS:
            shown = as_json(name)
            batch = [shown["batch_class"]] if "parameters" in shown else []
            self.assertEqual("batch_class" in shown, bool(batch))
            total = sum(row["bytes_cached"] for row in shown["classes"] + batch)
            self.assertEqual(shown["total"]["bytes_cached"], total)
            lines = [line.split() for line in classes(name).splitlines()]
            self.assertEqual([line[1] for line in lines[2:len(shown["classes"]) + 1]],
                             [str(row["size"]) for row in shown["classes"][1:]])
            self.assertRegex(classes(name), f"(?s)at most [0-9]+ blocks, {total} bytes.*\nSNUG_CONF's cache bounds those")

    def test_the_record_of_a_threads_cache_is_sized(self):
        shown = {name: as_json(name)["thread_cache"] for name in MAPS[:3]}
        for name, cache in shown.items():
            places = [max(16, 1 << (row["cached"] - 1).bit_length()) for row in as_json(name)["classes"][1:]]
            self.assertEqual(cache["array_bytes"], 8 * sum(places), name)
            # More than the heads alone, or the records alone, of as many classes as a map may have; within an OS page.
            self.assertTrue(83 * (16 + 8) < cache["header_bytes"] <= 4096, cache)
        self.assertEqual(len({cache["header_bytes"] for cache in shown.values()}), 1)
        self.assertEqual(shown["dense"]["array_bytes"], 52 * 16 * 8)
        for unloadable in ("5,4,8,17,8,10", "3,4,8,17,9999,30"):  # too many classes, too many blocks of one
            self.assertIsNone(as_json(unloadable)["thread_cache"], unloadable)

    def test_what_is_no_map_is_refused(self):
        for name, words in (("3,4,8", "3 of 6 parameters"), ("3,4,8,17,8,10,1,1", "at most 7"),
                            ("3,9,8,17,8,10", "MinSizeLog is at most MidSizeLog"), ("0,4,8,17,8,10", "NumBits"),
                            ("3,4,8,99999999999999999999,8,10", "parameter 4"), ("3,,8,17,8,10", "parameter 2"),
                            ("3,4,8,17,8,10,", "parameter 7"), ("nosuch", "neither default, dense"), ("/", "neither"),
                            (self.file("bad", "16 1\n17 1\n"), "bad:2: the size is no multiple of 16")):
            self.assert_refused([name], words)
        self.assert_refused([], "name a map")
        # As many bytes as no number holds.
        self.assert_refused(["3,4,8,47,4294967296,47,4294967296"], "at most 2^48 bytes")
        self.assert_refused(["a\nb\x1b[2J"], "'a?b?[2J' is neither")

    def test_json_of_a_file_whose_name_is_no_utf8(self):
        path = os.fsdecode(os.fsencode(self.folder) + b"/\xff.map")
        Path(path).write_text("16 1\n65536 1\n")
        self.assertIn("\ufffd.map", as_json(path)["map"])
        config = snug("config", "--json", SNUG_CONF=f"classes:{path}")
        self.assertIn("\ufffd.map", json.loads(config.stdout)[0]["value"], config.stderr)


class MapFileTest(FolderTest):
    def test_a_written_map_is_the_same_map(self):
        for name in MAPS[:3]:
            path = self.folder / "map"
            classes(name, "-o", str(path))
            keys = ["size", "difference", "percent", "cached", "bytes_cached", "id", "worst_waste"]
            written, meant = ([[row[key] for key in keys] for row in as_json(map_)["classes"]]
                              for map_ in (str(path), name))
            self.assertEqual(written, meant)

    def test_the_name_of_a_map_stays_in_its_comment(self):
        path = self.folder / "written"
        classes(self.file("a\nb", "16 1\n65536 1\n"), "-o", str(path))
        self.assertEqual([row["size"] for row in as_json(str(path))["classes"]], [0, 16, 65536])

    def test_the_drop_in_runs_on_a_written_map(self):
        path = str(self.folder / "map")
        for name in MAPS[:3]:
            classes(name, "-o", path)
            process = run_on_snug("--conf", f"classes:{path}", "--report", "--", ALLOCATING)
            self.assertEqual(process.returncode, 0, process.stderr)
            self.assertNotIn("bad value", process.stderr)
            self.assertIn("allocations", process.stderr)
        entries = json.loads(snug("config", "--json", SNUG_CONF=f"classes:{path}").stdout)
        self.assertEqual(entries[0]["value"], path)

    def test_blocks_are_as_large_as_the_map_says(self):
        path = self.file("map", "32 8\n1008 3\n5120 2\n65536 1\n")
        program = ("import ctypes; c = ctypes.CDLL(None); c.malloc.restype = ctypes.c_void_p; "
                   "c.malloc_usable_size.argtypes = [ctypes.c_void_p]; "
                   "print([c.malloc_usable_size(c.malloc(n)) for n in (1, 32, 33, 1009, 5120, 5121, 65536)])")
        environment = clean_environment(LD_PRELOAD=LIBRARY, SNUG_CONF=f"classes:{path}")
        process = subprocess.run(["python3", "-c", program], env=environment, capture_output=True, text=True, check=True)
        self.assertEqual(json.loads(process.stdout), [32, 32, 1008, 5120, 5120, 65536, 65536])
        self.assertEqual(process.stderr, "")

    def test_what_the_drop_in_cannot_load_is_not_written(self):
        path = self.folder / "map"
        self.assert_refused(["4,4,8,17,8,10", "-o", str(path)], "class 33, of 1152 bytes, 1 cached: the size is no")
        self.assertFalse(path.exists())
        self.assert_refused(["dense", "-o", str(self.folder / "no" / "map")], "cannot write", status=1)
        self.assert_refused([self.file("own", "16 1\n65536 1\n"), "--compat"], "--compat prints maps of the family")


class PlotTest(FolderTest):
    def test_the_picture_is_well_formed_and_names_the_map(self):
        path = self.folder / "map.svg"
        classes("dense", "--plot", str(path))
        root = ElementTree.parse(path).getroot()
        self.assertTrue(root.tag.endswith("svg"))
        words = " ".join(root.itertext())
        self.assertIn("dense: 52 classes up to 128K", words)
        self.assertIn("Bytes of each class that a thread caches", words)

    def test_names_are_escaped(self):
        path = self.folder / "map.svg"
        classes(self.file("<&\x01>", "16 1\n65536 1\n"), "--plot", str(path))
        self.assertIn("<&?>", " ".join(ElementTree.parse(path).getroot().itertext()))
        name = os.fsencode(self.folder) + b"/" + b"\xe4\xed\xa0\x80\xef\xbf\xbf" + "ä".encode() + b"\xf0\x9f"
        Path(os.fsdecode(name)).write_text("16 1\n65536 1\n")
        classes(os.fsdecode(name), "--plot", str(path))
        self.assertIn("/?????ä??: 2 classes", " ".join(ElementTree.parse(path).getroot().itertext()))

    @unittest.skipUnless(shutil.which("rsvg-convert"), "no rsvg-convert")
    def test_png(self):
        path = self.folder / "map.png"
        classes("dense", "--plot", str(path))
        self.assertEqual(path.read_bytes()[:8], b"\x89PNG\r\n\x1a\n")

    def test_what_cannot_be_drawn_is_refused(self):
        self.assert_refused(["dense", "--plot", "map.jpeg"], "ends in .svg or .png")
        self.assert_refused(["dense", "--plot", str(self.folder / "no" / "map.svg")], "cannot write", status=1)
        process = snug("classes", "dense", "--plot", str(self.folder / "map.png"), PATH="/nowhere")
        self.assertEqual((process.returncode, process.stderr.count("\n")), (1, 1))
        self.assertIn("rsvg-convert", process.stderr)


class FitTest(FolderTest):
    def histogram(self):
        # Sizes that fall just behind classes of both built-in maps.
        return self.file("sizes", "# bytes blocks\n130 50000\n\n136 1 # a few\n270 20000\n1300 9000\n5200 800\n300000 2\n")

    def test_it_saves_what_it_says(self):
        found = as_json("fit", self.histogram(), "--max-classes", "20")
        fit, default, dense = found["maps"]
        self.assertEqual([entry["map"] for entry in found["maps"]], ["fit", "default", "dense"])
        self.assertLess(fit["cost"], default["cost"])
        self.assertLess(fit["waste"], default["waste"])
        self.assertLessEqual(fit["classes"], 20)
        self.assertEqual(fit["large_blocks"], 2)
        self.assertEqual(found["histogram"], {"blocks": 79803, "sizes": 6, "bytes": 28360136})
        # Each map's waste, reckoned from its own classes.
        for entry, rows in ((fit, found["fit"]["classes"]), (default, as_json("default")["classes"]),
                            (dense, as_json("dense")["classes"])):
            sizes = [row["size"] for row in rows]
            waste = 2 * (303104 - 300000)
            for size, count in ((130, 50000), (136, 1), (270, 20000), (1300, 9000), (5200, 800)):
                waste += count * (min(block for block in sizes if block >= size) - size)
            self.assertEqual(entry["waste"], waste, entry["map"])
        table = classes("fit", self.histogram(), "--max-classes", "20")
        self.assertIn("79,803 blocks of 6 sizes", table)

    def test_its_map_is_loaded_and_serves_those_sizes(self):
        path = str(self.folder / "map")
        shown = as_json("fit", self.histogram(), "--max-classes", "20", "--threads", "0", "-o", path)
        self.assertEqual([row["size"] for row in as_json(path)["classes"]],
                         [row["size"] for row in shown["fit"]["classes"]])
        self.assertLessEqual({144, 272, 1536, 5376}, {row["size"] for row in as_json(path)["classes"]})
        process = run_on_snug("--conf", f"classes:{path}", "--", ALLOCATING)
        self.assertEqual((process.returncode, process.stderr), (0, ""))

    def test_no_class_is_far_above_the_one_before(self):
        for gap in (1.5, 2, 3.5):
            rows = as_json("fit", self.histogram(), "--max-gap", str(gap))["fit"]["classes"][1:]
            for before, row in zip(rows, rows[1:]):
                self.assertTrue(row["size"] <= gap * before["size"] or row["size"] == before["size"] + 16)

    def test_more_classes_never_cost_more(self):
        costs = [as_json("fit", self.histogram(), "--max-classes", str(n))["maps"][0]["cost"] for n in (15, 17, 20, 83)]
        self.assertEqual(costs, sorted(costs, reverse=True))
        self.assertLess(costs[-1], costs[0])

    def test_the_plot_shows_all_three(self):
        path = self.folder / "fit.svg"
        classes("fit", self.histogram(), "--plot", str(path))
        words = " ".join(ElementTree.parse(path).getroot().itertext())
        for name in ("fit: ", "default: ", "dense: ", "Grey: "):
            self.assertIn(name, words)

    def test_standard_input(self):
        with open(self.histogram(), encoding="ascii") as text:
            process = subprocess.run([os.environ["SNUG_TOOL"], "classes", "fit", "-", "--json"], stdin=text,
                                     capture_output=True, text=True, check=True)
        self.assertEqual(json.loads(process.stdout), as_json("fit", self.histogram()))

    def test_bad_histograms_are_refused_with_their_line(self):
        for text, words in (("# none\n", "no block of any size"), ("16 0\n", "no block of any size"),
                            ("16 1\n32\n", "sizes:2: the count is missing"), ("16 1 1\n", "sizes:1: '1' stands behind"),
                            ("-1 1\n", "sizes:1: '-1' is no size"), ("16 1.5\n", "sizes:1: '1.5' is no count"),
                            ("16 99999999999999\n", "beyond"), ("1099511627776 99999999\n", "more than 2^62"),
                            ("9999999999999999999999 1\n", "is no size"), ("1\x1b 1\n", "'1?' is no size"),
                            ("9" * 4000 + " 1\n", f"'{'9' * 40}...' is no size"), ("1 1\n" + "#" * 5000, "sizes:2: the line is longer")):
            self.assert_refused(["fit", self.file("sizes", text)], words)
        recorded = self.folder / "prog.trace"
        recorded.write_bytes(b"\x89snugtr\n\x02\0" + bytes(54))
        with open(recorded) as text:
            process = subprocess.run([os.environ["SNUG_TOOL"], "classes", "fit", "-"], stdin=text, capture_output=True, text=True,
                                     check=False)
        self.assertEqual((process.returncode, process.stderr.count("\n")), (2, 1))
        self.assertIn("standard input: a trace of snug record, which is read at any place and so from no pipe", process.stderr)
        self.assert_refused(["fit", self.histogram(), "--process", "1"], "--process says which process of a recording counts")
        process = snug("classes", "fit", self.file("empty", ""))
        self.assertEqual((process.returncode, process.stderr), (3, f"snug: '{self.folder}/empty' is empty\n"))

    def test_a_recording_is_read(self):
        """As the lines are that are exported of it; of several processes the one that allocates most, or the one that is
        asked for."""
        file = str(self.folder / "job.trace")
        program = "all = [bytes(600 + i % 7 * 100) for i in range(20000)]"
        self.assertEqual(snug("record", "-o", file, "--", "sh", "-c", f"ls / > /dev/null; {sys.executable} -c '{program}'; true",
                              PYTHONMALLOC="malloc").returncode, 0)
        lines, fits = self.folder / "job.lines", []
        for process in (["--process", "1"], []):
            with open(lines, "w") as text:
                subprocess.run([os.environ["SNUG_TOOL"], "trace", "export", file, *process, "--to=lines"], stdout=text,
                               stderr=subprocess.DEVNULL, check=True)
            for of in ("peak", "all"):
                fit = snug("classes", "fit", file, *process, "--of", of, "--json")
                self.assertEqual(fit.returncode, 0, fit.stderr)
                self.assertEqual("which allocates most" in fit.stderr, not process)
                fit, told = json.loads(fit.stdout), as_json("fit", str(lines), "--of", of)
                self.assertGreater(fit["input"].pop("peak_event"), 0)
                self.assertGreater(told["input"].pop("peak_line"), 0)
                self.assertEqual(fit, told)
                fits.append(fit["input"]["allocations"])
        self.assertGreater(fits[2], fits[0] + 20000)
        self.assertIn("at event ", snug("classes", "fit", file).stdout)

    def test_what_cannot_be_read_is_refused(self):
        self.assert_refused(["fit", str(self.folder / "nosuch")], "cannot be read")
        self.assert_refused(["fit", str(self.folder)], "cannot be read")
        self.assert_refused(["fit", "/dev/zero"], "/dev/zero:1: the line is longer than 4096 bytes")

    def test_bad_options_are_refused(self):
        self.assert_refused(["fit", self.histogram(), "--max-classes", "10"],
                            "10 classes do not reach 262144 bytes with gaps of at most 2: 14 do")
        self.assert_refused(["fit", self.histogram(), "--largest", "32K"], "--largest 32768: from 64K to 256K")
        self.assert_refused(["--compat", "fit", self.histogram()], "--compat prints maps of the family")
        self.assert_refused(["fit", self.histogram(), "--cached-least", "9", "--cached-blocks", "8"], "is more than")
        for arguments in (["--max-classes", "0"], ["--max-classes", "84"], ["--max-gap", "0.5"], ["--threads", "-1"]):
            self.assertEqual(snug("classes", "fit", self.histogram(), *arguments).returncode, 2, arguments)


class FitTraceTest(FolderTest):
    # Most bytes live behind line 5, and as many behind line 6.
    TRACE = ("# a comment\n\na\t1f\t24\na\t2f\t5000\na\t4f\t24\nr\t1f\t0x3F\t24\n"
             "f\t2f\na\t2f\t1000\nf\t3f\n")

    def trace(self):
        return self.file("trace", self.TRACE)

    def test_what_counts_is_what_lives_at_the_peak(self):
        found = as_json("fit", self.trace())
        self.assertEqual(found["input"], {"format": "trace", "of": "peak", "events": 7, "allocations": 5,
                                          "peak_bytes": 5048, "peak_blocks": 3, "peak_line": 5, "blocks_left": 2})
        self.assertEqual(found, as_json("fit", self.trace(), "--of", "peak"))
        histogram = as_json("fit", self.file("sizes", "24 2\n5000 1\n"))
        self.assertEqual(histogram["input"], {"format": "histogram"})
        self.assertEqual({**found, "input": 0}, {**histogram, "input": 0})
        table = classes("fit", self.trace())
        self.assertIn("Trace of 7 events, 5 allocations; most bytes live, 5 KiB in 3 blocks, at line 5; 2 blocks", table)
        self.assertIn("Counted: the blocks live at that line.", table)
        self.assertIn("3 blocks of 2 sizes", table)

    def test_every_allocation_counts_if_asked_for(self):
        path = self.folder / "map"
        found = as_json("fit", self.trace(), "--of", "all", "-o", str(path))
        self.assertEqual(found["input"] | {"of": "peak"}, as_json("fit", self.trace())["input"])
        histogram = as_json("fit", self.file("sizes", "24 3\n1000 1\n5000 1\n"))
        self.assertEqual({**found, "input": 0}, {**histogram, "input": 0})
        self.assertIn("--of all", path.read_text())
        self.assertIn("Counted: every allocation.", classes("fit", self.trace(), "--of", "all"))

    def test_standard_input(self):
        process = subprocess.run([os.environ["SNUG_TOOL"], "classes", "fit", "-", "--json"], input=self.TRACE,
                                 capture_output=True, text=True, check=True)
        self.assertEqual(json.loads(process.stdout), as_json("fit", self.trace()))

    def test_bad_traces_are_refused_with_their_line(self):
        for text, words in (("a\t1\t8\nb\t1\n", "sizes:2: 'b' is no event"), ("a 1 8\n", "sizes:1: 'a 1 8' is no event"),
                            ("a\t1\t8\nf\t2\n", "sizes:2: key 2 names no live block"),
                            ("a\t1\t8\n\na\t1\t8\n", "sizes:3: key 1 names a live block already, allocated in line 1"),
                            ("a\t1\t1099511627777\n", "sizes:1: size in bytes is beyond"),
                            ("a\tkey\t8\n", "sizes:1: 'key' is no hexadecimal key"),
                            ("a\t1\t8\na\t2\t10", "sizes:2: the line has no end: the trace was cut off"),
                            ("a\t1\t8\x1b\n", "sizes:1: '8?' is no size in bytes"),
                            ("16 1\nf\t1\n", "sizes:2: 'f' is no size"), ("a\t1\t8\n16 1\n", "sizes:2: '16 1' is no event"),
                            ("a\t1\t" + "9" * 5000, "sizes:1: the line is longer")):
            self.assert_refused(["fit", self.file("sizes", text)], words)
        sizes = self.file("sizes", "16 1\n")
        self.assert_refused(["fit", sizes, "--of", "all"], "sizes: --of says what to count of a trace")
        self.assertEqual(snug("classes", "fit", self.trace(), "--of", "most").returncode, 2)

    def test_a_long_trace_takes_no_memory_but_for_what_lives(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_DATA, (10 << 20, 10 << 20))
        # A thousand blocks, each replaced by ever smaller ones: no size comes twice.
        text = "".join(f"a\t{key:x}\t1000000\n" for key in range(1000))
        text += "".join(f"f\t{size % 1000:x}\na\t{size % 1000:x}\t{size}\n" for size in range(250000, 0, -1))
        process = subprocess.run([os.environ["SNUG_TOOL"], "classes", "fit", "-", "--json"], input=text, text=True,
                                 capture_output=True, preexec_fn=limit, check=False)
        self.assertEqual(process.stderr, "")
        self.assertEqual(json.loads(process.stdout)["input"]["events"], 501000)

    def test_the_documents_way_from_ltrace_to_a_trace(self):
        page = (GOLDEN.parents[1] / "docs" / "size-classes.md").read_text()
        script = re.search(r"(?ms)^ *awk '\n(.*?)^ *' calls.log > program.lines$", page).group(1)
        path = self.file("trace.awk", script)
        calls = self.file("calls.log", """\
7 malloc@libc.so.6(24)                       = 0x1000
7 calloc@libc.so.6(3, 40 <unfinished ...>
8 malloc@libc.so.6(100)                      = 0x2000
7 <... calloc resumed> )                     = 0x3000
8 free@libc.so.6(0)                          = <void>
8 realloc@libc.so.6(0, 1600 <unfinished ...>
8 malloc@libc.so.6(1600)                     = 0x4000
8 <... realloc resumed> )                    = 0x4000
8 --- SIGCHLD (Child exited) ---
7 realloc@libc.so.6(0x4000, 2000 <unfinished ...>
7 malloc@libc.so.6(2000)                     = 0x5000
7 free@libc.so.6(0x4000)                     = <void>
7 <... realloc resumed> )                    = 0x5000
7 realloc@libc.so.6(0x2000, 0)               = 0
8 free@libc.so.6(0x3000 <unfinished ...>
7 malloc@libc.so.6(50)                       = 0x3000
8 <... free resumed> )                       = <void>
7 malloc@libc.so.6(9)                        = 0
8 free@libc.so.6(0x9999)                     = <void>
7 malloc@libc.so.6(60)                       = 0x1000
8 +++ exited (status 0) +++
""")
        process = subprocess.run(["awk", "-f", path, calls], capture_output=True, text=True, check=True)
        self.assertEqual(process.stdout.replace("\t", " ").splitlines(),
                         ["a 0x1000 24", "a 0x2000 100", "a 0x3000 120", "a 0x4000 1600", "r 0x4000 0x5000 2000",
                          "f 0x2000", "f 0x3000", "a 0x3000 50", "f 0x1000", "a 0x1000 60"])
        found = as_json("fit", self.file("trace", process.stdout))
        self.assertEqual((found["input"]["peak_bytes"], found["input"]["peak_line"]), (2244, 5))


if __name__ == "__main__":
    unittest.main()
