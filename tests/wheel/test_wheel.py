"""The wheel as pip and uv install it into a fresh environment: what is in it, and that the command and its parts find each other."""

import base64
import csv
import hashlib
import io
import os
import re
import runpy
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile
from pathlib import Path

SOURCE = Path(os.environ["SNUG_SOURCE"])
TARGET = "x86_64-linux-gnu.2.17"
OLDEST = (2, 17)  # of the platform manylinux_2_17
# Its blocks are too long for Python's own arenas, and come from malloc.
JOB = "blocks = [bytes(2000 + i % 100) for i in range(20000)]; print(len(blocks))"


def run(*command, **environment):
    return subprocess.run([str(word) for word in command], env={**os.environ, **environment}, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)


def must(*command, **environment):
    process = run(*command, **environment)
    if process.returncode != 0:
        raise AssertionError(f"{command} ended with {process.returncode}:\n{process.stdout}")
    return process.stdout


def version():
    header = (SOURCE / "include/snug/snug.h").read_text()
    return ".".join(re.findall(r"^#define SNUG_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)$", header, re.M))


class WheelTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp(prefix="snug-wheel-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        said = must(SOURCE / "scripts/make_wheels", TARGET).splitlines()[-1]
        cls.wheel = SOURCE / said.removeprefix("make_wheels: ")
        cls.environment = cls.folder / "environment"
        must(sys.executable, "-m", "venv", cls.environment)
        cls.pip = cls.environment / "bin/pip"
        cls.before = cls.files()
        must(cls.pip, "install", "--no-index", "--quiet", cls.wheel)
        cls.snug = cls.environment / "bin/snug"
        cls.python = cls.environment / "bin/python3"

    @classmethod
    def files(cls):
        return sorted(path for path in cls.environment.rglob("*") if "__pycache__" not in path.parts and not path.is_dir())

    def test_name_says_where_it_runs(self):
        self.assertEqual(self.wheel.name, f"snug_malloc-{version()}-py3-none-manylinux_2_17_x86_64.manylinux2014_x86_64.whl")

    def test_record_names_every_file_with_its_hash(self):
        with zipfile.ZipFile(self.wheel) as wheel:
            information = f"snug_malloc-{version()}.dist-info"
            rows = list(csv.reader(io.StringIO(wheel.read(f"{information}/RECORD").decode())))
            self.assertEqual(sorted(row[0] for row in rows), sorted(wheel.namelist()))
            for name, digest, size in rows:
                if name == f"{information}/RECORD":
                    continue
                content = wheel.read(name)
                self.assertEqual(int(size), len(content), name)
                wanted = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
                self.assertEqual(digest, f"sha256={wanted}", name)

    def test_asks_for_no_newer_glibc_than_it_says(self):
        programs = [path for path in self.files() if path not in self.before and path.read_bytes()[:4] == b"\x7fELF"]
        names = sorted(path.name for path in programs)
        self.assertEqual(names, ["libsnug.so.0", "libsnug_recorder.so", "snug", "snug-component-replayer", "snug-replayer"])
        for path in programs:
            versions = re.findall(r"Name: GLIBC_(\d+)\.(\d+)", must("readelf", "--version-info", "--wide", path))
            self.assertLessEqual(max((int(major), int(minor)) for major, minor in versions), OLDEST, path.name)
            needed = re.findall(r"\(NEEDED\).*\[(.*?)\.so", must("readelf", "--dynamic", "--wide", path))
            self.assertLessEqual(set(needed), {"libc", "libm", "libdl", "libpthread", "librt", "ld-linux-x86-64"}, path.name)

    def test_version(self):
        self.assertIn(version(), must(self.snug, "--version"))

    def test_run_reports_that_snug_served(self):
        said = must(self.snug, "run", "--report", "--", self.python, "-c", JOB)
        self.assertRegex(said, r"(?m)^20000$")
        self.assertRegex(said, r"(?m)^snug served +pid +allocations")
        served = must(self.snug, "run", "--", self.python, "-c", "print(open('/proc/self/maps').read())")
        self.assertIn(str(self.environment / "lib/libsnug.so.0"), served)

    def test_records_and_replays(self):
        trace = self.folder / "t.trace"
        must(self.snug, "record", "-o", trace, "--", self.python, "-c", JOB)
        # What the job asks for is in the trace.
        self.assertRegex(must(self.snug, "trace", "info", trace), r"malloc")
        said = must(self.snug, "replay", trace, "--allocators", "glibc", "-n", "1")
        self.assertIn("snug", said)
        self.assertIn("glibc", said)

    def test_uvx_runs_it(self):
        uv = SOURCE / "scripts/uv"
        said = must(uv, "tool", "run", "--quiet", "--from", self.wheel, "snug", "run", "--", "python3", "-c", JOB,
                    UV_TOOL_DIR=self.folder / "tools", UV_CACHE_DIR=self.folder / "cache")
        self.assertEqual(said.splitlines()[-1], "20000")

    def test_gdb_has_its_command_where_it_can_be_named(self):
        names = {path.relative_to(self.environment).as_posix() for path in self.files()}
        self.assertIn("share/snug/snug-gdb.py", names)
        self.assertEqual([name for name in names if "auto-load" in name], [])

    def test_pip_takes_it_away_again(self):
        other = self.folder / "other"
        must(sys.executable, "-m", "venv", other)
        must(other / "bin/pip", "install", "--no-index", "--quiet", self.wheel)
        must(other / "bin/pip", "uninstall", "--yes", "--quiet", "snug-malloc")
        left = [path for path in other.rglob("*") if "snug" in path.name]
        self.assertEqual(left, [])


class Staged(unittest.TestCase):
    """What make_wheels takes of an installation, which needs no build."""

    def test_a_wheel_that_cannot_be_finished_is_not_there(self):
        with tempfile.TemporaryDirectory(prefix="snug-stage-") as folder:
            script = runpy.run_path(str(SOURCE / "scripts/make_wheels"))["pack"].__globals__
            wheels, program = Path(folder, "wheels"), Path(folder, "snug")
            wheels.mkdir()
            program.touch()
            script |= {"WHEELS": wheels, "install": lambda target, stage: None, "staged_files": lambda stage: {"scripts/snug": program}}
            with self.assertRaisesRegex(SystemExit, "a licence that the wheel has to carry"):
                script["pack"](TARGET, Path(folder, "nowhere/zig"))
            self.assertEqual(list(wheels.iterdir()), [])
            script["licences"] = lambda compiler: {"LICENSE": Path(folder, "nowhere")}
            with self.assertRaises(FileNotFoundError):
                script["pack"](TARGET, Path(folder, "nowhere/zig"))
            self.assertEqual(list(wheels.glob("*.whl")), [])
            script["licences"] = lambda compiler: {}
            wheel = script["pack"](TARGET, Path(folder, "nowhere/zig"))
            self.assertEqual(list(wheels.iterdir()), [wheel])

    def test_names(self):
        with tempfile.TemporaryDirectory(prefix="snug-stage-") as folder:
            stage = Path(folder)
            for name in ("bin/snug", "lib/libsnug.so.0.1.0", "lib/snug/snug-replayer", "share/man/man1/snug.1",
                         "share/gdb/auto-load/usr/local/lib/libsnug.so.0.1.0-gdb.py"):
                (stage / name).parent.mkdir(parents=True, exist_ok=True)
                (stage / name).touch()
            (stage / "lib/libsnug.so.0").symlink_to("libsnug.so.0.1.0")
            data = f"snug_malloc-{version()}.data"
            taken = runpy.run_path(str(SOURCE / "scripts/make_wheels"))["staged_files"](stage)
            self.assertEqual({name.removeprefix(f"{data}/") for name in taken},
                             {"scripts/snug", "data/lib/libsnug.so.0", "data/lib/snug/snug-replayer", "data/share/man/man1/snug.1",
                              "data/share/snug/snug-gdb.py"})


if __name__ == "__main__":
    unittest.main()
