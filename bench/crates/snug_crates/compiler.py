"""The C compiler for musl, which the allocators' crates need for their C parts."""

import os
import runpy
import shutil
from pathlib import Path

from snug_bench.preparation import Unavailable

VARIABLE = "CC_x86_64_unknown_linux_musl"
# The crate cc names Rust's target, which Zig does not know.
WRAPPER = """#!/usr/bin/env bash
arguments=()
for argument; do
  [[ $argument == --target=* ]] || arguments+=("$argument")
done
export ZIG_GLOBAL_CACHE_DIR={cache} ZIG_LOCAL_CACHE_DIR={cache}
exec {zig} cc -target x86_64-linux-musl "${{arguments[@]}}"
"""


def musl_environment(root: Path, folder: Path) -> dict[str, str]:
    """The user's, or musl-gcc of Debian's musl-tools, or Zig's, which scripts/cross_build gets from PyPI. Raises Unavailable."""
    if VARIABLE in os.environ:
        return {}
    if found := shutil.which("musl-gcc"):
        return {VARIABLE: found}
    try:
        zig = runpy.run_path(str(root / "scripts" / "cross_build"))["zig"]()
    except SystemExit as reason:
        raise Unavailable(f"no C compiler for musl: no musl-gcc (apt-get install musl-tools), and {reason}") from None
    wrapper = folder / "musl-cc"
    wrapper.write_text(WRAPPER.format(zig=zig, cache=root / "build" / "zig-cache"))
    wrapper.chmod(0o755)
    return {VARIABLE: str(wrapper)}
