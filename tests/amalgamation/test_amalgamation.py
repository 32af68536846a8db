"""The library as one file, which scripts/amalgamate writes: how it is compiled, what it exports, what its fast paths cost."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SOURCE = Path(os.environ["SNUG_SOURCE"])
HERE = SOURCE / "tests/amalgamation"
GOLDEN = SOURCE / "tests/golden"
REPLACED = SOURCE / "tests/conformance/operators/replaced.cc"
CC = os.environ["CC"]
CXX = os.environ["CXX"]
# What the top of snug.cpp says, and what its readers may add.
FLAGS = ["-std=c++20", "-O2", "-fPIC", "-nostdinc++", "-Wall", "-Wextra", "-Werror"]
LINK = ["-shared", "-Wl,-Bsymbolic,-z,initfirst,-z,nodelete,-z,now"]


def run(*command, **environment):
    return subprocess.run([str(word) for word in command], env={**os.environ, **environment}, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)


def compilers():
    """By C drivers, as a user would call them: a C++ driver would name its library to the linker."""
    found = (shutil.which(name) for name in (CC, "gcc", "clang-19", "clang"))
    return {os.path.basename(os.path.realpath(path)): path for path in found if path}


class Amalgamation(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp(prefix="snug-amalgamation-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.amalgamate(cls.folder)
        cls.source = cls.folder / "snug.cpp"
        cls.objects = {}

    @staticmethod
    def amalgamate(folder, root=SOURCE):
        process = run(sys.executable, SOURCE / "scripts/amalgamate", "-o", folder, "--root", root)
        if process.returncode != 0:
            raise AssertionError(process.stdout)

    def whole(self, compiler, *definitions):
        """The file compiled, once: ten seconds."""
        name = os.path.basename(os.path.realpath(compiler)) + "".join(definitions)
        if name not in self.objects:
            self.objects[name] = self.folder / f"{name}.o"
            self.expect(compiler, *FLAGS, *definitions, "-c", self.source, "-o", self.objects[name])
        return self.objects[name]

    def expect(self, *command, **environment):
        process = run(*command, **environment)
        self.assertEqual(process.returncode, 0, f"{command}\n{process.stdout}")
        return process.stdout

    def test_the_same_tree_gives_the_same_bytes(self):
        again = self.folder / "again"
        self.amalgamate(again)
        for name in ("snug.cpp", "snug.h"):
            self.assertEqual((self.folder / name).read_bytes(), (again / name).read_bytes())

    def test_one_name_in_two_unnamed_namespaces_is_refused(self):
        tree = self.folder / "tree"
        for name in ("src", "include"):
            shutil.copytree(SOURCE / name, tree / name)
        shutil.copy(SOURCE / "LICENSE", tree)
        for name in ("clock", "fault"):
            with (tree / f"src/os/{name}.cpp").open("a") as file:
                file.write("namespace {\nint twice(int) { return 2; }\n}  // namespace\n")
        process = run(sys.executable, SOURCE / "scripts/amalgamate", "-o", self.folder / "refused", "--root", tree)
        self.assertEqual(process.returncode, 1)
        self.assertIn("src/os/fault.cpp: an unnamed namespace of src/os/clock.cpp has a 'twice' too", process.stdout)

    def test_a_repository_is_left_alone(self):
        """What builds the crate asks git while its user may be at work with it."""
        tree = self.folder / "clone"
        for name in ("src", "include"):
            shutil.copytree(SOURCE / name, tree / name)
        shutil.copy(SOURCE / "LICENSE", tree)
        git = ("git", "-C", tree, "-c", "user.name=test", "-c", "user.email=test@localhost")
        for words in (("init", "--quiet"), ("add", "--all"), ("commit", "--quiet", "--message=all")):
            self.expect(*git, *words)
        os.utime(tree / "src/layers.txt", (1e9, 1e9))  # of which git has another time
        before = (tree / ".git/index").read_bytes()
        self.amalgamate(self.folder / "of_clone", tree)
        self.assertEqual((tree / ".git/index").read_bytes(), before)
        commit = self.expect(*git, "rev-parse", "HEAD").strip()
        self.assertIn(f", commit {commit}\n", (self.folder / "of_clone/snug.cpp").read_text())

    def test_each_compiler_makes_the_library_of_it(self):
        for name, compiler in compilers().items():
            with self.subTest(compiler=name):
                self.make_and_prove(self.folder / name, compiler)

    def make_and_prove(self, build, compiler):
        library = build / "lib/libsnug.so"
        archive = build / "lib/libsnug.a"
        member = build / "snug.o"
        library.parent.mkdir(parents=True)
        self.expect(compiler, self.whole(compiler), "-o", library, *LINK, "-Wl,-soname,libsnug.so.0")
        library.with_name("libsnug.so.0").symlink_to(library.name)
        self.expect(compiler, *FLAGS, "-DSNUG_NO_MALLOC", "-fno-exceptions", "-c", self.source, "-o", member)
        self.expect("ar", "rcs", archive, member)
        self.expect(SOURCE / "scripts/check_symbols", build)
        self.expect_nothing_hidden_and_missing(member)
        self.expect_nothing_hidden_and_missing(self.whole(compiler))
        self.count_instructions(library)
        for what, served in (([library, f"-Wl,-rpath,{library.parent}"], "snug_malloc 1 malloc 2\n"),
                             ([archive], "snug_malloc 1 malloc 0\n")):
            program = build / "program"
            self.expect(compiler, f"-I{self.folder}", HERE / "program.c", "-o", program, *what)
            self.assertEqual(self.expect(program), served)

    def expect_nothing_hidden_and_missing(self, member):
        """The linker takes a hidden symbol for null where another library has it: a fork then finds no lock of stdio's."""
        hidden = [line for line in self.expect("readelf", "-sW", member).splitlines() if " HIDDEN " in line and " UND " in line]
        self.assertEqual(hidden, [])

    def count_instructions(self, library):
        count = [os.environ["STEP_COUNT"], "--subject", os.environ["STEP_SUBJECT"], "--allocator", library]
        clock = "purge_after:86400000"  # as tests/golden sets it
        self.expect(*count, "--max", GOLDEN / "bounds.json", SNUG_CONF=clock)
        self.expect(*count, "--kind", "single", "--max", GOLDEN / "trusted_bounds.json", SNUG_CONF=f"sized_delete:trust,{clock}")

    def test_a_program_compiles_it_in(self):
        program = self.folder / "whole"
        self.expect(CC, f"-I{self.folder}", HERE / "program.c", self.whole(CC), "-o", program)
        self.assertEqual(self.expect(program), "snug_malloc 1 malloc 2\n")

    def test_a_static_program_takes_it_and_starts_threads(self):
        program = self.folder / "static"
        self.expect(CC, "-static", f"-I{self.folder}", HERE / "static.c", self.whole(CC, "-DSNUG_STATIC"), "-o", program)
        self.assertEqual(self.expect(program), "malloc 1 thread 0\n")

    def test_a_program_replaces_some_operators(self):
        """Those that C++ defines by them must reach them, in a program that has the library in it as well."""
        program = self.folder / "replaced"
        for replaced, own in ((0, 192), (1, 96), (2, 192), (3, 96)):
            for link in (["-static", self.whole(CC, "-DSNUG_STATIC")], [self.whole(CC)]):
                self.expect(CXX, "-std=c++20", "-fno-builtin", f"-DREPLACES={replaced}", REPLACED, *link, "-o", program)
                self.assertEqual(self.expect(program), f"looked at 384, own {own}, wrong 0\n")


if __name__ == "__main__":
    unittest.main()
