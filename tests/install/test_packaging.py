"""The recipes of packaging/ and CMake's FetchContent, as a project uses them that builds snug itself: by a repository, made here of the
tree. What comes of it counts only if snug's own statistics say that it served the program."""

import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

SOURCE = Path(os.environ["SNUG_SOURCE"])
CMAKE = os.environ["CMAKE"]
PROGRAMS = SOURCE / "tests" / "install"
# What a clone has of the tree and builds of; without the machine's own settings, as a user's.
TREE = ["CMakeLists.txt", "LICENSE", "cmake", "docs/man", "include", "packaging", "scripts", "src"]
MESON = "meson==1.9.1"
CONAN = "conan==2.22.2"

MESON_PROJECT = """\
project('user', 'c')
executable('dropin', 'only_strdup.c', dependencies: dependency('snug'), install: true)
executable('functions', 'snug_functions.c', dependencies: dependency('snug-static'), install: true)
"""
CMAKE_PROGRAMS = """
add_executable(dropin only_strdup.c)
target_link_libraries(dropin PRIVATE snug::snug)
add_executable(functions snug_functions.c)
target_link_libraries(functions PRIVATE snug::static)
"""
FETCH_PROJECT = """\
cmake_minimum_required(VERSION 3.25)
project(user LANGUAGES C CXX)
include(FetchContent)
FetchContent_Declare(snug GIT_REPOSITORY "{address}" GIT_TAG main)
FetchContent_MakeAvailable(snug)
"""
CONAN_PROJECT = """\
cmake_minimum_required(VERSION 3.25)
project(user LANGUAGES C)
find_package(snug 0.1 REQUIRED)
"""
CONAN_REQUIRES = """\
[requires]
snug/{version}
[generators]
CMakeToolchain
AutotoolsDeps
[layout]
cmake_layout
"""


def run(*command, folder, **environment):
    process = subprocess.run([str(word) for word in command], cwd=folder, env={**os.environ, **environment}, stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if process.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, command))} ended with {process.returncode}:\n{process.stdout[-4000:]}")
    return process.stdout


def tool(package, *command, folder, **environment):
    """A program of a package of PyPI's."""
    return run(SOURCE / "scripts/uv", "tool", "run", "--quiet", "--from", package, *command, folder=folder, **environment)


class Packaging(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp(prefix="snug-packaging-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.tree = cls.folder / "tree"
        for name in TREE:
            here, there = SOURCE / name, cls.tree / name
            there.parent.mkdir(parents=True, exist_ok=True)
            if here.is_dir():
                shutil.copytree(here, there, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy2(here, there)
        for command in (["init", "--quiet", "--initial-branch=main"], ["add", "--all"], ["commit", "--quiet", "--message=all"]):
            run("git", "-c", "user.name=test", "-c", "user.email=test@localhost", *command, folder=cls.tree)
        cls.address = cls.tree.as_uri()

    def project(self, name, **files):
        folder = self.folder / name
        folder.mkdir()
        for program in ("only_strdup.c", "snug_functions.c"):
            shutil.copy2(PROGRAMS / program, folder)
        for file, text in files.items():
            (folder / file.replace("_txt", ".txt").replace("_build", ".build")).write_text(text)
        return folder

    def expect_served(self, dropin, functions, **environment):
        report = self.folder / "report"
        report.unlink(missing_ok=True)
        run(dropin, folder=self.folder, SNUG_CONF=f"report:{report}", **environment)
        self.assertGreaterEqual(json.loads(report.read_text())["allocations"], 1000)
        self.assertEqual(run(functions, folder=self.folder, **environment).strip(), "1000")

    def test_meson_builds_it_as_a_subproject(self):
        project = self.project("meson", meson_build=MESON_PROJECT)
        shutil.copytree(SOURCE / "packaging/meson", project / "subprojects")
        wrap = project / "subprojects/snug.wrap"
        wrap.write_text(wrap.read_text().replace("url = ADDRESS", f"url = {self.address}"))
        tool(MESON, "meson", "setup", "build", "--prefix=/usr", "--libdir=lib", folder=project)
        tool(MESON, "meson", "compile", "-C", "build", folder=project)
        self.expect_served(project / "build/dropin", project / "build/functions")
        # What the project installs starts elsewhere: the library goes with the program.
        installed = project / "image"
        tool(MESON, "meson", "install", "-C", "build", "--destdir", installed, folder=project)
        shutil.rmtree(project / "build")
        self.assertIn("libsnug.so.0", {path.name for path in (installed / "usr/lib").iterdir()})
        self.expect_served(installed / "usr/bin/dropin", installed / "usr/bin/functions", LD_LIBRARY_PATH=str(installed / "usr/lib"))

    def test_cmake_fetches_it(self):
        project = self.project("fetch", CMakeLists_txt=FETCH_PROJECT.format(address=self.address) + CMAKE_PROGRAMS)
        run(CMAKE, "-G", "Ninja", "-S", ".", "-B", "build", folder=project)
        run(CMAKE, "--build", "build", "--target", "dropin", "functions", folder=project)
        found = {path.name: path for path in (project / "build").rglob("*") if path.name in ("dropin", "functions") and path.is_file()}
        self.expect_served(found["dropin"], found["functions"])

    def test_conan_builds_and_finds_it(self):
        header = (SOURCE / "include/snug/snug.h").read_text()
        version = ".".join(re.findall(r"^#define SNUG_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)$", header, re.M))
        project = self.project("conan", CMakeLists_txt=CONAN_PROJECT + CMAKE_PROGRAMS, conanfile_txt=CONAN_REQUIRES.format(version=version))
        home = {"CONAN_HOME": str(self.folder / "conan-home")}
        tool(CONAN, "conan", "profile", "detect", folder=project, **home)
        tool(CONAN, "conan", "create", self.tree / "packaging/conan", folder=project, **home)
        tool(CONAN, "conan", "install", ".", folder=project, **home)
        run(CMAKE, "--preset", "conan-release", folder=project, **home)
        run(CMAKE, "--build", "--preset", "conan-release", folder=project, **home)
        self.expect_served(project / "build/Release/dropin", project / "build/Release/functions")
        # By flags, as of autotools: what stands behind them is treated as before.
        flags = project / "build/Release/generators/conanautotoolsdeps.sh"
        run("sh", "-c", f". {flags} && {os.environ['CC']} -Wl,--as-needed $LDFLAGS only_strdup.c $LIBS -lm -o by_flags", folder=project)
        library = next((self.folder / "conan-home").rglob("p/lib/libsnug.so.0"))
        self.expect_served(project / "by_flags", project / "build/Release/functions", LD_LIBRARY_PATH=str(library.parent))
        self.assertNotIn("libm.so", run("readelf", "-d", "by_flags", folder=project))


if __name__ == "__main__":
    unittest.main()
