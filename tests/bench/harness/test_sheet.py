"""What is printed fits: golden files at 80, 100 and 200 columns, on a terminal and into a pipe; no cell is ever broken.

SNUG_WRITE_GOLDEN=1 writes the golden files anew; look at what changed in them.
"""

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console
from rich.text import Text
from snug_bench.comparison import compare_results
from snug_bench.results import write_header
from snug_bench.sheet import Column, Sheet, packed, say_words, show_panels, show_stack, wrapped
from snug_bench.terminal import print_comparison, print_verdict
from snug_bench.verdict import judge
from snug_seeds.section import HOLDS, Section, Table, Verdict
from snug_seeds.table import print_section
from synthetic import allocator, load, results, run, series

GOLDEN = Path(__file__).with_name("golden")
NAMES = ("glibc", "jemalloc_tikv", "mimalloc2-nothp", "mimalloc3", "snmalloc", "tcmalloc_google")


def grid(changed=1.0):
    runs = [run("mimalloc3", number, 1, 1, on="false_sharing", threads=8, objection="killed by SIGSEGV") for number in range(4)]
    for at, name in enumerate(("snug", *NAMES)):
        for on, threads, time in (("false_sharing", 8, 12), ("redis", 1, 1.6e6), ("cold_start", 1, 104e3)):
            if (name, on) != ("mimalloc3", "false_sharing"):
                runs += series(name, time * (1 + (5 * at + 2) % 7 / 9) * changed, (20 + 7 * at) << 20, on=on, threads=threads, noise=0.01)
    planted = results(runs, [load("false_sharing"), load("redis", "real"), load("cold_start")])
    planted.allocators = [allocator(name) | {"version": "2.1.4+deb12u1"} for name in ("snug", *NAMES)]
    return planted


def of_verdict(console):
    print_verdict(console, judge(grid()))


def of_comparison(console):
    print_comparison(console, compare_results(grid(), grid(1.25), ["snug", "mimalloc2-*"]), everything=True)


def of_seeds(console):
    columns = ["N", *(f"{name}, {side}" for name in ("old", "without", "new") for side in ("published", "here")),
               "snug", *(f"malloc of {name}" for name in NAMES)]
    rows = [[str(n), *(f"{n / 9 + at:.3f} ± {at / 7:.3f}" for at in range(len(columns) - 1))] for n in (10, 150, 300)]
    print_section(console, Section("S0", "Cells with trailers and bins, against a scan", [
        Table("ms for set-up and N rounds: mean ± standard deviation, 30 runs", columns, rows)],
        [Verdict("bins beat the scan 1.59 times a pair or more", HOLDS, "3.04 [2.96, 3.11; 95%], 30 runs")], ["A remark."]))


@pytest.mark.parametrize("columns", [80, 100, 200])
@pytest.mark.parametrize("what", [of_verdict, of_comparison, of_seeds], ids=["verdict", "comparison", "seeds"])
def test_it_is_printed_as_agreed(what, columns, request):
    console = Console(file=io.StringIO(), width=columns, force_terminal=True, color_system=None, highlight=False)
    what(console)
    said = console.file.getvalue()
    golden = GOLDEN / f"{request.node.callspec.id.removeprefix(f'{columns}-').removesuffix(f'-{columns}')}.{columns}.txt"
    if os.environ.get("SNUG_WRITE_GOLDEN"):
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(said, encoding="utf-8")
    assert said == golden.read_text(encoding="utf-8")
    assert all(Text(line).cell_len <= columns for line in said.splitlines())


@pytest.mark.parametrize(("asked", "fits"), [("80", 80), (None, 100), ("200", 200)])
def test_a_pipe_gets_tables_as_wide_as_it_says(tmp_path, asked, fits):
    old, new = tmp_path / "old.jsonl", tmp_path / "new.jsonl"
    write_header(old, grid()), write_header(new, grid(1.25))
    environment = {key: value for key, value in os.environ.items() if key != "COLUMNS"} | ({"COLUMNS": asked} if asked else {})
    command = [sys.executable, "-m", "snug_bench.cli", "compare", "-a", "*", old, new]
    lines = subprocess.run(command, env=environment, capture_output=True, text=True, check=False).stdout.splitlines()
    assert len(lines) > 20 and max(map(len, lines)) <= fits
    assert sum("tcmalloc_google" in line for line in lines) == 6  # of each load, time and its figure


def sheet(*, keys=1):
    made = Sheet("T", [Column("load", "left"), Column("time\nof it"), Column("memory"), Column("", "left")], keys)
    made.add("a load", "12.5 ms", "3 MiB", "worse")
    made.add("[red]b[/]", "1 ms", "–", Text(""))
    return made


def printed(show, width, *what):
    console = Console(file=io.StringIO(), width=width, force_terminal=True, color_system=None, highlight=False)
    show(console, *what)
    return console.file.getvalue().splitlines()


def test_what_fits_is_whole():
    whole = ["T", "              time", "load         of it  memory", "a load     12.5 ms   3 MiB  worse", "[red]b[/]     1 ms       –"]
    assert printed(show_panels, 33, sheet()) == printed(show_stack, 33, sheet()) == whole


def test_panels_repeat_what_a_row_is():
    assert printed(show_panels, 26, sheet()) == [
        "T", "              time", "load         of it  memory", "a load     12.5 ms   3 MiB", "[red]b[/]     1 ms       –",
        "", "load", "a load     worse", "[red]b[/]"]


def test_a_stack_has_each_figure_with_its_title_and_breaks_none():
    assert printed(show_stack, 32, sheet()) == [
        "T", "a load", "  time of it 12.5 ms", "  memory 3 MiB  worse", "[red]b[/]", "  time of it 1 ms  memory –"]
    assert printed(show_stack, 5, sheet())[2] == "  time of it 12.5 ms"  # rather too long than broken


def test_items_are_packed_and_words_wrapped():
    assert [line.plain for line in packed([Text("one"), Text("two 2"), Text("three")], 11, indent=2)] == ["one  two 2", "  three"]
    assert wrapped("some words /a/long-path", 12, "- ", 1) == ["- some words", "   /a/long-path"]
    assert printed(say_words, 9, "one two three") == ["one two", "three"]
    pipe = Console(file=io.StringIO(), width=9)
    say_words(pipe, "one [two] three", head="- ")
    assert pipe.file.getvalue() == "- one [two] three\n"  # one line, for what searches it
