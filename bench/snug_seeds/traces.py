"""The traces of S2, made where they are missing: Emacs recorded, Hummingbird synthesised. They lie in build/traces."""

import gzip
import subprocess
from collections.abc import Callable
from pathlib import Path

from snug_bench.problem import Problem

RECORD_EMACS = Path(__file__).resolve().parents[1] / "traces" / "record_emacs"
PACKING = 4  # zlib's level


def emacs_trace(folder: Path, build: Path, tell: Callable[[str], None]) -> Path:
    trace = folder / "emacs.trace.gz"
    if not trace.exists():
        tell("S2: Emacs is recorded, half a minute")
        done = subprocess.run([RECORD_EMACS, "--build", build, "--out", trace], stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, check=False)
        if done.returncode != 0:
            raise Problem((done.stderr.strip().splitlines() or ["record_emacs said nothing"])[-1], 1)
    return trace


def hummingbird_trace(folder: Path, build: Path, tell: Callable[[str], None], *options: str) -> Path:
    trace = folder / "hummingbird.trace.gz"
    if trace.exists():
        return trace
    tell("S2: Hummingbird is synthesised")
    program, part = build / "bin" / "traces" / "hummingbird", trace.with_name(trace.name + ".part")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with subprocess.Popen([program, *options], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as process, \
                gzip.open(part, "wb", PACKING) as packed:
            while block := process.stdout.read(1 << 20):
                packed.write(block)
        if process.returncode != 0:
            raise Problem(f"{program} ended with {process.returncode}", 1)
        part.replace(trace)
    except OSError as error:
        raise Problem(f"cannot make {trace}: {error.strerror}: build first, with `make build`", 1) from None
    finally:
        part.unlink(missing_ok=True)
    return trace
