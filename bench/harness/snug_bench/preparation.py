"""Gets an allocator: finds its library or builds it, proves that it serves a program, and reads its version.

    folder/lib/libNAME.so    what was built, and beside it
    folder/lib/libNAME.txt   its version, its source and how it was built
    folder/work/NAME/        sources and half-built things; gone once the library is there
    folder/log/NAME.log      all that was said while it was built
    folder/lock/NAME         held while a process builds it

A library is there only as a whole and proven: it is built elsewhere, proven, then renamed to its name, its text first.
The text holds a fingerprint of the declaration and the build script, so that a change of either builds anew. Any number
of processes and threads may prepare the same allocator; the second waits for the first, and finds it done.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from snug_bench.allocator import Allocator, FromCrate, FromPackage, FromSystem
from snug_bench.toolchain import NATIVE, Toolchain

PROBE_SECONDS = 60
BUILD_SECONDS = 1800
VERSION_SECONDS = 30
LOADER_VARIABLES = ("LD_PRELOAD", "LD_DEBUG", "LD_DEBUG_OUTPUT", "SNUG_CONF")

Say = Callable[[str], None]

# flock() tells processes apart, and open files; not threads that hold the same one.
_threads_lock = threading.Lock()
_thread_locks: dict[Path, threading.Lock] = {}


class Unavailable(Exception):
    """This allocator cannot be had here; the message says why, in one line, and leaves its name to the caller."""


@dataclass(frozen=True)
class Prepared:
    """What a run needs of an allocator."""

    library: Path  # to preload
    version: str
    environment: dict[str, str]


def prepare(allocator: Allocator, folder: Path, say: Say, *, rebuild: bool = False,
            toolchain: Toolchain = NATIVE) -> Prepared:
    """The allocator, ready to be preloaded into what the toolchain makes. Raises Unavailable."""
    environment = dict(allocator.environment)
    if isinstance(allocator.get, FromCrate):
        library, version = built(allocator, allocator.get, folder.resolve(), say, toolchain, rebuild=rebuild)
        return Prepared(library, version, environment)
    library = found(allocator)
    prove(allocator, library, toolchain)
    return Prepared(library, version_of(allocator, library, {}), environment)


def is_there(allocator: Allocator, folder: Path) -> bool:
    """Whether prepare() has nothing to build."""
    if isinstance(allocator.get, FromCrate):
        return is_current(folder / "lib" / f"lib{allocator.library_name}.so", fingerprint(allocator.get))
    with contextlib.suppress(Unavailable):
        found(allocator)
        return True
    return False


# ---- libraries that are there already

def found(allocator: Allocator) -> Path:
    get = allocator.get
    assert isinstance(get, FromSystem | FromPackage)
    for candidate in library_folders():
        path = candidate / get.library  # an absolute one stays itself
        if path.is_file():
            return path.resolve()
    hint = f"; apt-get install {get.package}" if isinstance(get, FromPackage) else ""
    raise Unavailable(f"{get.library} is not installed{hint}")


def library_folders() -> list[Path]:
    return [*sorted(Path("/usr/lib").glob("*-linux-gnu*")), Path("/lib64"), Path("/usr/local/lib"), Path("/usr/lib64"),
            Path("/usr/lib")]


# ---- libraries that are built

def built(allocator: Allocator, get: FromCrate, folder: Path, say: Say, toolchain: Toolchain, *,
          rebuild: bool) -> tuple[Path, str]:
    """The library, and its version; built if it is not there, or not from what is declared now."""
    name = allocator.library_name
    library = folder / "lib" / f"lib{name}.so"
    with lock(folder / "lock" / name):
        if rebuild or not is_current(library, fingerprint(get)):
            build(allocator, get, folder, library, say, toolchain)
        return library, text_of(library)["version"]


def build(allocator: Allocator, get: FromCrate, folder: Path, library: Path, say: Say, toolchain: Toolchain) -> None:
    name = allocator.library_name
    work, log = folder / "work" / name, folder / "log" / f"{name}.log"
    for each in (work, log.parent, library.parent):
        each.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as output:
        steps = Steps(log, output, say, toolchain)
        say(f"{name}: downloading the crate {get.crate} {get.version}")
        source = vendor(get, work, steps)
        say(f"{name}: building")
        unproven = work / f"lib{name}.so"
        unproven.unlink(missing_ok=True)
        steps.run("building", [str(get.build), str(source), str(unproven), str(work)], work, BUILD_SECONDS)
        if not unproven.is_file():
            raise Unavailable(f"{get.build.name} ended well, but there is no {unproven}")
        prove(allocator, unproven, toolchain)
        version = version_of(allocator, unproven, {"CRATE_SOURCE": str(source)})
    text = {"version": version, "source": f"crate {get.crate} {crate_version(source)}{commit_of(source)}",
            "built": f"by bench/harness/allocators/{get.build.name} with {compiler_text(toolchain)}", "fingerprint": fingerprint(get)}
    # The library last: where it is, its text is true.
    unproven_text = work / "text"
    unproven_text.write_text("".join(f"{key}: {value}\n" for key, value in text.items()))
    library.unlink(missing_ok=True)
    unproven_text.replace(library.with_suffix(".txt"))
    unproven.replace(library)
    shutil.rmtree(work, ignore_errors=True)
    say(f"{name}: built {version}")


def vendor(get: FromCrate, work: Path, steps: "Steps") -> Path:
    """The crate's sources. Those of an earlier try are used again, with what was built in them."""
    sources = work / "vendor"
    wanted = f"{get.crate}-{get.version}"
    if not (work / "vendored").exists():
        if shutil.which("cargo") is None:
            raise Unavailable(f"no cargo to download its crate with; apt-get install cargo")
        (work / "Cargo.toml").write_text(
            '[package]\nname = "peer"\nversion = "0.0.0"\nedition = "2021"\n[lib]\npath = "/dev/null"\n'
            f'[dependencies]\n{get.crate} = "={get.version}"\n')
        steps.run("downloading", ["cargo", "vendor", "--manifest-path", str(work / "Cargo.toml"), "--versioned-dirs",
                                  str(sources)], work, BUILD_SECONDS)
        (work / "vendored").touch()
    # The folder's name may hold more than the version asked for: "+" and what the crate carries.
    candidates = sorted([*sources.glob(wanted), *sources.glob(f"{wanted}+*")])
    if not candidates:
        raise Unavailable(f"cargo brought no {wanted} (all it said: {steps.log})")
    return candidates[0]


