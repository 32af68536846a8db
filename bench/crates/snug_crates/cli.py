"""The command line: snug-crates [LOAD...]."""

import itertools
import json
import os
import shlex
from pathlib import Path
from typing import Annotated

import typer
from snug_bench.command import chosen, run_command, say, words, write_file
from snug_bench.host import fingerprint
from snug_bench.preparation import Unavailable
from snug_bench.problem import Problem
from snug_bench.progress import one_line
from snug_bench.sheet import standard_screen

from snug_crates.build import KINDS, TARGETS, Workspace
from snug_crates.loads import LOADS, data_at, fill
from snug_crates.run import Entry, run_all
from snug_crates.table import as_json, print_results

ROOT = Path(__file__).resolve().parents[3]

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)

HELP = f"""Measures programs of real Rust crates on the allocators that Rust programs link, in time and memory.

\b
  snug-crates                            all loads, contenders and targets, six times
  snug-crates rg serve -n 9              some loads, nine times
  snug-crates -c snug,system -t musl     some contenders, one target
  snug-crates --list                     the commands alone: nothing is built or run
  snug-crates --json crates.json         every value as well

\b
Loads:
{chr(10).join(f"  {load.name:9} {load.title}" for load in LOADS.values())}

\b
Contenders:
{chr(10).join(f"  {kind.name:9} {kind.title}" for kind in KINDS.values())}

\b
Targets:
{chr(10).join(f"  {name:9} {triple}" for name, triple in TARGETS.items())}, linked statically

cargo downloads the crates once, in the versions of bench/crates/Cargo.lock, and builds each program for each contender
and target in build/crates. Before anything is measured, all contenders have to write the same. The tables have the
median, its interval (minimum and maximum of fewer than six runs), and the ratio to snug's, where more than 1 is slower or
larger than snug. Time on a machine that does other work is not judged: a line below the tables says so.
bench/crates/README.md says what it needs, docs/benchmarking.md explains the rules."""


@app.command(context_settings={"help_option_names": ["-h", "--help"]}, help=HELP)
def run(
    loads: Annotated[list[str] | None, typer.Argument(help="Names or patterns of loads; all of them by default.")] = None,
    contenders: Annotated[str, typer.Option("--contenders", "-c", metavar="NAME,...", help="Which to run. [default: all]")] = "",
    targets: Annotated[str, typer.Option("--targets", "-t", metavar="NAME,...", help="Which to run. [default: both]")] = "",
    repetitions: Annotated[int, typer.Option("--repetitions", "-n", min=1, max=1000, help="Runs of each; six give "
                                             "intervals.")] = 6,
    threads: Annotated[int, typer.Option("--threads", "-j", min=1, max=1024, help="Of each program.")] = os.cpu_count() or 1,
    scale: Annotated[float, typer.Option(min=1e-4, max=100, help="A factor on what each run does; below 1 proves nothing.")] = 1.0,
    seed: Annotated[int, typer.Option(min=0, help="Of the order of the runs.")] = 1,
    plan: Annotated[bool, typer.Option("--list", help="Show the commands, and build and run nothing.")] = False,
    figures: Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write every value to FILE.")] = None,
    build: Annotated[Path, typer.Option("--build", help="The build with the snug command, which measures.")] =
    ROOT / "build" / "release",
) -> None:
    wanted = [LOADS[name] for name in chosen(loads or ["*"], LOADS, "load")]
    names = chosen(words(contenders) or ["*"], KINDS, "contender")
    places = chosen(words(targets) or ["*"], TARGETS, "target")
    workspace = Workspace(ROOT, say)
    data = data_at(workspace.folder, workspace.text, threads, scale)
    if plan:
        for load in wanted:
            for place, name in itertools.product(places, names):
                print(shlex.join(Entry(place, name, workspace.place(place, KINDS[name])).command(load, data)))
        return
    tool = build.resolve() / "bin" / "snug"
    if not tool.is_file():
        raise Problem(f"no {tool}: build first, with `cmake --preset release && ninja -C build/release snug_tool`")
    entries = built(workspace, places, names, list(dict.fromkeys(load.program for load in wanted)))
    fill(data)
    host = fingerprint(ROOT, build)
    results = run_all(tool, wanted, entries, data, repetitions, seed, one_line())
    if results.repetitions < repetitions:
        say(f"interrupted after {results.repetitions} of {repetitions} repetitions")
    screen = standard_screen()
    screen.print(f"{results.repetitions} repetitions, {threads} threads; snug {host['commit']}, {workspace.versions()}; {host['cpus']} × "
                 f"{host['cpu']}, {host['kernel']}, {host['libc']}; load average {host['load_average']}", markup=False, soft_wrap=True)
    print_results(screen, results, list(dict.fromkeys(entry.contender for entry in entries)))
    if figures:
        wish = {"loads": [load.name for load in wanted], "repetitions": repetitions, "threads": threads, "scale": scale, "seed": seed,
                "versions": workspace.versions()}
        write_file(figures, json.dumps(as_json(results, host, wish), indent=1) + "\n")


def built(workspace: Workspace, targets: list[str], names: list[str], programs: list[str]) -> list[Entry]:
    """What can be built; what cannot is said, with its reason. Raises Problem if nothing can."""
    try:
        workspace.prepare()
    except Unavailable as reason:
        raise Problem(str(reason), 1) from None
    entries = []
    for target in targets:
        for name in names:
            try:
                entries.append(Entry(target, name, workspace.built(target, KINDS[name], programs)))
            except Unavailable as reason:
                say(f"{name}, {target}: not to be had: {reason}")
    if not entries:
        raise Problem("no contender is left", 1)
    return entries


def main() -> None:
    run_command(app, "snug-crates")


if __name__ == "__main__":
    main()
