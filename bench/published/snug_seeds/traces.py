"""The traces of S2 as its replays read them, in lines: made by scripts/record_programs and turned by `snug trace export`, where they
are missing. They lie in build/traces."""

import gzip
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from snug_bench.problem import Problem

SCRIPT = Path(__file__).resolve().parents[3] / "scripts" / "record_programs"
PACKING = 4  # zlib's level


def lines_of(name: str, folder: Path, build: Path, tell: Callable[[str], None]) -> Path:
    """The trace of that name, in `a`, `f` and `r`."""
    trace, lines = folder / f"{name}.trace", folder / f"{name}.lines.gz"
    if not trace.exists():
        tell(f"S2: the trace of {name} is made, half a minute at most")
        done = subprocess.run([SCRIPT, "--build", build, "--out", folder, name], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, check=False)
        if not trace.exists():
            raise Problem((done.stderr.strip().splitlines() or [f"{SCRIPT} said nothing"])[-1], 1)
    if not lines.exists() or lines.stat().st_mtime_ns < trace.stat().st_mtime_ns:
        export(trace, lines, build / "bin" / "snug")
    return lines


def export(trace: Path, lines: Path, tool: Path) -> None:
    """Puts the lines there whole or not at all."""
    part = lines.with_name(lines.name + ".part")
    try:
        with subprocess.Popen([tool, "trace", "export", trace, "--to", "lines"], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process, \
                gzip.open(part, "wb", PACKING) as packed:
            assert process.stdout is not None
            shutil.copyfileobj(process.stdout, packed, 1 << 20)
        if process.returncode != 0:
            raise Problem(f"{tool} trace export {trace} ended with {process.returncode}", 1)
        part.replace(lines)
    except OSError as error:
        raise Problem(f"cannot make {lines}: {error.strerror}: build first, with `make build`", 1) from None
    finally:
        part.unlink(missing_ok=True)
