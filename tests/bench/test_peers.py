"""The declared peers: wrong files are refused with file and key, and a library counts only if it serves. Builds nothing."""

import os
import stat
import sys
import tempfile
import threading
import unittest
from pathlib import Path

SOURCE = Path(os.environ["SNUG_SOURCE"])
sys.path.insert(0, str(SOURCE / "bench" / "harness"))

from snug_bench.allocator import DeclarationError, FromCrate, load_allocators, read_declaration  # noqa: E402
from snug_bench import preparation  # noqa: E402
from snug_bench.preparation import Unavailable, prepare  # noqa: E402

WHOLE = """
name = "mine"
title = "an allocator"
homepage = "https://example.org"
family = "none"
[get]
system = true
library = "libc.so.6"
[version]
command = "echo 1.2.3"
[environment]
A = "1"
[variants.small]
title = "the same, smaller"
environment = { B = "2" }
"""


def silent(_: str) -> None:
    pass


class TemporaryFolderTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="snug-peers-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def declare(self, text, name="mine"):
        place = self.folder / "bench" / "harness" / "allocators"
        place.mkdir(parents=True, exist_ok=True)
        file = place / f"{name}.toml"
        file.write_text(text)
        return file

    def declared_at(self, library):
        """An allocator with this file as its library."""
        return read_declaration(self.declare(WHOLE.replace("libc.so.6", str(library))))[0]


class DeclarationTest(TemporaryFolderTest):
    def test_all_declared_here_are_sound(self):
        allocators = load_allocators(SOURCE / "bench" / "harness" / "allocators")
        self.assertLess({"glibc", "jemalloc", "mimalloc", "tcmalloc", "tbbmalloc", "scudo", "mimalloc3", "snmalloc", "tlsf",
                         "tcmalloc_google", "hardened_malloc", "rpmalloc", "mimalloc3-nothp"}, set(allocators))
        for allocator in allocators.values():
            if isinstance(allocator.get, FromCrate):
                self.assertTrue(os.access(allocator.get.build, os.X_OK), allocator.get.build)

    def test_a_variant_is_an_allocator_with_its_bases_library(self):
        base, variant = read_declaration(self.declare(WHOLE))
        self.assertEqual((variant.name, variant.base, variant.library_name), ("mine-small", "mine", "mine"))
        self.assertEqual((dict(base.environment), dict(variant.environment)), ({"A": "1"}, {"A": "1", "B": "2"}))

    def test_what_is_wrong_is_said_with_file_and_key(self):
        for old, new, said in (
                ('title = "an allocator"', "", "title: a text is wanted"),
                ('name = "mine"', 'name = "yours"', "name: 'yours' must be the file's name"),
                ("system = true", 'system = true\napt = "x"', "exactly one of system, apt and crate"),
                ("system = true", 'system = true\nlibary = "x"', "get.libary: unknown"),
                ('A = "1"', "A = 1", "environment.A: a name with a text"),
                ("[version]", "[versions]", "version"),
                ('system = true\nlibrary = "libc.so.6"', 'crate = "x"\nversion = "1"\nbuild = "bench/nosuch"', "there is no "),
                ("[variants.small]", "[variants.Small]", "variants.Small: a name is of"),
                ("[get]", "[get", "")):
            file = self.declare(WHOLE.replace(old, new))
            with self.subTest(said), self.assertRaises(DeclarationError) as raised:
                read_declaration(file)
            self.assertIn(str(file), str(raised.exception))
            self.assertIn(said, str(raised.exception))

    def test_an_empty_folder_is_refused(self):
        with self.assertRaises(DeclarationError):
            load_allocators(self.folder)


