"""The command line: snug-heaps [LOAD...]."""

import dataclasses
import json
from pathlib import Path
from typing import Annotated

import typer
from snug_bench.command import chosen, run_command, say, words, write_file
from snug_bench.host import fingerprint
from snug_bench.preparation import Unavailable
from snug_bench.problem import Problem
from snug_bench.progress import one_line
from snug_bench.sheet import standard_screen

from snug_heaps.contender import KINDS, SNUG, Contender, compiled
from snug_heaps.run import LOADS, Wish, run_all
from snug_heaps.table import as_json, print_results

ROOT = Path(__file__).resolve().parents[3]
PLAIN_SECONDS = 20  # between two lines of progress where there is no terminal

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)

HELP = f"""Measures snug's heaps of one's own (docs/heaps.md) beside those of others, in time and memory.

\b
  snug-heaps                             all loads on all contenders, six times: about eight minutes
  snug-heaps requests query -n 9         some loads, nine times
  snug-heaps -c snug,mimalloc            some contenders
  snug-heaps --json heaps.json           every value as well

\b
Loads ({', '.join(LOADS)}):
  requests, requests_threads   a heap a request: 20 to 400 blocks of 16 B to 4 KiB, a third freed, then its end
  query                        eight heaps in turns, rows of 64 B to 64 KiB, half of them freed; time of a row
  document                     a heap for a tree of 20,000 nodes and strings, which is walked; time of a block
  one_block, four_sizes        a heap made and ended for one block, or for 20 of four sizes
  live                         100,000 heaps with ten blocks each at once, or as many as fit into 4 GiB
  shared                       threads share a heap and free each other's blocks; time of a replacement

\b
Contenders:
{chr(10).join(f"  {kind.name:14} {kind.title}" for kind in KINDS.values())}

Each load runs in a process of its own for half a second, on its contenders in turns. The table has the median, its
interval (minimum and maximum of fewer than six runs), and the ratio to the best heap; malloc is a reference, and not
counted among heaps. Time on a machine that does other work is not judged: a line below the table says so.
docs/benchmarking.md explains the rules."""


@app.command(context_settings={"help_option_names": ["-h", "--help"]}, help=HELP)
def run(
    loads: Annotated[list[str] | None, typer.Argument(help="Names or patterns of loads; all of them by default.")] = None,
    contenders: Annotated[str, typer.Option("--contenders", "-c", metavar="NAME,...", help="Which to run. [default: all]")] = "",
    repetitions: Annotated[int, typer.Option("--repetitions", "-n", min=1, max=1000, help="Runs of each; six give "
                                             "intervals.")] = 6,
    threads: Annotated[int, typer.Option("--threads", "-t", min=1, max=1024, help="Of requests_threads and shared.")] = 4,
    scale: Annotated[float, typer.Option(min=1e-4, max=100, help="A factor on the half second and on the heaps of `live`; "
                                         "below 1 proves nothing.")] = 1.0,
    seed: Annotated[int, typer.Option(min=0, help="Of the order of the runs, and of the loads.")] = 1,
    figures: Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write every value to FILE.")] = None,
    build: Annotated[Path, typer.Option("--build", help="The build with the libsnug.so that is measured.")] =
    ROOT / "build" / "release",
) -> None:
    wish = Wish(chosen(loads or ["*"], LOADS, "load"), repetitions, threads, scale, seed)
    line = []
    for name in chosen(words(contenders) or ["*"], tuple(KINDS), "contender"):
        try:
            line.append(compiled(ROOT, build.resolve(), KINDS[name], say))
        except Unavailable as reason:
            say(f"{name}: not to be had: {reason}")
    if not line:
        raise Problem("no contender is left", 1)
    host = fingerprint(ROOT, build)
    results = run_all(wish, line, one_line(PLAIN_SECONDS))
    if results.repetitions < repetitions:
        say(f"interrupted after {results.repetitions} of {repetitions} repetitions")
    screen = standard_screen()
    screen.print(outline(line, host, results.repetitions), markup=False, soft_wrap=True)
    print_results(screen, results, line)
    if figures:
        write_file(figures, json.dumps(as_json(results, line, host, dataclasses.asdict(wish)), indent=1) + "\n")


def outline(line: list[Contender], host: dict[str, str | int], repetitions: int) -> str:
    versions = ", ".join(f"{each.kind.name} {each.version}" for each in line if each.version and each.kind.name != SNUG)
    return (f"{repetitions} repetitions; snug {host['commit']}{', ' + versions if versions else ''}; {host['cpus']} × "
            f"{host['cpu']}, {host['kernel']}, {host['libc']}; load average {host['load_average']}")


def main() -> None:
    run_command(app, "snug-heaps")


if __name__ == "__main__":
    main()
