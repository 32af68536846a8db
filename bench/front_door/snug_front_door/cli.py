"""front_door: keeps README's chart, figures and sample what the committed results say.

  scripts/front_door measure   installs what it takes, measures what no grid has (about half an hour, as root, on a
                               quiet machine, of what `make benchmark` has built), runs the demo, writes
                               docs/results/DATE-front-door.json and -demo.txt, then updates
  scripts/front_door update    writes README's marked parts and the charts from the newest files of docs/results
  scripts/front_door check     exit status 1 if these differ from what the files say
  scripts/front_door print [NAME]   the figures of README's sentences, or the number of one, for docs/claims.md

The results that are taken: the newest grid with real programs (docs/results/*.jsonl), the newest *-front-door.json and
the newest *-demo.txt.
"""

import argparse
import json
import signal
import sys
from datetime import UTC, datetime
from pathlib import Path

from snug_bench.problem import Problem
from snug_front_door.figures import figures_of, number_of
from snug_front_door.measure import measure, output_of
from snug_front_door.page import outdated, update
from snug_front_door.sources import Sources

ROOT = Path(__file__).resolve().parents[3]
RESULTS = ROOT / "docs" / "results"


def measured(build: Path, rounds: int) -> None:
    date = datetime.now(UTC).strftime("%Y-%m-%d")
    found = measure(ROOT, build, rounds)
    # Before the demo, which may fail: it took half an hour.
    (RESULTS / f"{date}-front-door.json").write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", "utf-8")
    demo = output_of([str(ROOT / "scripts/demo"), "--build", str(build)], ROOT, COLUMNS="80")
    (RESULTS / f"{date}-demo.txt").write_text(demo, "utf-8")


def print_figures(figures: dict[str, str], name: str | None) -> None:
    if name is None:
        print("\n".join(f"{each}: {figure}" for each, figure in figures.items()))
    elif number := number_of(figures.get(name, "")):
        print(number)
    else:
        raise Problem(f"no number '{name}'; print without a name shows the figures")


def interrupted(*_) -> None:
    raise KeyboardInterrupt


def main() -> int:
    parser = argparse.ArgumentParser(prog="front_door", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=("measure", "update", "check", "print"))
    parser.add_argument("name", nargs="?", help="of a figure, with print")
    parser.add_argument("--build", type=Path, default=ROOT / "build/release", help="the build that is measured")
    parser.add_argument("--rounds", type=int, default=5, help="counted runs of each (default: %(default)s)")
    options = parser.parse_args()
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, interrupted)
    try:
        if options.command == "print":
            print_figures(figures_of(Sources(RESULTS)), options.name)
            return 0
        if options.command == "measure":
            measured(options.build.resolve(), options.rounds)
        if options.command == "check":
            stale = outdated(ROOT)
            for file in stale:
                print(f"front_door: {file} is not what the results say; run scripts/front_door update")
            return 1 if stale else 0
        update(ROOT)
    except Problem as problem:
        print(f"front_door: {problem}", file=sys.stderr)
        return problem.status
    except KeyboardInterrupt:
        return 130
    return 0
