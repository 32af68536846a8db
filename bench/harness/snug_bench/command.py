"""What the command lines of this project share: how they end, read a list, speak on stderr and write a file."""

import signal
import sys
from collections.abc import Iterable
from fnmatch import fnmatchcase
from pathlib import Path

import typer
from rich.console import Console

from snug_bench.problem import Problem

INTERRUPTED = 130

notices = Console(stderr=True, highlight=False)


def say(text: str) -> None:
    notices.print(text, markup=False, soft_wrap=True)


def words(text: str) -> list[str]:
    """Of an option's list with commas."""
    return [word.strip() for word in text.split(",") if word.strip()]


def chosen(patterns: list[str], names: Iterable[str], what: str) -> list[str]:
    """The names that one of the patterns is for. Raises Problem for a pattern that is for none."""
    names = list(names)
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in names):
            raise Problem(f"no {what} '{pattern}' (there are: {', '.join(names)})")
    return [name for name in names if any(fnmatchcase(name, pattern) for pattern in patterns)]


def run_command(app: typer.Typer, name: str) -> None:
    """Runs the application; a Problem becomes one line on stderr, an interruption an exit status."""
    # A signal that ends us also has to end the program that is being measured.
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupted)
    # A terminal without "×" is no reason to end after hours of measuring.
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="replace")
    try:
        app()
    except Problem as problem:
        print(f"{name}: {problem}", file=sys.stderr)
        sys.exit(problem.status)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


def _interrupted(*_) -> None:
    raise KeyboardInterrupt


def write_file(file: Path, text: str) -> None:
    """Folders included. Raises Problem."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise Problem(f"cannot write {file}: {error.strerror}", 1) from None
