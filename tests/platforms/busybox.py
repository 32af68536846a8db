"""busybox for musl, for scripts/check_platforms: a program that nobody wrote for snug, preloaded and linked statically.

Of one set of objects two programs are linked: `busybox`, and `busybox_static` with libsnug_malloc.a. Both run the job of
musl/busybox_job.sh, and have to print what it prints where musl's own malloc serves.
"""

import json
import os
import re
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

JOB = Path(__file__).parent / "musl" / "busybox_job.sh"
ROWS = "50000"
# What musl lacks of Debian's configuration, GNU's regular expressions, and tc, which newer headers of the kernel do not suit.
LEFT_OUT = ("STATIC", "EXTRA_COMPAT", "FEATURE_VI_REGEX_SEARCH", "TC")
# At the least, of the job: processes that say at their end what snug served, as the shell itself does not, and allocations.
REPORTS = 50
ALLOCATIONS = 1_000_000


def build(folder: Path, source: Path, compiler: str, run: Callable[..., None], environment: dict[str, str], jobs: int) -> None:
    """`folder` is the target's; the programs come beside those of CMakeLists.txt."""
    archive = folder / "lib" / "libsnug_malloc.a"
    objects = folder / "busybox"
    programs = [folder / "platforms" / "bin" / name for name in ("busybox", "busybox_static")]
    newest = max(archive.stat().st_mtime, Path(__file__).stat().st_mtime)
    if all(each.exists() and each.stat().st_mtime > newest for each in programs):
        return
    objects.mkdir(exist_ok=True)
    configuration = (source / "debian" / "config" / "pkg" / "static").read_text()
    (objects / ".config").write_text(re.sub(rf"^CONFIG_({'|'.join(LEFT_OUT)})=y$", r"# CONFIG_\1 is not set", configuration, flags=re.M))
    run("make", "-s", "-C", objects, "-f", source / "Makefile", f"KBUILD_SRC={source}", "silentoldconfig",
        environment=environment, quiet=True)
    # In place of its own script, which tries with options that Zig's linker does not know.
    ways = [("-dynamic", ""), ("-static", archive)]
    link = " && ".join(f"$(CC) {way} -pie -o {program} {more} -Wl,--gc-sections -Wl,--start-group $(core-y) $(libs-y) -Wl,--end-group"
                       for program, (way, more) in zip(programs, ways, strict=True))
    run("make", "-s", "-C", objects, f"-j{jobs}", f"CC={compiler} -w -fPIE", f"cmd_busybox__={link}", "busybox_unstripped",
        environment=environment, quiet=True)


def outcomes(folder: Path, execute: Callable[[list[str], dict[str, str], Path], tuple[str, str]]) -> Iterator[tuple[str, str, str]]:
    """Of each way its name, what was wrong, and what was printed or, if nothing was wrong, what snug served."""
    binaries = folder / "platforms" / "bin"
    expected: str | None = None
    for way, program, library in (("musl's own malloc", "busybox", ""), ("preload", "busybox", folder / "lib" / "libsnug.so"),
                                  ("static", "busybox_static", "")):
        with tempfile.TemporaryDirectory() as place:
            served = Path(place) / "served"
            work = Path(place) / "work"
            work.mkdir()
            settings = {"SNUG_CONF": f"served:{served}"} | ({"LD_PRELOAD": str(library)} if library else {})
            text, wrong = execute([str(binaries / program), "sh", str(JOB), ROWS], os.environ | settings, work)
            reports = [json.loads(line)["allocations"] for line in served.read_text().splitlines()] if served.exists() else []
        figures = f"{sum(reports)} allocations by snug in {len(reports)} processes"
        if expected is None:
            expected = text
            wrong = wrong or ("snug served it: " + figures if reports else "")
        elif not wrong and text != expected:
            wrong = "printed other than on musl's own malloc"
        elif not wrong and (len(reports) < REPORTS or sum(reports) < ALLOCATIONS):
            wrong = figures
        yield way, wrong, text if wrong else figures
