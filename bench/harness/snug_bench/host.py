"""The host's fingerprint: what a reader must know of the machine before believing a figure, and of what was built."""

import os
import platform
import subprocess
from datetime import UTC, datetime
from pathlib import Path

SAME_MACHINE = ("cpu", "cpus", "kernel", "transparent_huge_pages", "libc")


def fingerprint(root: Path, build: Path) -> dict[str, str | int]:
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "cpu": cpu_name(),
        "cpus": os.cpu_count() or 0,
        "memory_bytes": os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"),
        "kernel": f"{platform.system()} {platform.release()} {platform.machine()}",
        "transparent_huge_pages": chosen_mode(Path("/sys/kernel/mm/transparent_hugepage/enabled")),
        "overcommit": read(Path("/proc/sys/vm/overcommit_memory")),
        "libc": " ".join(platform.libc_ver()),
        "compiler": compiler(build),
        "commit": commit(root),
        "load_average": read(Path("/proc/loadavg")),
    }


def differences(old: dict[str, str | int], new: dict[str, str | int]) -> list[str]:
    """What keeps two results from being compared: one sentence each."""
    return [f"{key}: {old.get(key)} before, {new.get(key)} now" for key in SAME_MACHINE if old.get(key) != new.get(key)]


def read(file: Path) -> str:
    try:
        return file.read_text().strip()
    except OSError:
        return "unknown"


def cpu_name() -> str:
    for line in read(Path("/proc/cpuinfo")).splitlines():
        if line.startswith("model name"):
            return line.partition(": ")[2]
    return "unknown"


def chosen_mode(file: Path) -> str:
    """madvise of "always [madvise] never"."""
    return read(file).partition("[")[2].partition("]")[0] or "unknown"


def compiler(build: Path) -> str:
    for line in read(build / "CMakeCache.txt").splitlines():
        if line.startswith("CMAKE_CXX_COMPILER:"):
            return first_line([line.partition("=")[2], "--version"])
    return "unknown"


def commit(root: Path) -> str:
    """With "+changes" if the tree is not what was committed."""
    name = first_line(["git", "-C", str(root), "rev-parse", "--short=12", "HEAD"])
    changed = name != "unknown" and subprocess.run(
        ["git", "-C", str(root), "diff", "--quiet", "HEAD"], check=False, capture_output=True).returncode != 0
    return name + ("+changes" if changed else "")


def first_line(command: list[str]) -> str:
    try:
        process = subprocess.run(command, capture_output=True, text=True, check=False, timeout=20)
    except (OSError, subprocess.SubprocessError):
        return "unknown"
    lines = process.stdout.splitlines()
    return lines[0] if process.returncode == 0 and lines else "unknown"
