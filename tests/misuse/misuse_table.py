"""misuse_table.py: what snug and others make of each misuse of misuses.cc, held against the table of docs/misuse.md.

Every misuse is committed in a process of its own, some times over, since where things lie and what lies there is chance.
snug has to do what the page says, each time. So has each other allocator at least once, if it is here and of the version
that the page names. With check:sample the block that is misused is one that was drawn.
--write writes the table into the page.

Usage: misuse_table.py [--write] PROGRAM LIBSNUG_SO
"""

import os
import platform
import resource
import signal
import subprocess
import sys
import tomllib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "misuse.md"
BEGIN = "<!-- table: scripts/misuse_table -->\n"
END = "<!-- end of the table -->\n"
PEERS = {"scudo": "Scudo", "hardened_malloc": "hardened_malloc", "mimalloc": "mimalloc", "jemalloc": "jemalloc"}
REPORTED = {"at once", "later"}
# As many as glibc does at its best; what issue 25 asks for; more than without it.
LEAST_REPORTED = {"snug": 19, "snug `check:on`": 27, "snug `check:sample`": 20}
RUNS, RUNS_TO_WRITE = 2, 25
WATCHDOG = 600  # seconds, of what takes a tenth of one: an allocator that hangs is to be told in the table


@dataclass(frozen=True)
class Allocator:
    heading: str  # with its version
    library: str  # empty for the system's own
    configuration: str = ""  # SNUG_CONF
    block: tuple[str, ...] = ()  # which one is misused: what misuses.cc is told

    def run(self, *command: str) -> "subprocess.CompletedProcess[str]":
        environment = {key: value for key, value in os.environ.items() if key not in ("LD_PRELOAD", "SNUG_CONF")}
        if self.library:
            environment["LD_PRELOAD"] = self.library
        if self.configuration:
            environment["SNUG_CONF"] = self.configuration
        return subprocess.run(command, env=environment, capture_output=True, text=True, errors="replace", timeout=WATCHDOG)

    def serves(self, program: str) -> bool:
        ran = self.run(program)
        return not ran.stderr and Path(self.library or "libc.so.6").name in ran.stdout.split("\n", maxsplit=1)[0]

    def outcome(self, program: str, misuse: str) -> str:
        try:
            ran = self.run(program, misuse, *self.block)
        except subprocess.TimeoutExpired:
            return "hangs"
        words = ran.stdout.split()
        if ran.returncode == 0 and not ran.stderr:
            return words[-1]
        if ran.returncode in (-signal.SIGABRT, -signal.SIGSEGV) and ran.stderr.strip():
            return "later" if "committed" in words else "at once"
        if ran.returncode == 0 and ran.stderr.strip().endswith("(found as the process ends)"):
            return "later"
        return "crash" if ran.returncode < 0 else f"exit status {ran.returncode}: {ran.stderr}"


def find_library(library: str) -> str:
    """The path, or the name again if the dynamic linker does not know it."""
    known = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=True).stdout
    paths = [line.split(" => ")[1] for line in known.splitlines() if line.split()[0] == library and "x86-64" in line]
    return paths[0] if paths else library


def peer(name: str, title: str) -> Allocator:
    """As bench/harness/allocators declares it. What is not installed has no version."""
    declared = tomllib.loads((ROOT / "bench" / "harness" / "allocators" / f"{name}.toml").read_text())
    if "crate" in declared["get"]:
        return built_peer(name, title)
    library = declared["get"]["library"]
    environment = {**os.environ, "LIBRARY": find_library(library)}
    version = subprocess.run(["bash", "-c", declared["version"]["command"]], capture_output=True, text=True, env=environment)
    return Allocator(f"{title} {version.stdout.strip()}", library)


def built_peer(name: str, title: str) -> Allocator:
    """As bench/harness/allocators/fetch has built it, which writes its version beside it."""
    library = ROOT / "build" / "peers" / "lib" / f"lib{name}.so"
    text = library.with_suffix(".txt")
    version = text.read_text().partition("\n")[0].removeprefix("version: ") if text.exists() else ""
    return Allocator(f"{title} {version}".strip(), str(library))


