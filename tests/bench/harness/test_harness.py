"""The whole of it on planted allocators: each fault is found and named, a grid resumes, wrong words are one line."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from snug_bench import cli
from snug_bench.allocator import Allocator, FromPackage
from snug_bench.measurement import Figure
from snug_bench.results import read_results
from snug_bench.runner import nonsense_among
from snug_bench.verdict import judge

BUILD = os.environ["SNUG_BUILD"]
FLAWS = ("slow", "hog", "corrupt", "crash")
PLANTED = {flaw: os.environ[f"PLANTED_{flaw.upper()}"] for flaw in (*FLAWS, "hang", "none")}
ALLOCATORS = ",".join(["snug", f"one={PLANTED['none']}", f"two={PLANTED['none']}",
                       *(f"{flaw}={PLANTED[flaw]}" for flaw in FLAWS)])
SMALL = ["--scale", "0.004", "-t", "1"]


def snug_bench(*arguments):
    return subprocess.run([sys.executable, "-m", "snug_bench.cli", *arguments], capture_output=True, text=True,
                          check=False)


@pytest.fixture(scope="module")
def grid(tmp_path_factory):
    """Everything planted but the hang, run once: the process, and its results file."""
    file = tmp_path_factory.mktemp("grid") / "planted.jsonl"
    arguments = ["run", "churn", "-a", ALLOCATORS, "-n", "3", *SMALL, "-o", str(file), "--build", BUILD]
    return snug_bench(*arguments), file, arguments


@pytest.fixture(scope="module")
def row(grid):
    return judge(read_results(grid[1])).rows[0]


def test_it_runs_to_its_end(grid):
    process, file, _ = grid
    assert process.returncode == 0, process.stderr
    page, sentence = process.stdout.splitlines()[-2:]
    assert page == f"page {file.with_suffix('.html')}"
    words = "better in [01] of 1 row, equal in [01], worse in [01], unclear in [01]"
    time = rf"(Too noisy to judge time: .*; snug's|snug's time is {words}; its)"  # as the machine is
    assert re.fullmatch(rf"5 cells measured, 2 failed \(churn on corrupt, churn on crash\); {time} memory is {words}",
                        sentence), sentence
    assert file.with_suffix(".md").exists() and file.with_suffix(".html").exists()


def test_the_hog_is_the_biggest(row):
    ran = [name for name, cell in row.cells.items() if not cell.failed]
    assert sorted(ran) == ["hog", "one", "slow", "snug", "two"]
    assert max(ran, key=lambda name: row.sample(name, "memory").median) == "hog"
    assert row.word("hog", "memory", "one") == "worse"


def test_the_slow_one_is_worse(tmp_path):
    for number in range(8):
        file = tmp_path / f"{number}.jsonl"
        snug_bench("run", "churn", "-a", f"one={PLANTED['none']},slow={PLANTED['slow']}", "-n", "3", "--scale",
                   str(0.004 * 2 ** number), "-t", "1", "-o", str(file), "--build", BUILD)
        word = judge(read_results(file)).rows[0].word("slow", "time", "one")
        if word != "unclear":  # else other programs had the processor for longer than these runs take
            break
    assert word == "worse"


def test_two_names_of_one_allocator_are_not_told_apart(row):
    assert row.word("one", "memory", "two") == "equal"


@pytest.mark.parametrize(("name", "what"), [("corrupt", "a block was damaged"), ("crash", "killed by SIGSEGV")])
def test_a_broken_one_is_reported_in_its_cell(grid, row, name, what):
    assert row.cells[name].failed and any(what in failure for failure in row.cells[name].failures)
    assert f"on {name}: " in grid[0].stdout and what in grid[0].stdout
    assert what in grid[1].with_suffix(".md").read_text()


def test_a_hang_is_waited_for_once_and_reported_in_its_cell(tmp_path):
    file = tmp_path / "hang.jsonl"
    process = snug_bench("run", "churn", "-a", f"hang={PLANTED['hang']}", "-n", "3", *SMALL, "--timeout", "1", "-o",
                         str(file), "--build", BUILD)
    assert process.returncode == 0, process.stderr
    assert [run.ending for run in read_results(file).runs] == ["timed out", "skipped", "skipped", "skipped"]
    assert re.search(r"churn on hang: stopped at the time limit, after [1-9]\d*\.\d s", process.stdout)
    assert "churn on hang: not tried again: stopped at the time limit" in process.stdout


def test_snug_proves_its_runs_and_the_versions_are_its_own(grid):
    results = read_results(grid[1])
    assert [each["version"] for each in results.allocators if each["name"] == "snug"][0][:1].isdigit()
    warm_up = [run for run in results.runs if run.repetition == 0 and run.counts]
    assert {run.bound for run in warm_up} == {"1 of 1 programs"}
    assert not [each["library"] for each in results.allocators if each["library"].startswith(f"{cli.ROOT}/")]
    assert {"cpu", "kernel", "transparent_huge_pages", "libc", "compiler", "commit", "load_average"} <= set(results.host)


def test_each_run_knows_what_the_processors_did_meanwhile(grid):
    ran = [run.processors for run in read_results(grid[1]).runs if run.counts]
    assert ran and all(each.total > 0 and 0 < each.own <= each.total * 1.2 + 0.05 for each in ran)  # by ticks of 10 ms


def test_a_second_call_measures_nothing_again(grid):
    _, file, arguments = grid
    before = file.read_text().splitlines()[1:]
    again = snug_bench(*arguments)
    assert f"goes on with {len(before)} runs" in again.stderr and ": 0 runs," in again.stderr
    assert file.read_text().splitlines()[1:] == before


def test_what_was_made_otherwise_is_measured_anew(grid, tmp_path):
    _, file, arguments = grid
    copy = tmp_path / "copy.jsonl"
    # Only what the second call plans as well, so that nothing but the runs' identity tells them apart.
    copy.write_text("".join(line + "\n" for line in file.read_text().splitlines()
                            if '"schema"' in line or '"allocator": "one"' in line))
    before = copy.read_text()
    words = [*arguments[:3], f"one={PLANTED['none']}", "-n", "3", "--scale", "0.01", "-t", "1", "-o", str(copy),
             "--build", BUILD]
    process = snug_bench(*words)
    assert process.returncode == 0, process.stderr
    assert "all is measured anew" in process.stderr
    assert (tmp_path / "copy.old1.jsonl").read_text() == before
    assert len(read_results(copy).runs) == 4


def interrupted(file, how, scale):
    """The words of a call that got the signal as soon as three of its nine runs were written, and its status."""
    words = ["run", "churn", "-a", f"one={PLANTED['none']}", "-n", "8", "--scale", str(scale), "-t", "1",
             "-o", str(file), "--build", BUILD]
    process = subprocess.Popen([sys.executable, "-m", "snug_bench.cli", *words], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    while (not file.exists() or len(file.read_text().splitlines()) < 4) and process.poll() is None:
        time.sleep(0.01)
    process.send_signal(how)
    process.communicate()
    return words, process.returncode


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_grid_goes_on(tmp_path, how):
    for number in range(8):
        file = tmp_path / f"interrupted{number}.jsonl"
        words, status = interrupted(file, how, 0.2 * 2 ** number)
        kept = len(read_results(file).runs)
        if kept < 9:  # else it was done before the signal came, and runs that take longer have to be tried
            break
    assert status == 130
    assert 3 <= kept < 9
    again = snug_bench(*words)
    assert again.returncode == 0 and f"goes on with {kept} runs" in again.stderr
    assert sorted(run.repetition for run in read_results(file).runs) == list(range(9))


@pytest.mark.parametrize(("words", "status", "what"), [
    (["run", "nosuch"], 2, "no load matches 'nosuch'"),
    (["run", "churn", "-a", "nosuch"], 2, "no allocator 'nosuch'"),
    (["run", "churn", "-a", "./nosuch.so"], 2, "no library './nosuch.so'"),
    (["run", "churn", "-a", "snug,snug"], 2, "named twice"),
    (["run", "churn", "-a", "snug", "-t", "0"], 2, "--threads"),
    (["run", "churn", "-a", "snug", "-t", "²"], 2, "--threads"),
    (["run", "churn", "-a", f"={BUILD}/bin/snug"], 2, "names no allocator"),
    (["run", "churn", "-o", "n" * 300], 2, "--output"),
    (["run", "--grid", "nosuch"], 2, "no grid 'nosuch'"),
    (["run", "churn", "--build", "/nowhere"], 2, "make build"),
    (["run", "churn", "-o", "/dev/full"], 2, "no file"),
    (["run", "churn", "-o", "results.md"], 2, "another ending"),
    (["report", "/nowhere.jsonl"], 2, "cannot read"),
    (["report", "/dev/zero"], 2, "no file"),
])
def test_wrong_words_are_one_line(monkeypatch, capsys, words, status, what):
    words = words if words[0] == "report" or "--build" in words else [*words, "--build", BUILD]
    monkeypatch.setattr("sys.argv", ["snug-bench", *words])
    with pytest.raises(SystemExit) as ending:
        cli.main()
    said = capsys.readouterr().err
    assert (ending.value.code, said.count("\n")) == (status, 1), said
    assert said.startswith("snug-bench: ") and what in said


def test_a_damaged_results_file_is_one_line(tmp_path):
    file = tmp_path / "damaged.jsonl"
    file.write_text(json.dumps({"schema": "snug.bench/1"}) + "\n")
    process = snug_bench("run", "churn", "-a", "snug", "-o", str(file), "--build", BUILD)
    assert (process.returncode, process.stderr.count("\n")) == (2, 1), process.stderr


def run_on_library(folder: Path, name: str, source: str, *others: str):
    """A run of churn on a library of one's own, and on others; and the library."""
    text, library = folder / f"{name}.c", folder / f"lib{name}.so"
    text.write_text(source)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, text], check=True)
    allocators = ",".join([*others, str(library)])
    return snug_bench("run", "churn", "-a", allocators, "-n", "1", *SMALL, "-o", str(folder / "r.jsonl"),
                      "--build", BUILD), library


