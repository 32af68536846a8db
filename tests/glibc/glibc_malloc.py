"""glibc_malloc.py: glibc's own tests of malloc, each on glibc, which proves the test, and on libsnug.so.

They come from the tarball of Debian's glibc-source, of the version that runs here. The tests and glibc's support/, which
they stand on, are unpacked into the build folder and built there against the system's headers; nothing of glibc is part
of snug. served.c is linked into each, so that a run counts only if the allocator that is meant has served it. Those in
left_out.txt are not run.

Usage: glibc_malloc.py COMPILER LIBSNUG_SO WORK_FOLDER
Exit status: 0 all pass, 1 one fails, 77 the package is not installed.
"""

import os
import platform
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
INCLUDE = HERE.parent.parent / "include"
SOURCES = Path("/usr/src/glibc")
UNPACKED = ["malloc/*", "support/*", "test-skeleton.c", "sysdeps/generic/malloc-size.h", "sysdeps/generic/malloc-alignment.h"]
# Headers of glibc's own include/; most others there wrap installed ones.
PRIVATE_HEADERS = ["array_length.h", "intprops.h", "libc-diag.h", "libc-pointer-arith.h"]
NO_PART_OF_SUPPORT = ("tst-", "test-", "links-dso-", "shell-", "echo-", "true-")
FOLDERS = ["SRCDIR", "OBJDIR", "OBJDIR_ELF_LDSO", "INSTDIR", "LIBDIR", "BINDIR", "SBINDIR", "ROOTSBINDIR", "SLIBDIR",
           "SYSCONFDIR", "COMPLOCALEDIR"]
# What a test looks for in the text that malloc_stats() prints, which no standard knows: glibc's last line, and snug's.
IN_SNUGS_WORDS = {"tst-malloc-stats-cancellation": ("max mmap bytes", "heaps without a thread")}
# Fewer mean that something has moved: glibc 2.36 has 31, 2.41 has more.
LEAST_TESTS = 31
SLOW_FIRST = ["tst-mallocfork2", "tst-mallocfork3", "tst-malloc-thread-fail", "tst-malloc-tcache-leak"]


def find_tarball() -> Path:
    version = platform.libc_ver()[1]
    tarball = SOURCES / f"glibc-{version}.tar.xz"
    if not tarball.exists():
        print(f"skipped: no {tarball}; scripts/setup test installs it (glibc-source)")
        sys.exit(77)
    return tarball


def unpack(tarball: Path, work: Path) -> Path:
    tree = work / "tree"
    stamp = work / "unpacked"
    mark = f"{tarball} {tarball.stat().st_mtime_ns} {Path(__file__).stat().st_mtime_ns}\n"
    if not stamp.exists() or stamp.read_text() != mark:
        shutil.rmtree(work, ignore_errors=True)
        tree.mkdir(parents=True)
        wanted = [f"*/{name}" for name in UNPACKED] + [f"*/include/{name}" for name in PRIVATE_HEADERS]
        subprocess.run(["tar", "-xJf", tarball, "-C", tree, "--strip-components=1", "--wildcards", *wanted], check=True)
        (tree / "include").rename(tree / "private")
        stamp.write_text(mark)
    return tree


