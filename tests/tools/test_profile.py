"""snug profile names the functions of a known program, compares profiles, and refuses what is none."""

import json
import os
import platform
import resource
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from pprof_file import PprofFile
from tool_under_test import LIBRARY, TOOL, clean_environment, snug

PROGRAM = os.environ["KNOWN_HEAP"]
WITHOUT_FRAME_POINTERS = os.environ["KNOWN_HEAP_WITHOUT_FRAME_POINTERS"]
# Where stacks are walked by tables.
HAS_TABLES = platform.machine() == "x86_64" and platform.libc_ver()[0] == "glibc"
HAS_SYMBOLIZER = bool(shutil.which("addr2line") or shutil.which("llvm-symbolizer"))

# Code of no file, with a map for perf, which calls malloc: push %rbp; mov %rsp,%rbp; call *%rsi; pop %rbp; ret.
MADE_CODE = r"""
import ctypes, mmap, os
code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
code.write(b"\x55\x48\x89\xe5\xff\xd6\x5d\xc3")
begin = ctypes.addressof(ctypes.c_char.from_buffer(code))
with open(f"/tmp/perf-{os.getpid()}.map", "w") as file:
    file.write(f"{begin:x} 8 made_by_a_jit\n")
call = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)(begin)
libc = ctypes.CDLL(None)
for _ in range(64):
    call(1 << 20, ctypes.cast(libc.malloc, ctypes.c_void_p))
print(os.getpid())
"""


def varint(value):
    return bytes([value]) if value < 0x80 else bytes([value & 0x7F | 0x80]) + varint(value >> 7)


def text(field, value):
    """A text, or a message."""
    return varint(field << 3 | 2) + varint(len(value)) + value


def number(field, value):
    return varint(field << 3) + varint(value)


# A profile of what lives, in bytes, before its places and stacks.
BEGIN = text(6, b"") + text(6, b"inuse_space") + text(6, b"bytes") + text(1, number(1, 1) + number(2, 2))


class ProfileTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = tempfile.TemporaryDirectory()
        cls.file = str(Path(cls.folder.name) / "prof.pb")
        cls.run_ = snug("profile", "--distance", "64K", "-o", cls.file, "--json", cls.file + ".json", PROGRAM, "1", "50", "300")
        cls.stacks = json.loads(Path(cls.file + ".json").read_text())["stacks"]

    @classmethod
    def tearDownClass(cls) -> None:
        cls.folder.cleanup()

    def of(self, name: str, measure: str) -> float:
        return sum(s[measure]["bytes"] for s in self.stacks if any(f.endswith(name + "(unsigned long)") for f in s["stack"][:1]))

    def test_the_programs_status_and_output_are_its_own(self) -> None:
        self.assertEqual(self.run_.returncode, 0, self.run_.stderr)
        self.assertIn("full: small", self.run_.stdout)

    @unittest.skipUnless(HAS_SYMBOLIZER, "no symbolizer")
    def test_functions_are_named_with_what_they_held_at_the_peak(self) -> None:
        mib = 1 << 20
        self.assertAlmostEqual(self.of("large", "peak") / mib, 120, delta=25)
        self.assertAlmostEqual(self.of("mixed", "peak") / mib, 75, delta=20)
        self.assertEqual(self.of("large", "live"), 0)
        self.assertGreater(self.of("temporary", "allocated"), 0)

    @unittest.skipUnless(HAS_SYMBOLIZER, "no symbolizer")
    def test_what_came_and_went_is_shown_of_all_that_was_allocated(self) -> None:
        for measure, *options in (("live",), ("allocated", "--allocated")):
            shown = snug("profile", "--show", self.file, "-n", "1000", *options).stdout
            self.assertTrue(shown.startswith(f"{measure}: "), shown)
            self.assertEqual("temporary(unsigned long)" in shown, measure == "allocated", shown)
        self.assertEqual(snug("profile", "--show", self.file, "--allocated", "--peak").returncode, 2)

    @unittest.skipUnless(HAS_TABLES, "no tables")
    @unittest.skipUnless(HAS_SYMBOLIZER, "no symbolizer")
    def test_all_callers_are_told_of_code_without_frame_pointers(self) -> None:
        file = Path(self.folder.name) / "without.json"
        snug("profile", "--distance", "64K", "--json", str(file), WITHOUT_FRAME_POINTERS, "1", "50", "300")
        found = set()
        for stack in json.loads(file.read_text())["stacks"]:
            names = [frame.rpartition("::")[2].partition("(")[0] for frame in stack["stack"]]
            if names[0] in {"large", "mixed", "small"}:
                found.add(names[0])
                self.assertEqual([name for name in names if name in {"hold", "main", "_start"}], ["hold", "main", "_start"])
        self.assertEqual(found, {"large", "mixed", "small"})

    @unittest.skipUnless(HAS_SYMBOLIZER, "no symbolizer")
    def test_the_file_has_the_names_of_functions(self) -> None:
        file = PprofFile(Path(self.file).read_bytes())
        for function in ("large", "mixed", "small"):
            self.assertTrue(file.has(f"{function}(unsigned long)"), file.names)
        self.assertFalse([name for name in file.names if "+0x" in name or name.startswith("0x")], "addresses are no names")
        by_mapping = {}
        for mapping, names in file.locations.values():
            by_mapping.setdefault(mapping, []).append(bool(names))
        for number, (path, (has_functions, has_files, has_lines)) in file.mappings.items():
            self.assertEqual(has_functions, number in by_mapping and all(by_mapping[number]), path)
            self.assertLessEqual((has_files, has_lines), (has_functions, has_functions), path)
        self.assertIn(True, [facts[0] for path, facts in file.mappings.values() if path == PROGRAM])

    @unittest.skipUnless(HAS_SYMBOLIZER, "no symbolizer")
    def test_the_names_are_there_where_the_program_is_not(self) -> None:
        program = Path(self.folder.name) / "gone"
        shutil.copy(PROGRAM, program)
        file, bare = f"{program}.pb", f"{program}.bare.pb"
        snug("profile", "--distance", "64K", "-o", file, str(program), "1", "50", "300")
        subprocess.run([program, "1", "50", "300"], check=True, capture_output=True,
                       env=clean_environment(LD_PRELOAD=LIBRARY, SNUG_CONF=f"profile:64K,profile_out:{bare}.%p"))
        [bare] = Path(self.folder.name).glob("gone.bare.pb.*")
        self.assertEqual(PprofFile(bare.read_bytes()).names, set())
        named = f"{program}.named.pb"
        self.assertEqual(snug("profile", "--show", str(bare), "-o", named).returncode, 0)
        again = f"{program}.again.pb"
        program.unlink()
        for one in (file, named):
            self.assertTrue(PprofFile(Path(one).read_bytes()).has("large(unsigned long)"))
            shown = snug("profile", "--show", one, "--peak", "-o", again)
            self.assertIn("large(unsigned long)", shown.stdout)
            self.assertEqual(PprofFile(Path(again).read_bytes()).names, PprofFile(Path(one).read_bytes()).names)
            if shutil.which("go"):
                top = subprocess.run(["go", "tool", "pprof", "-sample_index=peak_space", "-top", one], capture_output=True, text=True)
                self.assertIn("::large(unsigned long)", top.stdout, top.stderr)

    @unittest.skipUnless(platform.machine() == "x86_64", "the code is of x86-64")
    def test_code_of_no_file_has_the_names_of_a_map_for_perf(self) -> None:
        file = Path(self.folder.name) / "made.pb"
        ran = snug("profile", "--distance", "64K", "-o", str(file), sys.executable, "-c", MADE_CODE)
        self.addCleanup(Path(f"/tmp/perf-{ran.stdout.strip()}.map").unlink, missing_ok=True)
        self.assertIn("made_by_a_jit", ran.stderr)
        self.assertIn("made_by_a_jit", PprofFile(file.read_bytes()).names)

    def test_a_profile_less_itself_is_nothing(self) -> None:
        self.assertIn("peak: 0 B in 0 blocks, of 0 stacks", snug("profile", "--peak", "--diff", self.file, self.file).stdout)

    def test_a_stack_of_which_nothing_is_known_has_no_calls(self) -> None:
        file = Path(self.file + ".unknown")
        file.write_bytes(BEGIN + text(2, text(1, b"") + text(2, varint(4096))))
        answer = snug("profile", "--show", file)
        self.assertEqual(answer.returncode, 0, answer)
        self.assertRegex(answer.stdout, r"4 KiB +100\.0% +0 +unknown\n")

    def test_many_mappings_take_no_time_without_end(self) -> None:
        file = Path(self.file + ".mapped")
        mappings = b"".join(text(3, number(1, n) + number(2, n << 20) + number(3, (n + 1) << 20)) for n in range(1, 100000))
        places = b"".join(text(4, number(1, n) + number(2, n) + number(3, n << 20)) for n in range(1, 100000))
        file.write_bytes(BEGIN + mappings + places + text(2, text(1, b"\x01") + text(2, b"\x64")))
        answer = subprocess.run([TOOL, "profile", "--show", file], env=clean_environment(), capture_output=True, text=True, check=False,
                                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (20, 20)))
        self.assertEqual(answer.returncode, 0, answer)

    def test_a_small_file_takes_no_memory_without_end(self) -> None:
        bomb = BEGIN + text(6, b"f" * 200) + text(5, number(1, 1) + number(2, 3))
        bomb += text(4, number(1, 1) + text(4, number(1, 1) + number(2, 1)) * 20000)  # a place of so many functions
        bomb += text(2, text(1, b"\x01" * 5000) + text(2, b"\x64"))  # which a stack has so often
        file = Path(self.file + ".bomb")
        file.write_bytes(bomb)
        answer = subprocess.run([TOOL, "profile", "--show", file], env=clean_environment(), capture_output=True, text=True, check=False,
                                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30)))
        self.assertEqual(answer.returncode, 2, answer)
        self.assertRegex(answer.stderr, r"^snug: cannot read the profile '.*': its stacks have more functions than can be\n$")

    def test_what_is_no_profile_is_refused_in_a_line(self) -> None:
        whole = Path(self.file).read_bytes()
        torn = Path(self.file + ".torn")
        for bytes_ in (b"\x1f\x8b", b"x", whole[:100], whole[:-3], b""):
            torn.write_bytes(bytes_)
            answer = snug("profile", "--show", str(torn))
            self.assertEqual((answer.returncode, len(answer.stderr.splitlines())), (2, 1), answer.stderr)
        self.assertEqual(snug("profile", "--distance", "7", PROGRAM).returncode, 2)
        self.assertEqual(snug("profile").returncode, 2)

    @unittest.skipUnless(shutil.which("go"), "no Go")
    def test_pprof_reads_it(self) -> None:
        answer = subprocess.run(["go", "tool", "pprof", "-sample_index=peak_space", "-top", self.file], capture_output=True, text=True)
        self.assertEqual(answer.returncode, 0, answer.stderr)
        self.assertRegex(answer.stdout, r"\blarge\b")


if __name__ == "__main__":
    unittest.main()