def test_a_library_without_malloc_is_refused_with_the_reason(tmp_path):
    process, _ = run_on_library(tmp_path, "empty", "int nothing;\n", "snug")
    assert process.returncode == 0, process.stderr
    assert "empty: not run on" in process.stderr
    assert "churn on empty: not run on" in process.stdout


def test_a_library_that_kills_its_process_is_named_once(tmp_path):
    process, library = run_on_library(
        tmp_path, "abort", "#include <stdlib.h>\n__attribute__((constructor)) static void end(void) { abort(); }\n")
    said = f"{library} cannot serve even this tool: killed by SIGABRT"
    assert f"abort: {said}" in process.stderr.splitlines(), process.stderr
    assert f"churn on abort: {said} (" in process.stdout


def test_what_is_not_to_be_had_is_named_once(monkeypatch, capsys):
    nosuch = Allocator("nosuch", "no such", "", "", FromPackage("libnosuch1", "libnosuch.so.1"), "")
    monkeypatch.setattr(cli, "catalogue", lambda: {"nosuch": nosuch})
    monkeypatch.setattr("sys.argv", ["snug-bench", "prepare"])
    with pytest.raises(SystemExit):
        cli.main()
    assert capsys.readouterr().err == \
        "nosuch: not to be had: libnosuch.so.1 is not installed; apt-get install libnosuch1\n"


def test_a_library_that_ends_every_program_is_refused_with_the_reason(tmp_path):
    process, _ = run_on_library(
        tmp_path, "quitter",
        "#include <unistd.h>\n__attribute__((constructor)) static void quit(void) { _exit(0); }\n", "snug")
    assert process.returncode == 0, process.stderr
    assert "cannot serve even this tool: it ended well, but" in process.stdout


def test_a_figure_that_cannot_be_is_no_result():
    assert nonsense_among({"a": Figure(0, "ns"), "b": Figure(-2, "op/s", True)}) == "it printed nonsense: b is -2 op/s"
    assert nonsense_among({"a": Figure(0, "ns")}) == ""


def test_everything_declared_can_be_read():
    process = snug_bench("list", "--build", BUILD)
    assert process.returncode == 0 and "swap" in process.stdout, process.stderr
