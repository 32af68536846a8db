"""The command line: snug-bench run, report, compare, traces, list, prepare."""

from collections.abc import Callable
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Any

import typer

from snug_bench.allocator import Allocator, load_allocators
from snug_bench.command import INTERRUPTED, notices, run_command, say, words, write_file
from snug_bench.comparison import compare_results
from snug_bench.contender import SNUG, Line
from snug_bench.grid import Grid, load_presets
from snug_bench.host import differences, fingerprint
from snug_bench.markdown import markdown
from snug_bench.measurement import Measurement
from snug_bench.page import page
from snug_bench.plan import print_plan
from snug_bench.preparation import Unavailable, is_there
from snug_bench.preparation import prepare as prepare_allocator
from snug_bench.problem import Problem
from snug_bench.progress import Progress
from snug_bench.quantity import count_of
from snug_bench.results import Results, append_run, claimed, kept_aside, read_results, write_header
from snug_bench.runner import Place, Runner, run_grid, still_valid
from snug_bench.sheet import say_words, standard_screen
from snug_bench.source_documents import FILE_NAME
from snug_bench.terminal import closing_sentence, print_comparison, print_verdict
from snug_bench.trace_page import sentence, trace_page
from snug_bench.trace_replay import replay, traces_in
from snug_bench.verdict import judge
from snug_bench.workload import Load, load_loads, matching

ROOT = Path(__file__).resolve().parents[3]
BUILD = ROOT / "build" / "release"
PEERS = ROOT / "build" / "peers"
OUTPUT = ROOT / "build" / "bench"
SEEDS = ROOT / "build" / "seeds"

app = typer.Typer(add_completion=False, no_args_is_help=True, rich_markup_mode=None, pretty_exceptions_enable=False,
                  help="""Compares memory allocators: any of them, on synthetic workloads and real programs.

\b
  snug-bench run --grid quick                       a part of everything; what `make bench` runs
  snug-bench run --grid full --dry-run              what that would run, and how long
  snug-bench run swap server -a snug,glibc -n 7     some loads on some allocators
  snug-bench run 'redis*' -a snug,mine=./libmine.so your allocator against snug
  snug-bench report build/bench/quick.jsonl         the verdict of a results file again
  snug-bench compare before.jsonl after.jsonl       what became better or worse beyond noise
  snug-bench traces                                 traces of real programs: what holds the memory?

docs/benchmarking.md says how to read what it prints.""")

BuildOption = Annotated[Path, typer.Option("--build", help="The build with the snug and the workloads that are run.")]
screen = standard_screen()


