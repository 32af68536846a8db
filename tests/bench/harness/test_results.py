"""Results files: what is written is read, and what is damaged is one line that says where."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from snug_bench.contender import Contender
from snug_bench.measurement import Figure, Measurement
from snug_bench.problem import Problem
from snug_bench.results import append_run, read_results, write_header
from synthetic import results, run, series

ROOT = Path(__file__).resolve().parents[3]

numbers = st.floats(0, 1e15)
names = st.text(min_size=1, max_size=12)


@given(st.builds(Measurement, names, st.integers(1, 99), names, st.integers(0, 99), names, names, st.text(),
                 st.dictionaries(names, st.none() | numbers, max_size=4),
                 st.dictionaries(names, st.builds(Figure, numbers, st.text(max_size=4), st.booleans()), max_size=4),
                 st.lists(st.tuples(numbers, numbers), max_size=4).map(tuple), names, names, numbers))
def test_a_run_survives_the_file(measurement):
    assert Measurement.from_json(json.loads(json.dumps(measurement.as_json()))) == measurement


@pytest.fixture
def file(tmp_path):
    written = results(series("snug", 10, 20, count=3))
    write_header(tmp_path / "deep" / "results.jsonl", written)
    return tmp_path / "deep" / "results.jsonl"


def test_what_is_appended_is_there(file):
    append_run(file, run("snug", 4, 11, 20))
    assert [each.repetition for each in read_results(file).runs] == [1, 2, 3, 4]


def test_half_a_line_at_the_end_is_what_a_killed_writer_leaves(file):
    with file.open("a") as stream:
        stream.write('{"load": "lo')
    assert len(read_results(file).runs) == 3


@pytest.mark.parametrize(("damage", "where"), [
    (lambda lines: [], "empty"),
    (lambda lines: ["no JSON", *lines[1:]], ":1: "),
    (lambda lines: ["[]", *lines[1:]], ":1: "),
    (lambda lines: [lines[0].replace("snug.bench/1", "snug.bench/9"), *lines[1:]], ":1: of schema 'snug.bench/9'"),
    (lambda lines: [lines[0].replace('"loads"', '"moads"'), *lines[1:]], ":1: "),
    (lambda lines: [lines[0].replace('"shrink"', '"shrunk"'), *lines[1:]], ":1: damaged"),
    (lambda lines: [lines[0].replace('"kernel"', '"colonel"'), *lines[1:]], ":1: damaged"),
    (lambda lines: [lines[0], "\x00\x01", *lines[2:]], ":2: damaged"),
    (lambda lines: [*lines[:2], lines[2][:40], lines[3]], ":3: damaged"),
    (lambda lines: [*lines[:3], lines[3].replace('"figures": {', '"figures": {"x": 7, ')], ":4: damaged"),
    (lambda lines: [*lines[:3], lines[3].replace('"wall_seconds": ', '"wall_seconds": NaN, "x": ')], ":4: damaged"),
    (lambda lines: [*lines[:3], "null"], ":4: damaged"),
    (lambda lines: ["[" * 100000, *lines[1:]], ":1: "),
    (lambda lines: [*lines[:3], "[" * 100000], ":4: damaged"),
    (lambda lines: [lines[0].replace('"title": "load"', '"title": 7'), *lines[1:]], ":1: damaged"),
    (lambda lines: [lines[0].replace('"version": "1"', '"version": null'), *lines[1:]], ":1: damaged"),
    (lambda lines: [lines[0].replace('"version": "1"', '"version": "\\ud800"'), *lines[1:]], ":1: damaged"),
    (lambda lines: [lines[0].replace('"repetitions": 6', '"repetitions": "six"'), *lines[1:]], ":1: damaged"),
    (lambda lines: [lines[0].replace('"loads": [', '"loads": [{}, '), *lines[1:]], ":1: damaged"),
    (lambda lines: [lines[0].replace('"figures": ["*"]', '"figures": [7]'), *lines[1:]], ":1: damaged"),
    (lambda lines: [*lines[:3], lines[3].replace('"wall_seconds": ', f'"wall_seconds": 1{"0" * 400}, "x": ')], ":4: damaged"),
    (lambda lines: [*lines[:3], lines[3].replace('"repetition": 3', '"repetition": "3"')], ":4: damaged"),
    (lambda lines: [*lines[:3], lines[3].replace('"threads": 1', '"threads": [1]')], ":4: damaged"),
    (lambda lines: [*lines[:3], lines[3].replace('"objection": ""', '"objection": {}')], ":4: damaged"),
    (lambda lines: [*lines[:3], lines[3].replace('"ns"', '7')], ":4: damaged"),
])
def test_damage_is_one_line_that_says_where(file, damage, where):
    lines = damage(file.read_text().splitlines())
    file.write_text("".join(line + "\n" for line in lines))
    with pytest.raises(Problem) as problem:
        read_results(file)
    assert where in str(problem.value) and str(file) in str(problem.value) and "\n" not in str(problem.value)


@pytest.mark.parametrize("name", ["none.jsonl", "n" * 300])
def test_a_file_that_is_not_there_is_one_line(tmp_path, name):
    with pytest.raises(Problem, match="cannot read"):
        read_results(tmp_path / name)


def test_a_report_needs_no_locale(file):
    ascii_only = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "COLUMNS": "80"}
    process = subprocess.run([sys.executable, "-m", "snug_bench.cli", "report", str(file)], capture_output=True, check=False,
                             env=os.environ | ascii_only)
    assert process.returncode == 0, process.stderr
    assert "◆ is on the frontier" in file.with_suffix(".md").read_text(encoding="utf-8")


@pytest.mark.parametrize(("library", "published"), [
    ("/home/me/snug/build/release/lib/libsnug.so", "build/release/lib/libsnug.so"),
    ("/usr/lib/libjemalloc.so.2", "/usr/lib/libjemalloc.so.2"),
    ("/home/me/snug2/libmine.so", "/home/me/snug2/libmine.so"),
])
def test_a_header_does_not_tell_where_the_project_lies(library, published):
    contender = Contender("one", "one", "", Path(library), "1", {"A": "b"}, "batch:one")
    assert contender.as_published(Path("/home/me/snug")) == {**contender.as_json(), "library": published}
    assert contender.as_json()["library"] == library  # the identity of runs that were made before holds


@pytest.mark.parametrize("committed", sorted((ROOT / "docs" / "results").glob("*.jsonl")), ids=lambda file: file.name)
def test_committed_results_are_read_and_name_no_place_of_one_machine(committed):
    found = read_results(committed)
    assert found.runs
    libraries = [Path(each["library"]) for each in found.allocators]
    assert [each for each in libraries if each.is_absolute() and not each.is_relative_to("/usr")] == []
