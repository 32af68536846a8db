"""The libraries that the snug command takes, for scripts/cross_build: in a folder of their own for each target.

A cross compiler must not see /usr/include, where the headers of this machine's C library lie. So the headers of CLI11, fmt
and nlohmann-json, which are the same for every target, are copied from there, and zstd is compiled from source.
"""

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Callable

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build"
SYSTEM_HEADERS = [Path("/usr/include"), Path("/usr/local/include")]
HEADER_FOLDERS = ["CLI", "fmt", "nlohmann"]

# What find_package reads in place of the system's files, which name libraries of this machine.
PACKAGES = {
    "CLI11": ("CLI11::CLI11", ""),
    "fmt": ("fmt::fmt", "FMT_HEADER_ONLY=1"),
    "nlohmann_json": ("nlohmann_json::nlohmann_json", ""),
}

# PyPI's package of zstd for Python brings zstd 1.5.7 as one file of C. Of the archive nothing else is used.
ZSTD_ARCHIVE = "zstandard-0.25.0.tar.gz"
ZSTD_REQUIREMENT = "zstandard==0.25.0"
ZSTD_HASH = "7713e1179d162cf5c7906da876ec2ccb9c3a9dcbdffef0cc7f70c3667a205f0b"
ZSTD_FILES = ["zstd.c", "zstd.h", "zstd_errors.h", "zdict.h", "LICENSE"]


def fail(message: str) -> None:
    sys.exit(f"cross_build: {message}")


def zstd_source() -> Path:
    """The folder with zstd's source, fetched where it is missing."""
    folder = BUILD / "zstd-source"
    if all((folder / name).exists() for name in ZSTD_FILES):
        return folder
    folder.mkdir(parents=True, exist_ok=True)
    archive = folder / ZSTD_ARCHIVE
    if not archive.exists():
        wanted = folder / "requirements.txt"
        wanted.write_text(f"{ZSTD_REQUIREMENT} --hash=sha256:{ZSTD_HASH}\n")
        result = subprocess.run([ROOT / "scripts" / "uv", "tool", "run", "--quiet", "pip@25.3", "download", "--quiet",
                                 "--disable-pip-version-check", "--require-hashes", "--no-deps", "--no-binary=zstandard",
                                 "-d", folder, "-r", wanted], stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if result.returncode != 0:
            fail(f"could not fetch {ZSTD_REQUIREMENT} from PyPI:\n{result.stdout}{result.stderr}")
    found = hashlib.sha256(archive.read_bytes()).hexdigest()
    if found != ZSTD_HASH:
        fail(f"{archive} has the hash {found}, not {ZSTD_HASH}: remove it")
    inside = ZSTD_ARCHIVE.removesuffix(".tar.gz")
    subprocess.run(["tar", "-xzf", archive, "-C", folder, "--strip-components=2",
                    *(f"{inside}/zstd/{name}" for name in ZSTD_FILES)], check=True)
    return folder


def copy_headers(include: Path) -> None:
    for name in HEADER_FOLDERS:
        found = next((folder / name for folder in SYSTEM_HEADERS if (folder / name).is_dir()), None)
        if found is None:
            fail(f"no headers in {SYSTEM_HEADERS[0]}/{name}: scripts/setup build installs them")
        shutil.copytree(found, include / name, dirs_exist_ok=True)


def write_packages(folder: Path, include: Path) -> None:
    for package, (target, definition) in PACKAGES.items():
        lines = [f"add_library({target} INTERFACE IMPORTED)",
                 f'set_target_properties({target} PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "{include}"',
                 f'                      INTERFACE_COMPILE_DEFINITIONS "{definition}")']
        (folder / f"{package}Config.cmake").write_text("\n".join(lines) + "\n")


def prepare(folder: Path, target: str, compiler: Path, environment: dict[str, str], run: Callable) -> list[str]:
    """Fills `folder`, and returns what CMake is to be told."""
    include, packages = folder / "include", folder / "packages"
    for made in (include, packages):
        made.mkdir(parents=True, exist_ok=True)
    copy_headers(include)
    write_packages(packages, include)
    library, source = folder / "libzstd.a", zstd_source()
    for header in source.glob("*.h"):
        shutil.copy2(header, include)
    if not library.exists():
        compiled = folder / "zstd.o"
        run(compiler, "cc", "-target", target, "-O2", "-fPIC", "-fvisibility=hidden", "-DZSTDLIB_VISIBLE=", "-DNDEBUG", "-c",
            source / "zstd.c", "-o", compiled, environment=environment)
        run(compiler, "ar", "qc", library, compiled, environment=environment)
    return [*(f"-D{package}_DIR={packages}" for package in PACKAGES), f"-DSNUG_ZSTD_HEADERS={include}",
            f"-DSNUG_ZSTD_LIBRARY={library}"]