@app.command(context_settings={"help_option_names": ["-h", "--help"]})
def run(
    loads: Annotated[list[str] | None, typer.Argument(help="Names or patterns of loads, as 'seed_*'.")] = None,
    grid: Annotated[str, typer.Option(help="Take what is not said here from this grid of bench/harness/grids.toml.")] = "full",
    allocators: Annotated[str, typer.Option("--allocators", "-a", metavar="NAME|NAME=PATH,...",
                                            help="Which to run; a path is anybody's library.")] = "",
    repetitions: Annotated[int, typer.Option("--repetitions", "-n", min=0, max=1000, help="Counted runs of each cell; "
                                             "six give intervals. 0: the grid's.")] = 0,
    threads: Annotated[str, typer.Option("--threads", "-t", metavar="N,...", help="For the loads that take any.")] = "",
    seed: Annotated[int, typer.Option(min=0, help="Of the order of the runs, and of the loads.")] = 1,
    scale: Annotated[float, typer.Option(min=1e-6, max=1e6, help="A factor on the operations; below 1 proves "
                                         "nothing.")] = 1.0,
    conf: Annotated[str, typer.Option(help="Settings of snug, as SNUG_CONF.")] = "",
    timeout: Annotated[float, typer.Option(min=0, help="Seconds for one run, which is stopped then. 0: what its load "
                                              "declares.")] = 0,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="The results file (JSON lines). Markdown and "
                                                "page lie beside it. [default: build/bench/GRID.jsonl]")] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Measure anew what the results file has already; it is kept "
                                                                 "under another name.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be run, and about how long it takes.")]
    = False,
    build: BuildOption = BUILD,
) -> None:
    """Run a grid of loads on allocators and judge it. Interrupted, the same command goes on where it was."""
    file = results_file(output or OUTPUT / f"{grid if not loads else 'some'}.jsonl")
    build = build.resolve()
    line = Line(catalogue(), build, ROOT, conf, say)
    plan, missing = planned_grid(line.name if dry_run else line.add, line, loads or [], grid, allocators, repetitions,
                                 threads, seed, scale, build)
    if dry_run:
        print_plan(screen, plan)
        return
    runner = Runner(Place(ROOT, build), plan, timeout or None)
    results = Results(fingerprint(ROOT, build), plan.as_json(), [load.as_json() for load in plan.loads],
                      [contender.as_published(ROOT) for contender in plan.contenders], [*line.unavailable, *missing])
    interrupted = False
    with claimed(file):
        if file.exists():
            results.runs = begun_anew(file) if fresh else resumed(runner, file, results.host)
        write_header(file, results)
        with Progress(notices, plan, results.runs) as progress:
            try:
                run_grid(runner, results.runs, lambda each: append_run(file, each), progress.tell)
            except KeyboardInterrupt:
                interrupted = True
    show(file, file.with_suffix(".md"), file.with_suffix(".html"), SEEDS)
    if interrupted:
        say(f"interrupted; the same command goes on from here ({file})")
        raise typer.Exit(INTERRUPTED)


@app.command()
def report(
    results: Annotated[Path, typer.Argument(help="A results file.")],
    to_markdown: Annotated[Path | None, typer.Option("--markdown", help="Write the Markdown there.")] = None,
    to_page: Annotated[Path | None, typer.Option("--page", help="Write the HTML page there.")] = None,
    seeds: Annotated[Path | None, typer.Option("--seeds", metavar="FOLDER", help="Where `snug-seeds` left its "
                                               "tables, which join the page. [default: build/seeds, if they "
                                               "are there]")] = None,
) -> None:
    """Judge a results file again: the table, and Markdown and page beside it or where they are wanted."""
    if seeds and not (seeds / FILE_NAME).is_file():
        raise Problem(f"--seeds: no {seeds / FILE_NAME}: `snug-seeds --out {seeds}` writes it")
    forms = to_markdown or results.with_suffix(".md"), to_page or results.with_suffix(".html")
    if len({each.resolve() for each in (results, *forms)}) < 3:
        raise Problem(f"results, Markdown and page are to be three files, not {results}, {forms[0]} and {forms[1]}")
    show(results, *forms, seeds or SEEDS)


@app.command()
def compare(
    old: Annotated[Path, typer.Argument(help="The results before.")],
    new: Annotated[Path, typer.Argument(help="The results after.")],
    allocators: Annotated[str, typer.Option("--allocators", "-a", metavar="GLOB,...",
                                            help="Which are looked at.")] = SNUG,
    everything: Annotated[bool, typer.Option("--all", help="Also list what is equal or unclear.")] = False,
) -> None:
    """Hold two results against each other: what became better or worse, and what is equal or unclear.

    Exit status: 0 nothing became worse, 1 something did, 2 wrong usage or no results.
    """
    comparison = compare_results(read_results(old), read_results(new), words(allocators))
    print_comparison(screen, comparison, everything=everything)
    raise typer.Exit(1 if comparison.worse else 0)


