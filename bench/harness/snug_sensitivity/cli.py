"""sensitivity: what half and twice of each of snug's tuned constants are worth.

  scripts/sensitivity                    all of bench/harness/sensitivity.toml: more than an hour on a quiet machine; writes
                                         docs/sensitivity.md. Interrupted, the same command goes on where it was
  scripts/sensitivity kDrains cache      some of them; prints the table
  scripts/sensitivity --list             the constants, with the values they have
  scripts/sensitivity --dry-run          only says what would be run, and about how long it takes
"""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from snug_bench.command import INTERRUPTED, notices, run_command, say, words, write_file
from snug_bench.estimate import Estimate
from snug_bench.grid import Grid
from snug_bench.host import differences, fingerprint
from snug_bench.measurement import Measurement
from snug_bench.problem import Problem
from snug_bench.progress import Progress, clock
from snug_bench.quantity import count_of
from snug_bench.results import Results, append_run, claimed, kept_aside, read_results, write_header
from snug_bench.runner import Place, Runner, still_valid
from snug_bench.sheet import standard_screen
from snug_bench.workload import load_loads, matching
from snug_sensitivity.constants import Study, read_study
from snug_sensitivity.study import FIRST, Part, carry_out, contenders_of
from snug_sensitivity.table import as_json, markdown
from snug_sensitivity.tunable import build_tunable
from snug_sensitivity.variants import make_variants

ROOT = Path(__file__).resolve().parents[3]
PLACE = ROOT / "build" / "sensitivity"
PAGE = ROOT / "docs" / "sensitivity.md"

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
screen = standard_screen()


def chosen(study: Study, names: list[str]) -> Study:
    known = [*(each.name for each in study.constants), *study.settings]
    if unknown := next((name for name in names if name not in known), None):
        raise Problem(f"bench/harness/sensitivity.toml has no constant or setting '{unknown}': --list shows them")
    return Study([each for each in study.constants if not names or each.name in names],
                 {key: values for key, values in study.settings.items() if not names or key in names}, study.loads, study.threads)


def print_list(study: Study) -> None:
    for each in study.constants:
        found = each.pattern().search((ROOT / each.file).read_text("utf-8"))
        value = found["value"].removeprefix(" = ") if found else ""
        screen.print(f"{each.name:24} {value:28} {each.file}", markup=False, soft_wrap=True)
    for key, values in study.settings.items():
        screen.print(f"{key:24} {' or '.join(values):28} SNUG_CONF", markup=False, soft_wrap=True)


@app.command(context_settings={"help_option_names": ["-h", "--help"]}, help=__doc__.replace("\n\n", "\n\n\b\n", 1))
def run(
    names: Annotated[list[str] | None, typer.Argument(help="Constants or settings. [default: all]")] = None,
    loads: Annotated[str, typer.Option(metavar="NAME,...", help="Loads. [default: those of bench/harness/sensitivity.toml]")] = "",
    list_all: Annotated[bool, typer.Option("--list", help="Only show the constants.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be run.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the table as JSON.")] = False,
    build: Annotated[Path, typer.Option(help="The build with the snug command and the workloads that are run.")] = ROOT / "build" / "release",
) -> None:
    known = read_study(ROOT)
    study = chosen(known, names or [])
    if list_all:
        print_list(study)
        return
    if not (build / "bin" / "snug").exists():
        raise Problem(f"no {build}/bin/snug: build first, with `make benchmark`")
    say(f"builds {PLACE.relative_to(ROOT)}, with constants that are variables")
    library = build_tunable(ROOT, PLACE, known.constants)
    variants = make_variants(library, study.constants, study.settings, PLACE / "lib")
    plan = Part(matching(load_loads(ROOT / "bench" / "loads"), words(loads) or study.loads), contenders_of(library, variants), study.threads,
                FIRST, 1, 1.0, "sensitivity")
    if dry_run:
        runs = list(plan.runs())
        screen.print(f"{count_of(len(variants), 'variant')} on {count_of(len(plan.rows()), 'row')}, twice: {count_of(len(runs), 'run')}, "
                     f"about {clock(Estimate(runs, plan.shrink).seconds_left())}; and four times more what is apart then")
        return
    whole = not names and not loads
    results = measured(plan, build.resolve(), PLACE / ("runs.jsonl" if whole else "some.jsonl"))
    if whole:
        write_file(PAGE, markdown(results, variants))
    screen.print(as_json(results, variants) if json else markdown(results, variants), markup=False, soft_wrap=True)


def measured(plan: Part, build: Path, file: Path) -> Results:
    place = Place(ROOT, build)
    results = Results(fingerprint(ROOT, build), plan.as_json(), [load.as_json() for load in plan.loads],
                      [each.as_published(ROOT) for each in plan.contenders], [])

    def runner(grid: Grid) -> Runner:
        return Runner(place, grid)

    with claimed(file):
        if file.is_file():
            results.runs = resumed(runner(plan), file, results.host)
        try:
            carry_out(runner, plan, results, lambda each: append_run(file, each), lambda whole: write_header(file, whole),
                      lambda grid, made: Progress(notices, grid, made))
        except KeyboardInterrupt:
            say(f"interrupted; the same command goes on from here ({file})")
            raise typer.Exit(INTERRUPTED) from None
    return results


def resumed(runner: Runner, file: Path, host: dict[str, Any]) -> list[Measurement]:
    """The runs that the file has already; carry_out decides which rounds after the first are whole. The file is kept under
    another name if any is left but those of a round that was interrupted. Runs of two builds, or under two kernels, are
    compared only if they were made in turn."""
    earlier = read_results(file)
    found = still_valid(runner, earlier.runs)
    if found.stale or differences(earlier.host, host):
        say(f"{file}: {count_of(found.stale or len(earlier.runs), 'run')} of another build or machine: all is measured anew, and "
            f"the file kept as {kept_aside(file)}")
        return []
    first = replace(found, torn=[run for run in found.torn if run.repetition <= FIRST])
    if first.loses_something:
        say(f"{file}: {count_of(first.unplanned, 'run')} of what is not asked for now, and {len(first.torn)} without each variant "
            f"beside them; the file is kept as {kept_aside(file)}")
    return [*found.runs, *(run for run in found.torn if run.repetition > FIRST)]


def main() -> None:
    run_command(app, "sensitivity")