class PreparationTest(TemporaryFolderTest):
    def test_the_c_library_serves_and_tells_its_version(self):
        prepared = prepare(load_allocators(SOURCE / "bench" / "harness" / "allocators")["glibc"], self.folder, silent)
        self.assertEqual(prepared.library.name, "libc.so.6")
        self.assertRegex(prepared.version, r"^2\.\d+$")

    def test_snug_serves_by_its_path(self):
        library = Path(os.environ["SNUG_LIBRARY"])
        self.assertEqual(prepare(self.declared_at(library), self.folder, silent).library, library.resolve())

    def test_what_does_not_serve_is_unavailable(self):
        text = self.folder / "libtext.so"
        text.write_text("no library")
        with self.assertRaisesRegex(Unavailable, "does not serve"):
            prepare(self.declared_at(text), self.folder, silent)
        libm = preparation.found(self.declared_at("libm.so.6"))
        with self.assertRaisesRegex(Unavailable, "malloc is .*libc"):
            prepare(self.declared_at(libm), self.folder, silent)
        with self.assertRaisesRegex(Unavailable, "dies of signal"):
            prepare(self.declared_at(os.environ["DAMAGING_LIBRARY"]), self.folder, silent)
        with self.assertRaisesRegex(Unavailable, "nosuch.so is not installed"):
            prepare(self.declared_at(self.folder / "nosuch.so"), self.folder, silent)

    def test_a_missing_package_is_named(self):
        source = 'apt = "libnosuch1"\nlibrary = "libnosuch.so.1"'
        declared = WHOLE.replace('system = true\nlibrary = "libc.so.6"', source)
        # Without the allocator's name: the caller that shows the message puts it before.
        with self.assertRaisesRegex(Unavailable, "^libnosuch.so.1 is not installed; apt-get install libnosuch1$"):
            prepare(read_declaration(self.declare(declared))[0], self.folder, silent)

    def test_a_version_that_cannot_be_read_makes_it_unavailable(self):
        for command in ("false", "true", "printf '1\\\\n2'"):
            declared = WHOLE.replace("echo 1.2.3", command)
            with self.subTest(command), self.assertRaises(Unavailable) as raised:
                prepare(read_declaration(self.declare(declared))[0], self.folder, silent)
            self.assertRegex(str(raised.exception), r"^version\.command of bench/harness/allocators/mine\.toml, .*; wanted is one line")
            self.assertIn(command.replace("\\\\", "\\"), str(raised.exception).replace("\\\\", "\\"))


class BuildTest(TemporaryFolderTest):
    """A crate's way, with a build script of ours and without a registry."""

    def setUp(self):
        super().setUp()
        vendor = preparation.vendor
        self.addCleanup(setattr, preparation, "vendor", vendor)
        preparation.vendor = self.vendor
        self.vendored = 0

    def vendor(self, get, work, steps):
        self.vendored += 1
        source = work / "vendor" / "x-1"
        source.mkdir(parents=True, exist_ok=True)
        (source / "Cargo.toml").write_text('version = "1.0.7+stuff"\n')
        return source

    def allocator(self, script):
        file = self.declare(WHOLE.replace('system = true\nlibrary = "libc.so.6"',
                                          'crate = "x"\nversion = "1"\nbuild = "bench/harness/allocators/build_x"').replace(
            "echo 1.2.3", "test -f $CRATE_SOURCE/Cargo.toml && basename $LIBRARY"))
        build = file.with_name("build_x")
        build.write_text("#!/bin/sh\n" + script)
        build.chmod(build.stat().st_mode | stat.S_IXUSR)
        return read_declaration(file)[0]

    def test_it_is_built_once_and_again_when_the_script_changes(self):
        allocator = self.allocator(f'cp {os.environ["SNUG_LIBRARY"]} "$2"')
        prepared = [prepare(allocator, self.folder / "peers", silent) for _ in range(2)]
        self.assertEqual(prepared[0], prepared[1])
        self.assertEqual((prepared[0].library.name, prepared[0].version), ("libmine.so", "libmine.so"))
        self.assertIn("source: crate x 1.0.7+stuff\n", prepared[0].library.with_suffix(".txt").read_text())
        self.assertEqual(self.vendored, 1)
        prepare(self.allocator(f'cp {os.environ["SNUG_LIBRARY"]} "$2" # again'), self.folder / "peers", silent)
        self.assertEqual(self.vendored, 2)

    def test_many_at_once_build_it_once(self):
        allocator = self.allocator(f'sleep 0.2; cp {os.environ["SNUG_LIBRARY"]} "$2"')
        threads = [threading.Thread(target=prepare, args=(allocator, self.folder / "peers", silent)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(self.vendored, 1)

    def test_a_failure_is_one_line_with_the_log(self):
        for script, said in (("echo 'x.c:1: error: no' >&2; echo bye; exit 3", "building failed: x.c:1: error: no"),
                             ("exit 0", "there is no"),
                             (f'cp {os.environ["DAMAGING_LIBRARY"]} "$2"', "dies of signal")):
            with self.subTest(said), self.assertRaises(Unavailable) as raised:
                prepare(self.allocator(script), self.folder / "peers", silent)
            self.assertIn(said, str(raised.exception))
            self.assertNotIn("\n", str(raised.exception))
            self.assertFalse((self.folder / "peers" / "lib" / "libmine.so").exists())


if __name__ == "__main__":
    unittest.main()
