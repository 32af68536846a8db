"""The command line: snug-recorders [PROGRAM...]."""

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

from snug_recorders.programs import NAMES, ROOT, programs
from snug_recorders.recorders import PLAIN, RECORDERS, versions
from snug_recorders.run import run_all
from snug_recorders.table import as_json, print_results

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)

HELP = f"""Measures what recording costs a program, by snug, heaptrack and memray, and lists what each answers.

\b
  snug-recorders                            all programs and recorders, six rounds
  snug-recorders sqlite node -n 9           some programs, nine rounds
  snug-recorders -r stacks,heaptrack        some recorders, beside the program alone
  snug-recorders --json recorders.json      every value as well

\b
Programs: {', '.join(NAMES)}

\b
Recorders:
{chr(10).join(f"  {each.name:13} {each.title}" for each in RECORDERS.values())}

Processor time is user and system of the program, the recorder and all that they wait for; peak RSS is that of the largest of
these processes. Both are medians of the ratio to the same round's run of the program alone, with their interval (least and
most of fewer than six rounds). bench/recorders/README.md says what it needs, docs/benchmarking.md explains the rules."""


@app.command(context_settings={"help_option_names": ["-h", "--help"]}, help=HELP)
def run(
    names: Annotated[list[str] | None, typer.Argument(metavar="[PROGRAM...]", help="Names or patterns; all by default.")] = None,
    recorders: Annotated[str, typer.Option("--recorders", "-r", metavar="NAME,...", help="Which to run. [default: all]")] = "",
    rounds: Annotated[int, typer.Option("--rounds", "-n", min=1, max=1000, help="Runs of each; six give intervals.")] = 6,
    seed: Annotated[int, typer.Option(min=0, help="Of the order of the runs.")] = 1,
    figures: Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write every value to FILE.")] = None,
    build: Annotated[Path, typer.Option("--build", help="The build with the snug command and its library.")] = ROOT / "build" / "release",
) -> None:
    build = build.resolve()
    wanted = chosen(names or ["*"], NAMES, "program")
    asked = chosen([PLAIN, *words(recorders)] if recorders else ["*"], RECORDERS, "recorder")
    there = programs(build)
    line = available({name: there[name] for name in wanted}, lambda program: program.require())
    heads = available({name: RECORDERS[name] for name in asked}, lambda recorder: recorder.require(build))
    if not line or PLAIN not in {each.name for each in heads}:
        raise Problem("nothing is left to run", 1)
    host = fingerprint(ROOT, build)
    results = run_all(line, heads, build, rounds, seed, one_line())
    if results.rounds < rounds:
        say(f"interrupted after {results.rounds} of {rounds} rounds")
    screen = standard_screen()
    others = ", ".join(f"{name} {number}" for name, number in versions().items())
    screen.print(f"{results.rounds} rounds; snug {host['commit']}, {others}; {host['cpus']} × {host['cpu']}, {host['kernel']}, "
                 f"{host['libc']}; load average {host['load_average']}", markup=False, soft_wrap=True)
    print_results(screen, results, [each.name for each in heads])
    if figures:
        wish = {"programs": [each.name for each in line], "rounds": rounds, "seed": seed, "versions": versions()}
        write_file(figures, json.dumps(as_json(results, host, wish), indent=1) + "\n")


def available(them: dict, require) -> list:
    """Of them what is here; of the rest the reason is said."""
    found = []
    for name, each in them.items():
        try:
            require(each)
            found.append(each)
        except Unavailable as reason:
            say(f"{name}: not to be had: {reason}")
    return found


def main() -> None:
    run_command(app, "snug-recorders")


if __name__ == "__main__":
    main()
