"""snug-recorders: what a recorder puts before a program, what a run is found to be, and what the table says."""

import io
import json
import sys
from pathlib import Path

import pytest
from rich.console import Console
from snug_bench.preparation import Unavailable
from snug_recorders.programs import NAMES, Cost, Program, programs
from snug_recorders.questions import COLUMNS, QUESTIONS
from snug_recorders.recorders import PLAIN, RECORDERS, version_in, written
from snug_recorders.run import Results, figures_of, measured, run_all
from snug_recorders.table import as_json, print_results, ratio_of, sentences

BUILD = Path("/build")
ALONE, HEAPTRACK = RECORDERS[PLAIN], RECORDERS["heaptrack"]


def shell(line: str, **more) -> Program:
    return Program("job", "a job", ["sh", "-c", line], **more)


def made_up() -> Results:
    results = Results(rounds=6)
    results.values = {("sqlite", "processor"): {"plain": [1e9] * 6, "stacks": [2e9] * 6, "heaptrack": [4e9] * 5 + [6e9]},
                      ("sqlite", "peak"): {"plain": [2.0**20] * 6, "stacks": [2.0**20] * 6},
                      ("sqlite", "file"): {"stacks": [5.0 * 2**20] * 6}}
    results.absent = {("node", "heaptrack"): "ended with -9: it said nothing"}
    return results


def test_a_recorder_stands_before_the_program_or_in_its_environment():
    file, python = Path("/tmp/f"), ["/usr/bin/python3", "job.py", "1"]
    assert RECORDERS["stacks"].command(["job", "1"], file, BUILD) == [
        "/build/bin/snug", "record", "--stacks", "-o", "/tmp/f", "--", "job", "1"]
    assert HEAPTRACK.command(["job"], file, BUILD) == ["heaptrack", "-o", "/tmp/f", "job"]
    assert RECORDERS["memray_native"].command(python, file, BUILD) == [
        "/usr/bin/python3", "-m", "memray", "run", "-q", "--native", "-o", "/tmp/f", "job.py", "1"]
    assert RECORDERS["profile"].command(["job"], file, BUILD) == ALONE.command(["job"], file, BUILD) == ["job"]
    assert RECORDERS["profile"].environment(file, BUILD) == {
        "LD_PRELOAD": "/build/lib/libsnug.so", "SNUG_CONF": "profile:512K,profile_out:/tmp/f"}
    assert RECORDERS["snug"].environment(file, BUILD) == {"LD_PRELOAD": "/build/lib/libsnug.so"}
    assert ALONE.environment(file, BUILD) == HEAPTRACK.environment(file, BUILD) == {}


def test_what_is_written_counts_by_any_ending(tmp_path):
    assert written(tmp_path / "recording") == 0
    (tmp_path / "recording.123.zst").write_bytes(b"x" * 100)
    (tmp_path / "recording").write_bytes(b"x" * 20)
    (tmp_path / "other").write_bytes(b"x" * 1000)
    assert written(tmp_path / "recording") == 120


def test_a_recorder_that_has_written_nothing_does_not_count():
    assert figures_of(Cost(1.5, 4096), 0, ALONE) == ({"processor": 1.5e9, "peak": 4096.0}, "")
    assert figures_of(Cost(1.5, 4096), 1000, HEAPTRACK) == ({"processor": 1.5e9, "peak": 4096.0, "file": 1000.0}, "")
    assert figures_of(Cost(1.5, 4096), 10, HEAPTRACK)[1] == "has written 10 bytes, and so recorded nothing"


def test_the_cost_is_that_of_all_processes_that_were_waited_for():
    line = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done"
    figures, why = measured(shell(f"sh -c '{line}'; true"), ALONE, BUILD)
    assert (why, figures["processor"] > 0, figures["peak"] > 100_000) == ("", True, True)


def test_a_program_that_fails_is_told_by_its_last_words():
    assert measured(shell("echo first >&2; echo last >&2; exit 3"), ALONE, BUILD) == ({}, "ended with 3: last")
    assert measured(shell("kill -9 $$"), ALONE, BUILD) == ({}, "ended with -9: it said nothing")
    assert measured(shell("exit 0", port=9), ALONE, BUILD) == ({}, "ended with 0: it said nothing")


def test_its_environment_is_without_what_steers_an_allocator(monkeypatch):
    monkeypatch.setenv("SNUG_CONF", "check:on")
    tested = shell('test -z "$SNUG_CONF" && test "$PYTHONMALLOC" = malloc', environment={"PYTHONMALLOC": "malloc"})
    assert measured(tested, ALONE, BUILD)[1] == ""


def test_what_fails_once_has_no_figures_and_what_is_not_python_is_not_under_memray(tmp_path):
    counted = tmp_path / "count"
    fails = shell(f"echo >> {counted}; test $(wc -l < {counted}) -lt 3")
    works = Program("works", "", ["true"])
    results = run_all([fails, works], [ALONE, RECORDERS["memray"]], BUILD, 4, 1, lambda *_: None)
    assert results.rounds == 4
    assert results.absent == {("job", "plain"): "ended with 1: it said nothing"}
    assert results.values["works", "peak"].keys() == {"plain"} and len(results.values["works", "peak"]["plain"]) == 4
    assert not any(results.values.get(("job", figure)) for figure in ("processor", "peak"))


def test_a_ratio_is_to_the_same_round_of_the_program_alone():
    row = {"plain": [1.0, 2.0, 4.0], "stacks": [3.0, 6.0, 12.0]}
    assert ratio_of(row, "stacks").value == 3.0
    assert ratio_of({"stacks": [3.0]}, "stacks") is None


def test_the_table_has_ratios_files_in_bytes_all_questions_and_what_is_absent():
    text = io.StringIO()
    print_results(Console(file=text, width=160), made_up(), ["plain", "stacks", "heaptrack"])
    said = text.getvalue()
    for part in ("1 s", "2.00×", "4.00×", "[4–6]", "1.00×", "5 MiB", "–", *COLUMNS, *(question for question, _ in QUESTIONS)):
        assert part in said, part
    assert sentences(made_up())[-1] == "node under heaptrack: ended with -9: it said nothing."
    document = json.loads(json.dumps(as_json(made_up(), {}, {})))
    assert [row["ratio_to_plain"] for row in document["figures"] if row["recorder"] == "stacks"] == [2.0, 1.0, None]
    assert document["questions"][0]["heaptrack"] == "yes"


def test_all_programs_are_there_and_python_is_the_one_that_has_memray():
    found = programs(BUILD)
    assert tuple(found) == NAMES
    assert found["python"].command[0] == sys.executable and found["python"].is_python
    assert found["python"].environment["PYTHONMALLOC"] == "malloc"
    assert "--threads" in found["threads"].command and found["threads"].command[-1] == "4"
    assert found["cc1plus"].command[0].endswith(("cc1plus", "g++"))


def test_what_is_not_here_says_so():
    with pytest.raises(Unavailable, match="no-such-program is not installed"):
        Program("x", "", ["no-such-program"]).require()
    with pytest.raises(Unavailable, match="build first"):
        ALONE.require(BUILD)


def test_a_version_is_the_first_number():
    assert version_in("heaptrack 1.4.0\n") == "1.4.0"
    assert version_in("") == "?"