def left_out() -> dict[str, str]:
    table = {}
    for line in (HERE / "left_out.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            name, reason = line.split("|")
            table[name.strip()] = reason.strip()
    return table


class Bench:
    """Builds and runs the tests of one tree."""

    def __init__(self, compiler: str, library: str, tree: Path, work: Path) -> None:
        self.library = library
        self.tree = tree
        self.work = work
        # A timeout of a test is meant for a machine that does nothing else.
        settings = ["-D_GNU_SOURCE", "-DTIMEOUTFACTOR=100"] + [f'-D{folder}_PATH="/nonexistent"' for folder in FOLDERS]
        # glibc's own <sys/cdefs.h> has that macro beyond the one that is installed, since 2.41.
        settings.append("-D__attribute_optimization_barrier__=__attribute__((noinline,noclone))")
        # Its own <limits.h> is read with every other; and what it says of malloc's layout no system installs.
        headers = ["-include", "limits.h", f"-I{tree}", f"-I{tree}/support", f"-I{tree}/sysdeps/generic", f"-I{tree}/private"]
        self.compile = [compiler, "-std=gnu11", "-O2", "-w", "-fno-builtin", *settings, *headers]
        self.shared = work / "support.a"

    def build_support(self) -> None:
        subprocess.run([*self.compile, f"-I{INCLUDE}", "-c", HERE / "served.c", "-o", self.work / "served.o"], check=True)
        if self.shared.exists():
            return
        sources = [source for source in sorted((self.tree / "support").glob("*.c"))
                   if not source.name.startswith(NO_PART_OF_SUPPORT)]
        objects = self.work / "objects"
        objects.mkdir(exist_ok=True)

        # What does not compile outside glibc's tree is left out: a test that needed it would not link.
        def build(source: Path) -> None:
            subprocess.run([*self.compile, "-c", source, "-o", objects / f"{source.stem}.o"], capture_output=True)

        with ThreadPoolExecutor(max_workers=2) as pool:
            list(pool.map(build, sources))
        subprocess.run(["ar", "rcs", self.shared, *sorted(objects.glob("*.o"))], check=True)

    def build(self, source: Path, product: Path) -> str:
        command = [*self.compile, f"-I{source.parent}", source, self.work / "served.o", self.shared, "-o", product]
        built = subprocess.run([*command, "-pthread", "-ldl"], capture_output=True, text=True)
        return f"does not build:\n{built.stderr}" if built.returncode != 0 else ""

    def run(self, program: Path, on_snug: bool) -> str:
        """Empty if the program passes and the allocator has served it, else why not."""
        folder = self.work / "runs" / f"{program.name}.{'snug' if on_snug else 'glibc'}"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        ours = {key: value for key, value in os.environ.items() if key not in ("LD_PRELOAD", "SNUG_CONF")}
        ours["SERVED_BY"] = str(folder / "served")
        if on_snug:
            ours["LD_PRELOAD"] = self.library
        ran = subprocess.run([program], env=ours, cwd=folder, capture_output=True, text=True, errors="replace")
        if ran.returncode != 0:
            return f"ended with {ran.returncode}\n{(ran.stdout + ran.stderr)[-2000:]}"
        served = (folder / "served").read_text().splitlines() if (folder / "served").exists() else []
        expected = f"100 {self.library}" if on_snug else "0 "
        if not served or not all(line.startswith(expected) and ("libsnug" in line) == on_snug for line in served):
            return f"not served by {'snug' if on_snug else 'glibc'}: {served}"
        shutil.rmtree(folder)
        return ""

    def try_test(self, test: str) -> str:
        """Empty if the test passes on both, else why not."""
        source = self.tree / "malloc" / f"{test}.c"
        program = self.work / test
        said = self.build(source, program)
        if said:
            return said
        said = self.run(program, on_snug=False)
        if said:
            return f"on glibc: {said}"
        if test in IN_SNUGS_WORDS:
            theirs, ours = IN_SNUGS_WORDS[test]
            text = source.read_text()
            if text.count(f'"{theirs}"') != 1:
                return f"does not look for \"{theirs}\" once"
            source = source.with_stem(f"{test}-in-snugs-words")
            program = self.work / source.stem
            source.write_text(text.replace(theirs, ours))
            said = self.build(source, program)
            source.unlink()
        return said or self.run(program, on_snug=True)


def main() -> int:
    compiler, library, work_folder = sys.argv[1:]
    work = Path(work_folder)
    tree = unpack(find_tarball(), work)
    skipped = left_out()
    present = sorted(path.stem for path in (tree / "malloc").glob("tst-*.c")) + ["mallocbug"]
    tests = sorted((test for test in present if test not in skipped), key=lambda test: test not in SLOW_FIRST)
    bench = Bench(compiler, library, tree, work)
    bench.build_support()
    with ThreadPoolExecutor(max_workers=2) as pool:
        results = dict(zip(tests, pool.map(bench.try_test, tests)))
    for test in present:
        if test in skipped:
            print(f"{test}: left out: {skipped[test]}")
        else:
            note = " (looks for snug's words instead of glibc's)" if test in IN_SNUGS_WORDS else ""
            print(f"{test}: {results[test] or 'ok'}{note}")
    failed = [test for test in tests if results[test]]
    print(f"glibc {platform.libc_ver()[1]}: {len(tests) - len(failed)} of {len(tests)} tests pass, "
          f"{len(present) - len(tests)} left out")
    if len(tests) < LEAST_TESTS:
        print(f"{LEAST_TESTS} tests at least were expected: look at what has changed in the package")
        return 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