@app.command()
def traces(
    files: Annotated[list[Path] | None, typer.Argument(help="Traces. [default: those in build/traces, or else the small "
                                                       "ones of the tests]")] = None,
    allocators: Annotated[str, typer.Option("--allocators", "-a", metavar="NAME|NAME=PATH,...",
                                            help="Which to replay on, beside snug. [default: all that are there]")] = "",
    to_page: Annotated[Path, typer.Option("--page", help="Write the HTML page there.")] = OUTPUT / "traces.html",
    build: BuildOption = BUILD,
) -> None:
    """Replay traces of real programs on allocators: where snug's memory is larger than the leanest's, and by what."""
    build = build.resolve()
    line = Line(catalogue(), build, ROOT, "", say)
    chosen = words(allocators) or [name for name, each in line.catalogue.items() if is_there(each, line.peers)]
    for word in [SNUG, *(name for name in chosen if name != SNUG)]:
        line.add(word)
    contenders = [each for each in line.contenders if not each.refusal]
    if line.contenders[0].refusal:
        raise Problem("no trace can be replayed without snug", 1)
    replays = []
    for trace in files or traces_in(ROOT):
        say(f"{trace.name} on {count_of(len(contenders), 'allocator')}")
        try:
            replays.append(replay(build / "bin" / "snug", trace, contenders))
        except Problem as problem:
            say(str(problem))
    if not replays:
        raise Problem("no trace could be replayed", 1)
    write_file(to_page, trace_page(replays, fingerprint(ROOT, build), {each.name: each.version for each in contenders}))
    screen.print(f"page {to_page}", markup=False, soft_wrap=True)
    say_words(screen, f"{sentence(replays)}.")


@app.command(name="list")
def list_all(build: BuildOption = BUILD) -> None:
    """Show the loads, the allocators and the grids that there are."""
    screen.print("Loads", style="bold")
    for load in load_loads(ROOT / "bench" / "loads").values():
        missing = load.missing(build.resolve(), ROOT)
        say_words(screen, load.stresses + (f" — not here: {missing}" if missing else ""),
                  head=f"  {load.name:24} {load.kind:9} ")
    screen.print("Allocators", style="bold")
    screen.print(f"  {SNUG:24} of {build}", markup=False, soft_wrap=True)
    for allocator in catalogue().values():
        there = "" if is_there(allocator, PEERS) else " — to be prepared"
        say_words(screen, f"{allocator.title}{there}", head=f"  {allocator.name:24} ")
    screen.print("Grids", style="bold")
    for preset in load_presets(ROOT / "bench" / "harness" / "grids.toml").values():
        say_words(screen, preset.title, head=f"  {preset.name:24} ")


@app.command()
def prepare(
    allocators: Annotated[list[str] | None, typer.Argument(help="Names; all of them by default.")] = None,
) -> None:
    """Find or build allocators in build/peers. Exit status 1 if one of them cannot be had."""
    failed = False
    known = catalogue()
    for name in allocators or known:
        if name not in known:
            raise Problem(f"no allocator '{name}'; `snug-bench list` shows them")
        try:
            prepared = prepare_allocator(known[name], PEERS, say)
            screen.print(f"{name} {prepared.version}: {prepared.library}", markup=False, soft_wrap=True)
        except Unavailable as reason:
            failed = True
            say(f"{name}: not to be had: {reason}")
    raise typer.Exit(1 if failed else 0)


def results_file(file: Path) -> Path:
    """Raises Problem for what cannot be one: what lies there would be overwritten, or read without an end."""
    try:
        if file.exists() and not file.is_file():
            raise Problem(f"--output: {file} is there, and no file")
    except OSError as error:
        raise Problem(f"--output: {file}: {error.strerror}") from None
    if file.suffix in (".md", ".html"):
        raise Problem(f"--output: {file}: Markdown and page lie beside the results; give these another ending, as .jsonl")
    return file


def resumed(runner: Runner, file: Path, host: dict[str, Any]) -> list[Measurement]:
    """The runs that the file has already. If some of them are stale, none is taken: runs of two builds, or under two
    kernels, are compared only if they were made in turn. If any is left that is not made again at once, the file is kept
    under another name."""
    earlier = read_results(file)
    found = still_valid(runner, earlier.runs)
    if elsewhere := differences(earlier.host, host):
        say(f"{file}: made on another machine ({'; '.join(elsewhere)})")
    if elsewhere or found.stale:
        many = len(earlier.runs) if elsewhere else found.stale
        say(f"{file}: {many} of its runs do not fit this grid or what is built now; all is measured anew, and the file kept "
            f"as {kept_aside(file)}")
        return []
    if found.loses_something:
        say(f"{file}: {count_of(found.unplanned, 'run')} of what is not asked for now, and {len(found.torn)} without one beside "
            f"them of each allocator that is; the file is kept as {kept_aside(file)}")
    elif found.torn:
        say(f"{file}: {count_of(len(found.torn), 'run')} of a repetition that was interrupted are made again")
    say(f"{file}: goes on with {count_of(len(found.runs), 'run')} that it has; --fresh measures anew")
    return found.runs


def begun_anew(file: Path) -> list[Measurement]:
    say(f"{file}: all is measured anew, and the file kept as {kept_aside(file)}")
    return []


def catalogue() -> dict[str, Allocator]:
    return load_allocators(ROOT / "bench" / "harness" / "allocators")


def planned_grid(add: Callable[[str], None], line: Line, loads: list[str], grid: str, allocators: str, repetitions: int,
                 threads: str, seed: int, scale: float, build: Path) -> tuple[Grid, list[dict[str, str]]]:
    """The grid, and the loads that cannot be run here. `add` brings each allocator to the line."""
    presets = load_presets(ROOT / "bench" / "harness" / "grids.toml")
    if grid not in presets:
        raise Problem(f"no grid '{grid}' (there are: {', '.join(presets)})")
    preset = presets[grid]
    if not (build / "bin" / "snug").exists():
        raise Problem(f"no {build}/bin/snug: build first, with `make build`")
    known = {name: load for name, load in load_loads(ROOT / "bench" / "loads").items()
             if load.c_library in ("", line.toolchain.c_library)}
    chosen = matching(known, loads) if loads else of_preset(known, preset.loads)
    missing = [{"name": load.name, "reason": reason} for load in chosen if (reason := load.missing(build, ROOT))]
    for each in missing:
        say(f"{each['name']}: cannot be run: {each['reason']}")
    absent = {each["name"] for each in missing}
    for word in words(allocators) or expanded(preset.allocators, [SNUG, *line.catalogue]):
        add(word)
    plan = Grid([load for load in chosen if load.name not in absent], line.contenders,
                [positive(word) for word in words(threads)] or list(preset.threads),
                repetitions or preset.repetitions, seed, scale, grid)
    if not plan.loads or not plan.contenders:
        raise Problem(f"nothing to run: no {'allocator' if plan.loads else 'load'} is left", 1)
    return plan, missing


def of_preset(known: dict[str, Load], patterns: tuple[str, ...]) -> list[Load]:
    """A pattern with a star may meet nothing: it stands for programs that a system may lack."""
    return matching(known, [each for each in patterns
                            if "*" not in each or any(fnmatchcase(name, each) for name in known)])


def expanded(patterns: tuple[str, ...], names: list[str]) -> list[str]:
    return [name for name in names if any(fnmatchcase(name, pattern) for pattern in patterns)] + \
           [pattern for pattern in patterns if "*" not in pattern and pattern not in names]


def positive(word: str) -> int:
    if not word.isdecimal() or not 1 <= int(word) <= 1024:
        raise Problem(f"--threads: '{word}' is no number from 1 to 1024")
    return int(word)


def show(file: Path, to_markdown: Path, to_page: Path, seeds: Path) -> None:
    """The verdict of a results file in its three forms; the last lines are the page's path and the verdict in a sentence."""
    verdict = judge(read_results(file))
    print_verdict(screen, verdict)
    write_file(to_markdown, markdown(verdict))
    write_file(to_page, page(verdict, say, seeds / FILE_NAME))
    screen.print(f"results {file}, Markdown {to_markdown}", markup=False, soft_wrap=True)
    screen.print(f"page {to_page}", markup=False, soft_wrap=True)
    say_words(screen, closing_sentence(verdict))


def main() -> None:
    run_command(app, "snug-bench")


if __name__ == "__main__":
    main()
