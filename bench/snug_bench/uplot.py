"""uPlot, which draws the page's lines: fetched by npm once into a folder of the build, never committed."""

import hashlib
import subprocess
import tarfile
from dataclasses import dataclass
from pathlib import Path

VERSION = "1.6.32"
PACKAGE = f"uplot-{VERSION}.tgz"
SHA256 = "4b8a8191e425658e3ea8c8c1314b0fc679c861ee3a1af2b20c7b16ba50b5133d"
SCRIPT, STYLE = "package/dist/uPlot.iife.min.js", "package/dist/uPlot.min.css"
FETCH_SECONDS = 120


class NoUplot(Exception):
    """`str()` says why, in one line."""


@dataclass(frozen=True)
class Uplot:
    script: str
    style: str


def load_uplot(folder: Path) -> Uplot:
    """From the folder, fetched if it is not there. Raises NoUplot."""
    package = folder / PACKAGE
    if not package.exists():
        fetch(folder)
    try:
        content = package.read_bytes()
        if hashlib.sha256(content).hexdigest() != SHA256:
            raise NoUplot(f"{package} is not the package it should be; remove it")
        with tarfile.open(package) as archive:
            return Uplot(*(archive.extractfile(name).read().decode() for name in (SCRIPT, STYLE)))
    except (OSError, KeyError, tarfile.TarError) as error:
        raise NoUplot(f"{package}: {error}") from None


def fetch(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        process = subprocess.run(["npm", "pack", f"uplot@{VERSION}", "--pack-destination", str(folder)], cwd=folder,
                                 capture_output=True, text=True, check=False, timeout=FETCH_SECONDS)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NoUplot(f"npm cannot fetch it: {error}") from None
    if process.returncode != 0:
        said = [line for line in process.stderr.splitlines() if "error" in line.lower()] or ["it does not say why"]
        raise NoUplot(f"npm cannot fetch it: {said[0]}")
