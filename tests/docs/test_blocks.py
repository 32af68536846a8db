"""Every block of code in README and in the pages for users does what the page says: commands are run, in a folder of
their own on an installation of its own; C and C++ are compiled and linked; CMake is configured.

Where a page names files of the reader's (./job, program.c, sizes.txt), small ones stand for them. A command that takes a
whole build or a whole run of something is only looked up: COVERED_ELSEWHERE names the test that runs it.
"""

import json
import os
import re
import shutil
import subprocess
import tempfile
import tomllib
import unittest
from collections.abc import Callable
from pathlib import Path

from document import ROOT, USER_PAGES, Block, blocks, indented

BUILD = Path(os.environ["SNUG_BUILD"])
CC, CXX = os.environ.get("CC", "cc"), os.environ.get("CXX", "c++")
COVERED_ELSEWHERE = {
    r"make (\w[\w-]*)": "the stage of .ci/run that starts from a bare system, and CI itself",
    r"uv run --project bench (snug-bench|snug-seeds) .*": "tests/bench/harness",
    r"scripts/(setup|fresh_machine)\b.*": "the stage of .ci/run that starts from a bare system",
    r"scripts/record_programs .*": "tests/bench/test_traces.py",
    r"scripts/front_door \w+": "test_front_door.py",
    r"scripts/sensitivity\b.*": "tests/bench/harness/test_sensitivity.py",
}
COVERED_PAGES = {"recipes.md": "tests/programs/recipes.py, with the real programs"}
# Languages in which nothing can be run: what programs print, and files of other programs.
INERT = {"text", "ini", "systemd", "dockerfile", "nginx"}
PREAMBLE = """\
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <vector>
#include <snug/snug.h>
#include <snug/allocator.h>
#include <snug/cell_heap.h>
#include <snug/cell/locked_cell_heap.h>
#include <snug/cell/real_time_region.h>
#include <snug/compact_heap.h>
#include <snug/heap_owner.h>
#include <snug/heap_resource.h>
#include <snug/pool.h>
#include <snug/pooled.h>
#include <snug/resource.h>
"""
C_PREAMBLE = "#include <snug/heap.h>\n#include <snug/realtime.h>\n#include <snug/snug.h>\n#include <stdio.h>\n#include <stdlib.h>\n"
SURROUNDINGS = """\
struct Point { double x, y; };
alignas(16) [[maybe_unused]] static char memory[1 << 20];
"""
CMAKE = """\
cmake_minimum_required(VERSION 3.25)
project(user LANGUAGES C CXX)
add_executable(program program.c)
add_executable(server program.c)
"""
# CMake takes a name that is no target for a library of the system's, and says nothing.
CMAKE_CHECK = """
get_target_property(libraries program LINK_LIBRARIES)
foreach(library IN LISTS libraries)
  if(NOT TARGET ${library})
    message(FATAL_ERROR "no target: ${library}")
  endif()
endforeach()
"""
PROGRAM = """\
#include <stdio.h>
#include <stdlib.h>
int main(void) {
  for (int i = 0; i < 10000; ++i) free(malloc(i));
  puts("done");
  return 0;
}
"""


class Workshop:
    """A folder with an installation of snug in prefix/, and the reader's own files."""

    def __init__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="snug-docs."))
        self.prefix = self.folder / "prefix"
        # By components, each of which has its own manifest: the one of the user's last `make install` stays as it is.
        for component in ("runtime", "development", "tools"):
            subprocess.run(["cmake", "--install", BUILD, "--prefix", self.prefix, "--component", component], check=True,
                           stdout=subprocess.DEVNULL)
        self.here = self.folder / "here"
        self.here.mkdir()
        (self.here / "program.c").write_text(PROGRAM)
        for name in ("job", "server", "program"):
            subprocess.run([CC, "-o", self.here / name, self.here / "program.c"], check=True)
        (self.here / "job.py").write_text("print(len([str(n) for n in range(1000)]))\n")
        (self.here / "sizes.txt").write_text("24 17034\n100 20\n5000 3\n")
        (self.here / "program.lines").write_text("a\t1\t24\na\t2\t100\nf\t1\n")
        libraries = list((self.prefix / "lib").rglob("libsnug.so"))
        self.library = libraries[0]
        shutil.copy(self.library, self.here / "libmine.so")
        # As scripts/amalgamate writes it.
        subprocess.run([ROOT / "scripts/amalgamate", "-o", self.here], check=True, stdout=subprocess.DEVNULL)
        self.sources = self.folder / "source"
        self.sources.mkdir()
        (self.sources / "snug").symlink_to(ROOT)

    def environment(self) -> dict[str, str]:
        libraries, headers = str(self.library.parent), str(self.prefix / "include")
        return {**os.environ, "PATH": f"{self.prefix}/bin:{self.here}:{os.environ['PATH']}", "LIBRARY_PATH": libraries,
                "LD_LIBRARY_PATH": libraries, "C_INCLUDE_PATH": headers, "CPLUS_INCLUDE_PATH": headers,
                "PKG_CONFIG_PATH": f"{libraries}/pkgconfig", "CMAKE_PREFIX_PATH": str(self.prefix), "COLUMNS": "100"}

    def run(self, command: list, folder: Path | None = None) -> str:
        """Empty, or what went wrong."""
        process = subprocess.run(command, cwd=folder or self.here, env=self.environment(), stdin=subprocess.DEVNULL,
                                 capture_output=True, text=True, check=False)
        return f"exit status {process.returncode}: {process.stderr[-600:]}" if process.returncode else ""

    def has(self, allocator: str) -> bool:
        return "/" in allocator or not self.run([self.prefix / "bin/snug", "measure", "--on", allocator, "--", "true"])


