"""The command line: snug-seeds [S0|S1|S2|S3|S4]."""

import json
import time
from pathlib import Path
from types import ModuleType
from typing import Annotated

import typer
from snug_bench.allocator import load_allocators
from snug_bench.command import INTERRUPTED, notices, run_command, say, words, write_file
from snug_bench.contender import SNUG, Contender, Line
from snug_bench.host import fingerprint
from snug_bench.problem import Problem
from snug_bench.sheet import standard_screen
from snug_bench.source_documents import FILE_NAME

from snug_seeds import s0, s1, s2, s3, s4
from snug_seeds.bench import FULL, QUICK, Bench
from snug_seeds.section import Section
from snug_seeds.table import documents_text, markdown, print_section

ROOT = Path(__file__).resolve().parents[3]
SOURCES: dict[str, ModuleType] = {"S0": s0, "S1": s1, "S2": s2, "S3": s3, "S4": s4}
PEERS = "glibc,mimalloc,jemalloc,tcmalloc,mimalloc3,snmalloc,tlsf"
BUILD = ROOT / "build" / "release"

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
screen = standard_screen()


@app.command(context_settings={"help_option_names": ["-h", "--help"]})
def run(
    sources: Annotated[list[str] | None, typer.Argument(help="S0, S1, S2, S3, S4; all of them by default.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Two short runs of each: shows that it works, proves "
                                        "nothing.")] = False,
    figures: Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write every run to FILE.")] = None,
    out: Annotated[Path | None, typer.Option("--out", metavar="FOLDER", help="Where page and plots go. [default: "
                                             "build/seeds]")] = None,
    peers: Annotated[str, typer.Option("--peers", metavar="NAME,...", help="Of bench/harness/allocators; glibc is always "
                                       "one.")] = PEERS,
    build: Annotated[Path, typer.Option("--build", help="The build with the programs that are run.")] = BUILD,
) -> None:
    """Run the programs of published tables anew, beside today's peers, with plots and a verdict a claim.

    docs/seeds.md says how to read them. Full: about half an hour, on a machine that does nothing else.
    """
    chosen = list(dict.fromkeys(word.upper() for word in sources or SOURCES))
    if unknown := [word for word in chosen if word not in SOURCES]:
        raise Problem(f"no source '{unknown[0]}' (there are: {', '.join(SOURCES)})")
    build, folder = build.resolve(), (out or ROOT / "build" / "seeds").resolve()
    for needed in ("seeds", "snug"):
        if not (build / "bin" / needed).exists():
            raise Problem(f"no {build}/bin/{needed}: build first, with `make build`")
    prepare_folders(folder, figures)
    bench = Bench(build, contenders(peers, build), QUICK if quick else FULL, say_progress(), say, folder)
    host = fingerprint(ROOT, build)
    sections: list[Section] = []
    data: dict[str, dict] = {}
    interrupted = False
    try:
        for name in chosen:
            data[name] = SOURCES[name].measure(bench)
            sections.append(SOURCES[name].section(data[name], folder))
            if why := bench.disturbance():
                sections[-1].remarks.insert(0, f"{why}. What is said here of time shows nothing; run it on a quiet machine.")
            print_section(screen, sections[-1])
    except KeyboardInterrupt:
        interrupted = True
    host["effort"] = f"{bench.effort.runs} runs at scale {bench.effort.scale:g}, S0 {bench.effort.cell_runs} runs"
    if quick:
        say(f"--quick ({host['effort']}): no figure of it proves anything, nor is a time like the published")
    write_file(folder / FILE_NAME, documents_text(sections, host, bench.effort))
    write_file(folder / "seeds.md", markdown(sections, host, folder))
    if figures:
        write_file(figures, json.dumps({"host": host, "quick": quick, "documents": data}, indent=1) + "\n")
    screen.print(f"page {folder / 'seeds.md'}", markup=False, soft_wrap=True)
    if interrupted:
        say(f"interrupted; the page holds {', '.join(each.name for each in sections) or 'nothing yet'}")
        raise typer.Exit(INTERRUPTED)


def contenders(peers: str, build: Path) -> list[Contender]:
    line = Line(load_allocators(ROOT / "bench" / "harness" / "allocators"), build, ROOT, "", say)
    for name in dict.fromkeys([SNUG, "glibc", *words(peers)]):
        line.add(name)
    for needed in (SNUG, "glibc"):
        if not any(each.name == needed and not each.refusal for each in line.contenders):
            raise Problem(f"{needed} cannot be run, and every table needs it", 1)
    return [each for each in line.contenders if not each.refusal]


def say_progress():
    """One line that is overwritten; where there is no terminal, a line now and then."""
    spoke = [0.0]

    def tell(text: str) -> None:
        if notices.is_terminal:
            notices.print(f"\x1b[2K{text}", end="\r", markup=False, soft_wrap=True)
        elif time.monotonic() - spoke[0] > 10:
            spoke[0] = time.monotonic()
            say(text)

    return tell


def prepare_folders(folder: Path, figures: Path | None) -> None:
    for each in filter(None, [folder, figures and figures.resolve().parent]):
        try:
            each.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise Problem(f"cannot make {each}: {error.strerror}", 1) from None


def main() -> None:
    run_command(app, "snug-seeds")


if __name__ == "__main__":
    main()