class Steps:
    """Commands with their output in the log; a failure is one line, with the log's name and last words."""

    def __init__(self, log: Path, output, say: Say, toolchain: Toolchain = NATIVE) -> None:
        self.log, self.output, self.say, self.toolchain = log, output, say, toolchain

    def run(self, what: str, command: list[str], work: Path, seconds: float, more: dict[str, str] | None = None) -> None:
        """`more` is put into the environment."""
        # Debian 12's cargo of 2022 knows the registry's present index only as an experiment; later ones ignore this.
        environment = clean_environment() | {"CARGO_UNSTABLE_SPARSE_REGISTRY": "true"}
        environment |= dict(self.toolchain.environment) | (more or {})
        self.output.write(f"$ {' '.join(command)}\n".encode())
        self.output.flush()
        try:
            status = subprocess.run(command, cwd=work, env=environment, stdin=subprocess.DEVNULL, stdout=self.output,
                                    stderr=subprocess.STDOUT, timeout=seconds, check=False).returncode
        except subprocess.TimeoutExpired:
            raise Unavailable(f"{what} took more than {seconds:g} s (all of it: {self.log})") from None
        except OSError as error:
            raise Unavailable(f"{what}: {error}") from None
        if status != 0:
            raise Unavailable(f"{what} failed: {last_words(self.log)} (all of it: {self.log})")


def last_words(log: Path) -> str:
    """The log's last line that names an error; else its last one."""
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
    telling = [line for line in lines if "error" in line.lower()]
    return (telling or lines or ["it said nothing"])[-1][:200]


