"""pool_conformance.py: libstdc++'s own tests of its memory resources, with snug's in their place.

The tests come from the tarball of Debian's gcc-12-source, of which only they and the testsuite's headers are unpacked,
into the build folder and once; nothing of GCC is part of snug. substitute.h, included before each, makes the names of
std::pmr those of snug; a test counts only if its program contains snug's resource and not the library's.

Usage: pool_conformance.py COMPILER INCLUDE_FOLDER LIBSNUG_A WORK_FOLDER
Exit status: 0 all pass, 1 one fails, 77 the package is not installed.
"""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
SOURCES = Path("/usr/src/gcc-12")
RESOURCES = {
    "unsynchronized_pool_resource": "snug::PoolResource",
    "synchronized_pool_resource": "snug::SynchronizedPoolResource",
    "monotonic_buffer_resource": "snug::MonotonicResource",
}
# The whole of what is not run as it stands.
LEFT_OUT = {
    "synchronized_pool_resource/allocate_single.cc": "allocate.cc again without -pthread, which changes nothing since glibc 2.34",
    "synchronized_pool_resource/cons_single.cc": "cons.cc again without -pthread, which changes nothing since glibc 2.34",
    "synchronized_pool_resource/release_single.cc": "release.cc again without -pthread, which changes nothing since glibc 2.34",
    "monotonic_buffer_resource/93208.cc": "asks where libstdc++ keeps its own vtables; only compiled here",
}
COMPILED_ONLY = {"monotonic_buffer_resource/1.cc", "monotonic_buffer_resource/93208.cc"}
EXPECTED_TESTS = 21


def unpack(work: Path) -> Path:
    tarballs = sorted(SOURCES.glob("gcc-12*.tar.xz"))
    if not tarballs:
        print(f"skipped: no {SOURCES}/gcc-12*.tar.xz; scripts/setup test installs it (gcc-12-source)")
        sys.exit(77)
    stamp = work / "unpacked"
    mark = f"{tarballs[0]} {tarballs[0].stat().st_mtime_ns}\n"
    if not stamp.exists() or stamp.read_text() != mark:
        wanted = [f"*/libstdc++-v3/testsuite/20_util/{resource}/*" for resource in RESOURCES]
        wanted += [f"*/libstdc++-v3/testsuite/util/testsuite_{name}.h" for name in ("allocator", "hooks")]
        command = ["tar", "-xJf", tarballs[0], "-C", work, "--strip-components=3", "--wildcards", *wanted]
        subprocess.run(command, check=True)
        stamp.write_text(mark)
    return work


class Runner:
    def __init__(self, compiler: str, include: str, library: str, work: Path) -> None:
        self.flags = [compiler, "-std=gnu++20", "-O0", "-w", f"-I{work}", f"-I{work}/util", f"-I{include}"]
        self.library = library
        self.work = work

    def prepare(self) -> None:
        """The precompiled header: it lies beside its source, so the source is copied."""
        header = self.work / "substitute.h"
        header.write_text((HERE / "substitute.h").read_text())
        subprocess.run([*self.flags, "-x", "c++-header", header, "-o", f"{header}.gch"], check=True)

    def run(self, test: str) -> str:
        """Empty if the test passes, else why not."""
        source = self.work / "20_util" / test
        product = self.work / test.replace("/", "-").removesuffix(".cc")
        command = [*self.flags, "-include", "substitute.h", source, "-o", product]
        command += ["-c"] if test in COMPILED_ONLY else [self.library, "-pthread"]
        built = subprocess.run(command, capture_output=True, text=True)
        if built.returncode != 0:
            return f"does not compile:\n{built.stderr}"
        symbols = subprocess.run(["nm", "-C", product], check=True, capture_output=True, text=True).stdout
        resource = test.split("/")[0]
        needs = f"{RESOURCES[resource]}::" in symbols
        if test != "monotonic_buffer_resource/1.cc" and not needs:  # that one consists of static_asserts
            return f"does not contain {RESOURCES[resource]}"
        if f"pmr::{resource}" in symbols:
            return f"contains std::pmr::{resource}"
        if test in COMPILED_ONLY:
            return ""
        ran = subprocess.run([product], capture_output=True, text=True)
        return "" if ran.returncode == 0 else f"ended with {ran.returncode}\n{ran.stdout}{ran.stderr}"


def main() -> int:
    compiler, include, library, work_folder = sys.argv[1:]
    work = Path(work_folder)
    work.mkdir(parents=True, exist_ok=True)
    unpack(work)
    runner = Runner(compiler, include, library, work)
    runner.prepare()
    tests = [f"{resource}/{path.name}" for resource in RESOURCES for path in (work / "20_util" / resource).glob("*.cc")]
    tests.sort()
    wanted = [test for test in tests if test not in LEFT_OUT or test in COMPILED_ONLY]
    with ThreadPoolExecutor(max_workers=2) as pool:
        results = dict(zip(wanted, pool.map(runner.run, wanted)))
    for test in tests:
        if test in results:
            print(f"{test}: {results[test] or 'ok'}" + (" (compiled only)" if test in COMPILED_ONLY else ""))
        if test in LEFT_OUT:
            print(f"{test}: left out: {LEFT_OUT[test]}")
    failed = [test for test in results if results[test]]
    print(f"{len(results) - len(failed)} of {len(results)} pass; {len(LEFT_OUT)} left out, of {len(tests)} files")
    if len(tests) != EXPECTED_TESTS:
        print(f"{EXPECTED_TESTS} files were expected: look at what has changed in the package")
        return 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
