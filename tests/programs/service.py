"""service.py: run a program plainly, counted and on snug; compare what it says; prove that snug served it.

A run on snug counts only if snug's own reports say that it served the program: SNUG_CONF=report:PATH makes every
process append a line on exit. They are held against an independent count, made by a run on glibc under the counting
library (tests/support/counter.c): snug's total must be 10^5 at least, or all that a small program makes, and must lie
within a tenth of that count.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

SKIPPED = 77  # ctest's SKIP_RETURN_CODE for these tests
ENOUGH = 100_000
TOLERANCE = 0.10


def skip(reason: str) -> None:
    print(f"skipped: {reason}")
    sys.exit(SKIPPED)


def fail(reason: str) -> None:
    print(f"FAILED: {reason}", file=sys.stderr)
    sys.exit(1)


def need(program: str) -> str:
    """The program's path, or a skip that names what is missing."""
    found = shutil.which(program)
    if found is None:
        skip(f"{program} is not installed")
        raise AssertionError
    return found


@dataclass(frozen=True)
class Libraries:
    snug: str
    counter: str


@dataclass
class Reports:
    """What the processes of one run wrote when they exited."""

    lines: list[dict[str, object]] = field(default_factory=list)

    @classmethod
    def read(cls, path: Path) -> "Reports":
        if not path.exists():
            return cls()
        return cls([json.loads(line) for line in path.read_text().splitlines()])

    def total(self, key: str) -> int:
        return sum(int(line.get(key, 0)) for line in self.lines)  # type: ignore[call-overload]

    def by_program(self) -> dict[str, int]:
        totals: dict[str, int] = defaultdict(int)
        for line in self.lines:
            totals[str(line["program"])] += int(line["allocations"])  # type: ignore[call-overload]
        return dict(totals)


class Allocator:
    """One way to run a program: its environment, and the reports that its processes leave."""

    def __init__(self, name: str, folder: Path, preload: str | None, report: dict[str, str] | None) -> None:
        self.name = name
        self.folder = folder
        self.preload = preload
        self.report_path = folder / "reports.jsonl"
        self.extra = {key: value.format(path=self.report_path) for key, value in (report or {}).items()}

    def environment(self, **more: str) -> dict[str, str]:
        """For the program alone: what the driver itself runs stays on the system's malloc."""
        base = {key: value for key, value in os.environ.items() if key not in ("LD_PRELOAD", "SNUG_CONF", "COUNTER_REPORT")}
        base.update(LC_ALL="C.UTF-8", TZ="UTC", HOME=str(self.folder), **more)
        if self.preload:
            base["LD_PRELOAD"] = self.preload
        base.update(self.extra)
        return base

    def run(self, *command: str, text: str | None = None, cwd: Path | None = None, **more: str) -> str:
        """Runs to the end; its standard output. Anything on stderr that names snug, or a bad status, fails the test."""
        done = subprocess.run(command, input=text, cwd=cwd or self.folder, env=self.environment(**more),
                              capture_output=True, text=True, errors="surrogateescape")
        if done.returncode != 0 or "snug:" in done.stderr or "LD_PRELOAD" in done.stderr:
            fail(f"{self.name}: {' '.join(command)[:200]} ended with {done.returncode}: {done.stderr[-2000:]}")
        return done.stdout

    def reports(self) -> Reports:
        return Reports.read(self.report_path)


class Trial:
    """The three runs of one program, in folders of their own beside each other."""

    def __init__(self, libraries: Libraries) -> None:
        self.root = Path(tempfile.mkdtemp(prefix="snug-programs-"))
        self.plain = self._allocator("plain", None, None)
        self.counted = self._allocator("counter", libraries.counter, {"COUNTER_REPORT": "{path}"})
        self.snug = self._allocator("snug", libraries.snug, {"SNUG_CONF": "report:{path}"})
        self.all = (self.plain, self.counted, self.snug)

    def _allocator(self, name: str, preload: str | None, report: dict[str, str] | None) -> Allocator:
        folder = self.root / name
        folder.mkdir()
        return Allocator(name, folder, preload, report)

    def expect_equal(self, what: str, results: dict[str, object]) -> None:
        plain = results["plain"]
        if not plain:
            fail(f"{what}: the plain run gave nothing to compare")
        for name, result in results.items():
            if result != plain:
                (self.root / f"{what}.{name}").write_text(str(result), errors="surrogateescape")
                (self.root / f"{what}.plain").write_text(str(plain), errors="surrogateescape")
                fail(f"{what} differs between plain and {name}: see {self.root}")
        print(f"{what}: equal in {len(results)} runs")

    def expect_service(self, programs: tuple[str, ...], steady: bool = True) -> None:
        """`programs` must be among those that reported; `steady`: the count is the same from run to run."""
        counted, served = self.counted.reports(), self.snug.reports()
        low = counted.total("allocations")
        high = low + counted.total("reallocations")
        allocations = served.total("allocations")
        print(f"counted {low} to {high} allocations in {len(counted.lines)} processes; "
              f"snug reports {allocations} in {len(served.lines)}: {served.by_program()}")
        if low == 0:
            fail("the counting run counted nothing")
        for program in programs:
            if served.by_program().get(program, 0) == 0:
                fail(f"no report of snug from {program}: it counts as not run")
        if allocations < min(ENOUGH, low * (1 - TOLERANCE)):
            fail(f"snug served {allocations} allocations only")
        if steady and not low * (1 - TOLERANCE) <= allocations <= high * (1 + TOLERANCE):
            fail(f"snug's count {allocations} is not within a tenth of {low} to {high}")

    def close(self) -> None:
        """After success; what a failure left stays to be looked at."""
        shutil.rmtree(self.root)


def libraries_from_arguments() -> Libraries:
    if len(sys.argv) != 3:
        fail("usage: DRIVER LIBSNUG COUNTER")
    for path in sys.argv[1:]:
        if not Path(path).is_file():
            fail(f"no library {path}")
    return Libraries(snug=sys.argv[1], counter=sys.argv[2])