def crate_version(source: Path) -> str:
    for line in (source / "Cargo.toml").read_text().splitlines():
        if line.startswith("version = "):
            return line.split('"')[1]
    return "of unknown version"


def commit_of(source: Path) -> str:
    """The commit of the crate's repository that it was packed from, if the crate tells."""
    with contextlib.suppress(OSError, ValueError, KeyError):
        return ", commit of its repository " + json.loads((source / ".cargo_vcs_info.json").read_text())["git"]["sha1"]
    return ""


def compiler_text(toolchain: Toolchain) -> str:
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        said = subprocess.run([toolchain.compiler, "--version"], capture_output=True, text=True, timeout=VERSION_SECONDS, check=True)
        return said.stdout.splitlines()[0]
    return "an unknown compiler"


def fingerprint(get: FromCrate) -> str:
    """Of the declaration's source, the build script and what lies with it for this build."""
    total = hashlib.sha256(f"{get.crate} {get.version}\n".encode())
    shim = get.build.with_name(get.build.name.removeprefix("build_") + "_shim")
    for file in [get.build, *sorted(path for path in shim.rglob("*") if path.is_file())]:
        total.update(file.read_bytes())
    return total.hexdigest()[:16]


def is_current(library: Path, wanted: str) -> bool:
    return library.is_file() and text_of(library).get("fingerprint") == wanted


def text_of(library: Path) -> dict[str, str]:
    """What stands in the text beside a library, by key."""
    try:
        lines = library.with_suffix(".txt").read_text().splitlines()
    except OSError:
        return {}
    return dict(line.split(": ", 1) for line in lines if ": " in line)


# ---- proof and version

def prove(allocator: Allocator, library: Path, toolchain: Toolchain) -> None:
    """A small threaded program on the library asks the dynamic linker which library each function of malloc comes from."""
    environment = clean_environment() | dict(allocator.environment)
    environment |= {"PYTHONMALLOC": "malloc"}
    if not allocator.is_linker:
        environment |= {"LD_PRELOAD": str(library)}
    try:
        run = subprocess.run([*toolchain.probe, str(library)], env=environment, capture_output=True,
                             text=True, errors="replace", timeout=PROBE_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise Unavailable(f"a small program hangs on {library}") from None
    said = [line for line in (run.stdout + run.stderr).splitlines() if line.strip()]
    if run.returncode < 0:
        raise Unavailable(f"a small program on {library} dies of signal {-run.returncode}")
    # A library that the dynamic linker refuses is only warned about, and the program runs on another malloc.
    if run.returncode != 0 or said != ["served"]:
        raise Unavailable(f"{library} does not serve a small program: {(said or ['it says nothing'])[0]}")


def version_of(allocator: Allocator, library: Path, more: dict[str, str]) -> str:
    environment = clean_environment() | {"LIBRARY": str(library)} | more
    command = f"version.command of bench/harness/allocators/{allocator.library_name}.toml, {allocator.version_command.strip()!r},"
    try:
        run = subprocess.run(["bash", "-euo", "pipefail", "-c", allocator.version_command], env=environment,
                             timeout=VERSION_SECONDS, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                             errors="replace", check=False)
    except subprocess.TimeoutExpired:
        raise Unavailable(f"{command} took more than {VERSION_SECONDS} s") from None
    version = run.stdout.strip()
    if run.returncode != 0 or not version or "\n" in version:
        printed = f"printed {version!r}" if version else "printed nothing"
        said = f": {run.stderr.strip().splitlines()[-1]}" if run.stderr.strip() else ""
        raise Unavailable(f"{command} {printed} and ended with {run.returncode}{said}; wanted is one line with "
                          "the version, and 0")
    return version


def clean_environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in LOADER_VARIABLES}


@contextlib.contextmanager
def lock(file: Path) -> Iterator[None]:
    """Held by one thread of one process at a time; a process that dies lets go of it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with _threads_lock:
        of_threads = _thread_locks.setdefault(file, threading.Lock())
    with of_threads, file.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield
