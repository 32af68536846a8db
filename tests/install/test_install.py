"""An installation into a folder of its own: what it consists of, what is built on it, and that it goes without a trace. Systems for
which there is none are told by a line."""

import json
import os
import platform
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

SOURCE = Path(os.environ["SNUG_SOURCE"])
BUILD = Path(os.environ["SNUG_BUILD"])
CMAKE = os.environ["CMAKE"]

# By components, each of which has its own manifest: the one of the user's last `make install` stays as it is.
COMPONENTS = ("runtime", "development", "tools")


def run(*command, **environment):
    return subprocess.run([str(word) for word in command], env={**os.environ, **environment}, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)


def install(prefix, component, **environment):
    process = run(CMAKE, "--install", BUILD, "--prefix", prefix, "--strip", "--component", component, **environment)
    if process.returncode != 0:
        raise AssertionError(process.stdout)
    return (BUILD / f"install_manifest_{component}.txt").read_text()


def entries(folder):
    """Everything below the folder, by names from there."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def sections(file):
    return run("readelf", "-SW", file).stdout


class Installed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp(prefix="snug-install-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.prefix = cls.folder / "prefix"
        for component in COMPONENTS:
            install(cls.prefix, component)

    def library(self, name):
        found = list(self.prefix.rglob(name))
        self.assertEqual(len(found), 1, name)
        return found[0]

    def install_all(self, root):
        """Returns the command that takes it away again."""
        manifest = self.folder / "manifest.txt"
        manifest.write_text("\n".join(install("/usr/local", component, DESTDIR=str(root)) for component in COMPONENTS))
        folders = self.folder / "folders.txt"
        noted = (BUILD / f"install_folders_{component}.txt" for component in COMPONENTS)
        folders.write_text("".join(file.read_text() for file in noted))
        return (CMAKE, f"-DMANIFEST={manifest}", f"-DMADE_FOLDERS={folders}", "-P", SOURCE / "cmake" / "uninstall.cmake")

    def test_is_stripped(self):
        for file in (self.library("libsnug.so"), self.prefix / "bin" / "snug"):
            self.assertNotIn(".symtab", sections(file))
            self.assertNotIn(".debug_info", sections(file))
        for name in ("libsnug.a", "libsnug_cell.a", "libsnug_cell_rt.a"):
            self.assertIn(".symtab", sections(self.library(name)))
            self.assertNotIn(".debug_info", sections(self.library(name)))

    def test_is_known_by_its_soname(self):
        library = self.library("libsnug.so")
        self.assertEqual(os.readlink(library), "libsnug.so.0")
        self.assertIn("[libsnug.so.0]", run("readelf", "-d", library).stdout)
        self.assertEqual(library.resolve(), library.with_name("libsnug.so.0").resolve())

    def test_tool_needs_what_programs_need_and_no_more(self):
        run_time = self.folder / "run_time"
        for component in ("runtime", "tools"):
            install(run_time, component)
        self.assertFalse(list(run_time.rglob("libsnug.so")) + list(run_time.rglob("*.a")) + list(run_time.rglob("*.h")))
        process = run(run_time / "bin" / "snug", "run", "--report", "--", "ls", run_time)
        self.assertEqual(process.returncode, 0, process.stdout)
        self.assertRegex(process.stdout, r"\nls +\d+ +[1-9]\d*")

    def test_serves_what_is_built_on_it(self):
        process = run(SOURCE / "tests" / "install" / "consumers", self.prefix, self.folder / "consumers")
        self.assertEqual(process.returncode, 0, process.stdout)

    def test_serves_from_where_it_was_moved_to(self):
        moved = self.folder / "moved"
        shutil.copytree(self.prefix, moved, symlinks=True)
        os.rename(self.prefix, self.folder / "away")
        try:
            process = run(SOURCE / "tests" / "install" / "consumers", moved, self.folder / "moved_consumers")
        finally:
            os.rename(self.folder / "away", self.prefix)
        self.assertEqual(process.returncode, 0, process.stdout)

    def test_goes_and_leaves_what_others_have_there(self):
        root = self.folder / "root"
        usr_local = root / "usr" / "local"
        for folder in ("bin", "include/other", "lib/cmake", "lib/pkgconfig", "lib/empty", "share/man/man1", "share/man/man3",
                       "share/bash-completion/completions", "share/zsh/site-functions"):
            (usr_local / folder).mkdir(parents=True)
        (usr_local / "include" / "other" / "other.h").touch()
        before = entries(root)
        uninstall = self.install_all(root)
        self.assertIn("usr/local/include/snug/cell", entries(root))
        (usr_local / "include" / "snug" / "mine.h").touch()

        process = run(*uninstall, DESTDIR=str(root))
        self.assertEqual(process.returncode, 0, process.stdout)
        mine = ["usr/local/include/snug", "usr/local/include/snug/mine.h"]
        self.assertEqual(entries(root), sorted(before + mine))

        again = run(*uninstall, DESTDIR=str(root))
        self.assertNotEqual(again.returncode, 0)
        self.assertIn("nothing to remove", again.stdout)

    def test_goes_with_the_folders_that_it_has_made(self):
        root = self.folder / "bare_root"
        (root / "usr").mkdir(parents=True)
        for times in (1, 2):
            for _ in range(times):
                uninstall = self.install_all(root)
            self.assertIn("usr/local/share/man/man3", entries(root))
            process = run(*uninstall, DESTDIR=str(root))
            self.assertEqual((process.returncode, entries(root)), (0, ["usr"]), process.stdout)


class Configured(unittest.TestCase):
    """What CMake makes of settings, with nothing built."""

    def configure(self, *settings, **environment):
        folder = Path(tempfile.mkdtemp(prefix="snug-configured-"))
        self.addCleanup(shutil.rmtree, folder)
        process = run(CMAKE, "-G", "Ninja", "-S", SOURCE, "-B", folder, "-DSNUG_BUILD_TOOLS=OFF", "-DSNUG_BUILD_BENCH=OFF", *settings,
                      **environment)
        self.assertEqual(process.returncode, 0, process.stdout)
        return folder

    def test_goes_from_below_the_working_folder(self):
        """Where the prefix is no absolute path."""
        folder = self.configure("-DSNUG_BUILD_SHARED=OFF")
        self.copy_archives(folder)
        place = folder / "place"
        place.mkdir()
        for words in (("--install", folder, "--prefix", "image/usr"),
                      (f"-DMANIFEST={folder}/install_manifest.txt", f"-DMADE_FOLDERS={folder}/install_folders.txt", "-P",
                       SOURCE / "cmake/uninstall.cmake")):
            process = run("sh", "-c", 'cd "$0" && exec "$@"', place, CMAKE, *words)
            self.assertEqual(process.returncode, 0, process.stdout)
        self.assertEqual(entries(place), [])

    def test_the_cross_compiler_may_lie_below_a_name_with_a_space(self):
        with tempfile.TemporaryDirectory(prefix="snug zig ") as place:
            zig = Path(place, "zig")
            # This machine's compiler in place of Zig's, which takes the target first.
            zig.write_text('#!/bin/sh\nword=$1; shift\ncase $word in c*) shift 2 ;; esac\nexec "$word" "$@"\n')
            zig.chmod(0o755)
            folder = self.configure(f"-DCMAKE_TOOLCHAIN_FILE={SOURCE}/cmake/zig/toolchain.cmake", f"-DSNUG_ZIG={zig}",
                                    "-DSNUG_TARGET=x86_64-linux-musl")
            process = run(CMAKE, "--build", folder, "--target", "snug_cell")
            self.assertEqual(process.returncode, 0, process.stdout)

    def test_whole_programs_are_compiled_without_it(self):
        """By flags as distributions have them, and by CMake's own option."""
        folder = self.configure("-DCMAKE_INTERPROCEDURAL_OPTIMIZATION=ON", CFLAGS="-flto=auto", CXXFLAGS="-flto=auto")
        commands = [entry["command"] for entry in json.loads((folder / "compile_commands.json").read_text())]
        self.assertGreater(len(commands), 100)
        self.assertIn("-flto", commands[0])
        self.assertEqual({re.findall(r"-f(?:no-)?lto\b", command)[-1] for command in commands}, {"-fno-lto"})

    def copy_archives(self, folder):
        """Of the build, as if they had been built here."""
        (folder / "lib").mkdir(exist_ok=True)
        for archive in ("libsnug.a", "libsnug_cell.a", "libsnug_cell_rt.a"):
            shutil.copy(BUILD / "lib" / archive, folder / "lib")

    def test_folders_may_be_named_by_absolute_paths(self):
        folder = self.configure("-DSNUG_BUILD_SHARED=OFF", "-DCMAKE_INSTALL_PREFIX=/store/snug", "-DCMAKE_INSTALL_LIBDIR=/store/snug/lib",
                                "-DCMAKE_INSTALL_INCLUDEDIR=/store/snug-dev/include")
        self.copy_archives(folder)
        root = folder / "root"
        process = run(CMAKE, "--install", folder, "--component", "development", "--strip", DESTDIR=str(root))
        self.assertEqual(process.returncode, 0, process.stdout)
        self.assertNotIn(".debug_info", sections(root / "store/snug/lib/libsnug.a"))
        for module in ("snug", "snug-static"):
            lines = (root / f"store/snug/lib/pkgconfig/{module}.pc").read_text().splitlines()
            self.assertEqual(lines[:3], ["prefix=/store/snug", "libdir=/store/snug/lib", "includedir=/store/snug-dev/include"])


class Made(unittest.TestCase):
    def test_what_root_installs_everybody_may_enter(self):
        """By make install, beside which stands a cmake that says under which umask it installs."""
        with tempfile.TemporaryDirectory(prefix="snug-made-") as folder:
            shutil.copy(SOURCE / "Makefile", folder)
            for name, text in (("scripts/setup", ""), ("bin/cmake", 'if [ "$1" = --install ]; then umask; fi')):
                file = Path(folder, name)
                file.parent.mkdir()
                file.write_text(f"#!/bin/sh\n{text}\n")
                file.chmod(0o755)
            path = f"{folder}/bin:{os.environ['PATH']}"
            process = run("sh", "-c", 'umask 077; exec make --no-print-directory -C "$0" install', folder, PATH=path, DESTDIR="/nowhere",
                          MAKEFLAGS="", MAKELEVEL="0")
            self.assertEqual((process.returncode, process.stdout), (0, "0022\n"))


class Refused(unittest.TestCase):
    def expect_refusal(self, reason, *settings):
        with tempfile.TemporaryDirectory(prefix="snug-refused-") as folder:
            # Archives, as there need be no libraries to link programs with.
            process = run(CMAKE, "-G", "Ninja", "-S", SOURCE, "-B", folder, "-DCMAKE_TRY_COMPILE_TARGET_TYPE=STATIC_LIBRARY", *settings)
            self.assertNotEqual(process.returncode, 0)
            self.assertIn(f"snug is for 64-bit Linux, and this is {reason}", process.stdout)

    def test_another_system(self):
        self.expect_refusal("FreeBSD with pointers of 8 bytes", "-DCMAKE_SYSTEM_NAME=FreeBSD")

    @unittest.skipUnless(platform.machine() == "x86_64", "-m32 is an option for x86-64")
    def test_32_bits(self):
        self.expect_refusal("Linux with pointers of 4 bytes", "-DCMAKE_C_FLAGS=-m32", "-DCMAKE_CXX_FLAGS=-m32")


if __name__ == "__main__":
    unittest.main()
