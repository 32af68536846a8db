"""The command line: snug-defrag."""

import contextlib
import dataclasses
import json
from pathlib import Path
from typing import Annotated

import typer
from snug_bench.command import run_command, say, words, write_file
from snug_bench.host import fingerprint
from snug_bench.problem import Problem
from snug_bench.processor_time import ProcessorTime, processor_time
from snug_bench.sheet import standard_screen

from snug_defrag.life import Broken, Wish, live
from snug_defrag.source import Contender, Unavailable, built, load_program
from snug_defrag.table import Results, as_json, print_results

ROOT = Path(__file__).resolve().parents[3]
NAMES = ("snug", "jemalloc")

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)

HELP = """Measures Redis that defragments, on snug by bench/defrag/redis_on_snug.patch and on the jemalloc that it carries.

\b
  snug-defrag                      three lives of each: about twelve minutes
  snug-defrag -n 6 -c snug         six, of one
  snug-defrag --json defrag.json   every value as well

A life: keys with values of 16 B to 4 KiB are set, 70% of them deleted at random, a client gets and sets values; then the
same with activedefrag on. The lives of both take turns. bench/defrag/README.md says what the figures are."""


@app.command(context_settings={"help_option_names": ["-h", "--help"]}, help=HELP)
def run(
    contenders: Annotated[str, typer.Option("--contenders", "-c", metavar="NAME,...", help="Which to run. [default: both]")] = "",
    repetitions: Annotated[int, typer.Option("--repetitions", "-n", min=1, max=1000, help="Lives of each.")] = 3,
    keys: Annotated[int, typer.Option(min=1000, help="Set at first, of which 30% stay.")] = 600_000,
    rate: Annotated[float, typer.Option(min=0, help="Requests a second; 0: one after the other.")] = 5000,
    settle: Annotated[float, typer.Option(min=0, help="Seconds after the deletions, in which an allocator gives back by itself "
                                          "what it will.")] = 12,
    seconds: Annotated[float, typer.Option(min=1, help="Of the load without defragmentation.")] = 15,
    most: Annotated[float, typer.Option(min=5, help="Seconds of the load with it.")] = 90,
    seed: Annotated[int, typer.Option(min=0, help="Of sizes, keys and orders.")] = 1,
    figures: Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write every value to FILE.")] = None,
    build: Annotated[Path, typer.Option("--build", help="The build with the libsnug.so that is measured.")] =
    ROOT / "build" / "release",
) -> None:
    wish = Wish(keys, rate, settle, seconds, most, seed)
    folder = ROOT / "build" / "defrag"
    try:
        line = [built(name, ROOT, build.resolve(), folder, say) for name in chosen(words(contenders))]
        load = load_program(folder)
    except Unavailable as reason:
        raise Problem(str(reason), 1) from None
    host = fingerprint(ROOT, build)
    results: Results = {each.name: [] for each in line}
    processors: list[ProcessorTime] = []
    with contextlib.suppress(KeyboardInterrupt):
        for repetition in range(repetitions):
            one_round(line[::-1] if repetition % 2 else line, load, dataclasses.replace(wish, seed=seed + repetition), results,
                      processors)
    if not any(results.values()):
        raise KeyboardInterrupt
    screen = standard_screen()
    screen.print(f"snug {host['commit']}, {len(processors)} lives; {keys} keys; {host['cpus']} × {host['cpu']}, {host['kernel']}; "
                 f"load average {host['load_average']}", markup=False, soft_wrap=True)
    print_results(screen, {name: lives for name, lives in results.items() if lives}, processors)
    if figures:
        write_file(figures, json.dumps(as_json(results, host, dataclasses.asdict(wish)), indent=1) + "\n")


def one_round(line: list[Contender], load: Path, wish: Wish, results: Results, processors: list[ProcessorTime]) -> None:
    for contender in line:
        say(f"{contender.name}, life {len(results[contender.name]) + 1}")
        before = processor_time()
        try:
            results[contender.name].append(live(contender, load, wish))
        except Broken as what:
            raise Problem(f"{contender.name}: {what}", 1) from None
        processors.append(processor_time().since(before))


def chosen(names: list[str]) -> list[str]:
    for name in names:
        if name not in NAMES:
            raise Problem(f"no contender '{name}' (there are: {', '.join(NAMES)})")
    return [name for name in NAMES if not names or name in names]


def main() -> None:
    run_command(app, "snug-defrag")


if __name__ == "__main__":
    main()