class Table:
    """The rows are misuses, in words; the columns allocators. A cell has each outcome that was met."""

    def __init__(self, headings: list[str], rows: dict[str, list[set[str]]]) -> None:
        self.headings = headings
        self.rows = rows

    @classmethod
    def read(cls, text: str) -> "Table":
        lines = text[text.index(BEGIN) + len(BEGIN):text.index(END)].splitlines()
        cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
        return cls(cells[0][1:], {words: [set(cell.split(" or ")) for cell in row] for words, *row in cells[2:-1]})

    @classmethod
    def measure(cls, program: str, allocators: list[Allocator], runs: int) -> "Table":
        listed = allocators[0].run(program).stdout.splitlines()[1:]
        misuses = [tuple(line.split("\t")) for line in listed]

        def commit(task: tuple[str, Allocator]) -> set[str]:
            return {task[1].outcome(program, task[0]) for _ in range(runs)}

        with ThreadPoolExecutor(max_workers=2) as pool:
            rows = {words: list(pool.map(commit, [(name, allocator) for allocator in allocators])) for name, words in misuses}
        return cls([allocator.heading for allocator in allocators], rows)

    def reported(self, heading: str) -> int:
        return sum(cells[self.headings.index(heading)] <= REPORTED for cells in self.rows.values())

    def __str__(self) -> str:
        lines = [["misuse", *self.headings], ["---"] * (1 + len(self.headings))]
        lines += [[words, *(" or ".join(sorted(cell)) for cell in cells)] for words, cells in self.rows.items()]
        lines.append([f"reported, of {len(self.rows)}", *(str(self.reported(heading)) for heading in self.headings)])
        return "".join(f"| {' | '.join(line)} |\n" for line in lines)

    def contradictions(self, page: "Table") -> list[str]:
        """What has been measured, and is not what the page says."""
        if list(self.rows) != list(page.rows):
            return ["the page has not these misuses"]
        found = []
        for column, heading in enumerate(self.headings):
            for words, cells in self.rows.items():
                said = page.rows[words][page.headings.index(heading)]
                # Of others a page that has met nine outcomes of ten is no lie.
                if not (cells[column] <= said if heading in LEAST_REPORTED else cells[column] & said):
                    found.append(f"{words}: {heading}: {' or '.join(cells[column])}, not {' or '.join(said)}")
        return found


def main() -> int:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    *options, program, library = sys.argv[1:]
    writes = options == ["--write"]
    ours = [Allocator("snug", library), Allocator("snug `check:on`", library, "check:on"),
            Allocator("snug `check:sample`", library, "check:sample", ("drawn",))]
    allocators = [*ours, Allocator(f"glibc {platform.libc_ver()[1]}", ""), *(peer(*names) for names in PEERS.items())]
    text = PAGE.read_text()
    if not writes:
        page = Table.read(text)
        for allocator in [allocator for allocator in allocators if allocator.heading not in page.headings]:
            print(f"{allocator.heading}: not here, or not of the page's version: not looked at")
            allocators.remove(allocator)
    for allocator in allocators:
        if not allocator.serves(program):
            print(f"{allocator.heading} does not serve {program}")
            return 1
    table = Table.measure(program, allocators, RUNS_TO_WRITE if writes else RUNS)
    print(table, end="")
    for heading, least in LEAST_REPORTED.items():
        if table.reported(heading) < least:
            print(f"{heading} reports fewer than {least}")
            return 1
    if writes:
        before, _, rest = text.partition(BEGIN)
        PAGE.write_text(before + BEGIN + str(table) + END + rest.partition(END)[2])
        return 0
    wrong = table.contradictions(page)
    if wrong:
        print(*wrong, f"{PAGE.relative_to(ROOT)} is wrong, or snug is; scripts/misuse_table writes the table anew", sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
