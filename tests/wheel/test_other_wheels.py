"""The wheels for musl and AArch64, as far as this machine can run what is in them: musl's for this processor by its dynamic linker,
the others under qemu-user. A wheel takes a quarter of an hour to build: those are tried that `make wheel` has put into build/wheels."""

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

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from ctest_status import main  # noqa: E402

SOURCE = Path(os.environ["SNUG_SOURCE"])
WHEELS = SOURCE / "build/wheels"
PROGRAMS = {"libsnug.so.0", "libsnug_recorder.so", "snug", "snug-component-replayer", "snug-replayer"}
JOB = """
#include <stdio.h>
#include <stdlib.h>
void* volatile block;
int main(void) {
  for (int i = 0; i < 1000; ++i) {
    block = malloc(100 + i);
    free(block);
  }
  puts("done");
  return 0;
}
"""


def must(*command, **environment):
    process = subprocess.run([str(word) for word in command], env={**os.environ, **environment}, stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if process.returncode != 0:
        raise AssertionError(f"{command} ended with {process.returncode}:\n{process.stdout}")
    return process.stdout


def readelf(*words):
    return must("readelf", "--wide", *words)


class OtherWheel:
    """What holds of each; a class below for each wheel."""

    target = ""
    platform = ""
    machine = ""
    oldest = None  # glibc's version
    needed = set()

    def setUp(self):
        wheels = sorted(WHEELS.glob(f"snug_malloc-*-py3-none-{self.platform}*.whl"))
        if not wheels:
            self.skipTest(f"no wheel for {self.platform} in build/wheels: scripts/make_wheels {self.target}")
        self.folder = Path(tempfile.mkdtemp(prefix="snug-wheel-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.install(wheels[-1])

    def install(self, wheel):
        """Puts the files where pip does on a system of that kind; here pip refuses the wheel."""
        with zipfile.ZipFile(wheel) as file:
            for entry in file.infolist():
                found = re.fullmatch(r"snug_malloc-[^/]*\.data/(scripts|data)/(.*)", entry.filename)
                if not found:
                    continue
                path = self.folder / ("bin" if found[1] == "scripts" else "") / found[2]
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(file.read(entry))
                path.chmod(entry.external_attr >> 16 & 0o777)

    def programs(self):
        return {path.name: path for path in self.folder.rglob("*") if path.is_file() and path.read_bytes()[:4] == b"\x7fELF"}

    def test_programs_are_what_the_name_says(self):
        programs = self.programs()
        self.assertEqual(set(programs), PROGRAMS)
        for name, path in programs.items():
            self.assertIn(self.machine, readelf("--file-header", path), name)
            needed = set(re.findall(r"\(NEEDED\).*\[(.*?)\.so", readelf("--dynamic", path)))
            self.assertLessEqual(needed, self.needed, name)
            versions = re.findall(r"Name: GLIBC_(\d+)\.(\d+)", readelf("--version-info", path))
            if self.oldest:
                self.assertLessEqual(max((int(major), int(minor)) for major, minor in versions), self.oldest, name)
            else:
                self.assertEqual(versions, [], name)

    def runner(self):
        """The command that programs of the target stand behind; empty where they run as they are."""
        platforms = runpy.run_path(str(SOURCE / "scripts/check_platforms"))
        command, missing = platforms["runner"](self.target)
        if missing:
            self.skipTest(missing)
        return command

    def compiled(self):
        cross = runpy.run_path(str(SOURCE / "scripts/cross_build"))
        source, job = self.folder / "job.c", self.folder / "job"
        source.write_text(JOB)
        must(cross["zig"](), "cc", "-target", self.target, "-dynamic", "-O1", "-fno-builtin", source, "-o", job,
             **cross["compile_environment"]())
        return job

    def test_records(self):
        command = self.runner()
        snug, job, trace = self.folder / "bin/snug", self.compiled(), self.folder / "t.trace"
        # qemu-user starts no program of another processor: it is told to start itself.
        must(*command, snug, "record", "-o", trace, "--", *command, job)
        said = must(*command, snug, "trace", "info", trace)
        self.assertRegex(said, r"(?m)^malloc +1,00\d")
        self.assertIn("0 fault(s)", must(*command, snug, "trace", "check", trace))

    def test_runs_and_replays(self):
        command = self.runner()
        if command:
            self.skipTest("qemu-user starts no program of another processor")
        snug, job, trace = self.folder / "bin/snug", self.compiled(), self.folder / "t.trace"
        self.assertRegex(must(snug, "run", "--report", "--", job), r"(?m)^snug served +pid +allocations")
        self.assertIn("nothing stands in the way", must(snug, "doctor", job))
        must(snug, "record", "-o", trace, "--", job)
        said = must(snug, "replay", trace, "-n", "1")
        self.assertRegex(said, r"snug [\d.]+: served")
        self.assertIn("musl", said)


class MuslX86(OtherWheel, unittest.TestCase):
    target = "x86_64-linux-musl"
    platform = "musllinux_1_2_x86_64"
    machine = "X86-64"
    needed = {"libc"}


class MuslArm(OtherWheel, unittest.TestCase):
    target = "aarch64-linux-musl"
    platform = "musllinux_1_2_aarch64"
    machine = "AArch64"
    needed = {"libc"}


class GlibcArm(OtherWheel, unittest.TestCase):
    target = "aarch64-linux-gnu.2.17"
    platform = "manylinux_2_17_aarch64"
    machine = "AArch64"
    oldest = (2, 17)
    needed = {"libc", "libm", "libdl", "libpthread", "librt", "ld-linux-aarch64"}


if __name__ == "__main__":
    main()