def covered(line: str) -> bool:
    return any(re.fullmatch(pattern, line) for pattern in COVERED_ELSEWHERE)


def without_comment(line: str) -> str:
    return re.sub(r"(^|\s)#\s.*", "", line).rstrip()


class BlocksTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.shop = Workshop()
        cls.addClassCleanup(shutil.rmtree, cls.shop.folder)
        cls.known = {name: cls.shop.has(name) for name in ("jemalloc", "mimalloc", "mimalloc3", "snmalloc", "tcmalloc",
                                                           "tbbmalloc")}
        cls.compiled_lines = set()
        cls.blocks = [block for page in USER_PAGES if page.exists() for block in blocks(page)]

    def check_each(self, language: str, fault: Callable[[Block], str]) -> None:
        chosen = [block for block in self.blocks if block.language == language and not block.excuse
                  and block.page.name not in COVERED_PAGES]
        self.assertTrue(chosen, language)
        faults = [f"{block.place}: {why}" for block in chosen if (why := fault(block))]
        self.assertEqual(len(faults), 0, "\n" + "\n".join(faults))

    def test_every_block_says_what_it_is(self):
        strange = [f"{block.place}: '{block.language}'" for block in self.blocks
                   if block.language not in {"sh", "c", "cpp", "cmake", "toml", "json", *INERT} and not block.excuse]
        self.assertEqual(strange, [])
        self.assertEqual([f"{page.name}:{line}" for page in USER_PAGES if page.exists() for line in indented(page)], [])

    def test_few_blocks_are_not_run(self):
        excused = [block for block in self.blocks if block.excuse]
        self.assertLess(len(excused), len(self.blocks) / 4)
        self.assertTrue(all(len(block.excuse.split()) >= 4 for block in excused), "a reason is a sentence")

    def test_commands_run(self):
        self.check_each("sh", lambda block: self.shop.run(["bash", "-euo", "pipefail", "-c", self.script(block)]))

    def script(self, block: Block) -> str:
        """Without what is covered elsewhere, with our prefix, and with the allocators that are here."""
        text = block.text.replace("\\\n", " ")
        lines = [line for line in text.splitlines() if not covered(without_comment(line)) and not self.is_compiled(line)]
        text = "\n".join(lines).replace("/usr/local/lib/libsnug.so", str(self.shop.library))
        text = text.replace("/usr/local", str(self.shop.prefix))

        def here(found: re.Match) -> str:
            names = [name for name in found[2].split(",") if self.known.get(name, True)]
            return found[1] + ",".join(names or ["glibc"])
        return re.sub(r"(--compare )(\S+)", here, text)

    def is_compiled(self, line: str) -> bool:
        """Whether another block has compiled the same, which is there still: the one file takes a quarter of a minute."""
        line = without_comment(line)
        seen = line in self.compiled_lines
        if line.startswith("cc "):
            self.compiled_lines.add(line)
        return seen

    def test_targets_exist(self):
        """Of make's: the Makefile has them."""
        named = {word for block in self.blocks if block.language == "sh"
                 for word in re.findall(r"(?m)^\s*make (\w[\w-]*)(?![\w=-])", block.text)}
        targets = set(re.findall(r"(?m)^([\w-]+):", (ROOT / "Makefile").read_text()))
        self.assertTrue(named)
        self.assertEqual(named - targets, set())

    def test_c_compiles(self):
        self.check_each("c", lambda block: self.compiled(block, "c", C_PREAMBLE, "", [CC, "-std=c17"]))

    def test_cpp_compiles(self):
        self.check_each("cpp", lambda block: self.compiled(block, "cpp", PREAMBLE, SURROUNDINGS, [CXX, "-std=c++20"]))

    def compiled(self, block: Block, suffix: str, preamble: str, surroundings: str, compiler: list[str]) -> str:
        """A block without main() is the inside of one."""
        includes = "".join(f"{line}\n" for line in block.text.splitlines() if line.startswith("#include"))
        rest = "".join(f"{line}\n" for line in block.text.splitlines() if not line.startswith("#include"))
        if re.search(r"\b(main|measure_all)\(", rest):
            text = includes + rest
        else:
            text = f"{preamble}{includes}{surroundings}int main(void) {{\n{rest}return 0;\n}}\n"
        file = self.shop.here / f"block.{suffix}"
        file.write_text(text)
        if "measure_all(" in rest:
            return self.shop.run([*compiler, "-fsyntax-only", f"-I{ROOT}/bench/loads/workloads", file])
        return self.shop.run([*compiler, file, "-o", self.shop.here / "block", "-l:libsnug_cell_rt.a", "-l:libsnug_cell.a",
                              "-l:libsnug.a", "-pthread"])

    def test_cmake_configures(self):
        self.check_each("cmake", self.configured)

    def configured(self, block: Block) -> str:
        project, work = self.shop.sources, self.shop.folder / "cmake"
        shutil.copy(self.shop.here / "program.c", project)
        (project / "CMakeLists.txt").write_text(CMAKE + block.text + CMAKE_CHECK)
        shutil.rmtree(work, ignore_errors=True)
        return self.shop.run(["cmake", "-G", "Ninja", "-S", project, "-B", work])

    def test_data_can_be_read(self):
        for block in self.blocks:
            if block.language in ("toml", "json"):
                (tomllib.loads if block.language == "toml" else json.loads)(block.text)


if __name__ == "__main__":
    unittest.main()
