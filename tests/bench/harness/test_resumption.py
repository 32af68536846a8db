"""A results file that is there already: what a second call goes on with, what it measures anew, and that nothing is lost.

Runs are made up; the machine of one call may be slower than that of another.
"""

import os
from collections import Counter

import pytest
from rich.console import Console
from snug_bench import cli
from snug_bench.contender import Contender
from snug_bench.grid import Grid
from snug_bench.problem import Problem
from snug_bench.progress import Progress
from snug_bench.results import Results, claimed, read_results, write_header
from snug_bench.runner import Place, Runner
from snug_bench.verdict import judge
from snug_bench.workload import read_workload
from snug_sensitivity.cli import resumed
from snug_sensitivity.study import ALL, AS_IT_IS, FIRST, Part, carry_out
from synthetic import results as made_up_results
from synthetic import run as made_up_run
from synthetic import series

BUILD = os.environ["SNUG_BUILD"]
LIBRARY = os.environ["PLANTED_NONE"]
MIB = 1 << 20


class Machine:
    """Makes runs up, and counts them by allocator and repetition. `slowness` is that of the moment."""

    def __init__(self, monkeypatch, file):
        self.file, self.slowness, self.made, self.stop_after = file, 1.0, Counter(), None
        self.crashing, self.hanging = set(), set()
        monkeypatch.setattr(Runner, "measured", lambda runner, planned: self.measured(runner, planned))

    def measured(self, runner, planned):
        if self.stop_after is not None and self.made.total() >= self.stop_after:
            raise KeyboardInterrupt
        name = planned.cell.contender.name
        self.made[name, planned.repetition] += 1
        seconds = self.slowness * (1 + 0.001 * planned.repetition)
        if name in self.crashing:
            return runner.make(planned, "signalled", "killed by SIGSEGV")
        if name in self.hanging:
            return runner.make(planned, "timed out", "stopped at the time limit", cost={"wall_seconds": runner.limit(planned.cell)})
        return runner.make(planned, "exited", "", cost={"wall_seconds": seconds, "peak_rss_bytes": MIB})

    def call(self, names, *words, loads=("churn",), stop_after=None):
        """How many runs were made, by allocator and repetition."""
        self.made, self.stop_after = Counter(), stop_after
        allocators = ",".join(f"{name}={LIBRARY}" for name in names)
        cli.app(["run", *loads, "-a", allocators, "-t", "1", "-o", str(self.file), "--build", BUILD, *words],
                standalone_mode=False)
        return self.made

    def kept_files(self):
        return sorted(self.file.parent.glob("results.old*.jsonl"))


@pytest.fixture
def machine(monkeypatch, tmp_path):
    return Machine(monkeypatch, tmp_path / "results.jsonl")


def runs_of(file):
    return sorted((run.load, run.allocator, run.repetition) for run in read_results(file).runs)


def test_a_latecomer_is_measured_beside_the_others(machine):
    machine.call(["one", "two"], "-n", "6")
    before = machine.file.read_text()
    machine.slowness = 1.3
    made = machine.call(["one", "two", "three"], "-n", "6")
    assert set(made.values()) == {1} and len(made) == 3 * 7
    row = judge(read_results(machine.file)).rows[0]
    assert row.word("three", "time", "one") == "equal" == row.word("two", "time", "one")
    assert [file.read_text() for file in machine.kept_files()] == [before]


def test_an_interrupted_grid_makes_what_is_left_and_the_round_it_was_in(machine):
    machine.call(["one", "two", "three"], "-n", "3", stop_after=3 + 3 + 1)
    torn = [run.allocator for run in read_results(machine.file).runs if run.repetition == 2]
    assert len(torn) == 1
    machine.slowness = 1.3
    made = machine.call(["one", "two", "three"], "-n", "3")
    assert made == Counter((name, repetition) for name in ("one", "two", "three") for repetition in (2, 3))
    assert len(runs_of(machine.file)) == len(set(runs_of(machine.file))) == 3 * 4
    assert machine.kept_files() == []
    assert machine.call(["one", "two", "three"], "-n", "3") == Counter()


def test_rounds_that_one_made_alone_are_made_anew_for_all(machine):
    machine.call(["one", "two"], "-n", "2")
    assert machine.call(["one"], "-n", "4") == Counter({("one", 3): 1, ("one", 4): 1})
    assert machine.call(["one", "two"], "-n", "4").total() == 2 * 5
    assert len(machine.kept_files()) == 2


def test_what_does_not_count_is_not_tried_again(machine):
    machine.crashing = {"two"}
    machine.call(["one", "two"], "-n", "2", stop_after=2 + 1)
    machine.call(["one", "two"], "-n", "2")
    again = machine.call(["one", "two", "three"], "-n", "2")
    assert {name for name, _ in again} == {"one", "three"}
    assert judge(read_results(machine.file)).rows[0].cells["two"].failed


def test_a_hang_is_waited_for_again_only_where_it_may_take_longer(machine):
    machine.hanging = {"two"}
    machine.call(["one", "two"], "-n", "2", "--timeout", "5")
    for limit in ("5", "3"):
        assert machine.call(["one", "two"], "-n", "2", "--timeout", limit) == Counter()
    machine.hanging = set()
    assert machine.call(["one", "two"], "-n", "2", "--timeout", "50").total() == 2 * 3
    assert not judge(read_results(machine.file)).rows[0].cells["two"].failures and len(machine.kept_files()) == 1


def test_fewer_repetitions_are_no_reason_to_begin_anew(machine):
    machine.call(["one", "two"], "-n", "4")
    before = runs_of(machine.file)
    assert machine.call(["one", "two"], "-n", "2") == Counter()
    assert runs_of(machine.file) == before and machine.kept_files() == []
    assert machine.call(["one", "two"], "-n", "5") == Counter({("one", 5): 1, ("two", 5): 1})


def test_each_file_that_is_left_is_kept_under_a_name_of_its_own(machine, capsys):
    seen = []
    for load in ("churn", "swap", "lifetimes"):
        machine.call(["one"], "-n", "1", loads=[load])
        seen.append(machine.file.read_text())
    machine.call(["one"], "-n", "1", "--fresh", loads=["lifetimes"])
    assert [file.read_text() for file in machine.kept_files()] == seen
    said = capsys.readouterr().err
    assert all(str(file) in said for file in machine.kept_files())


def test_a_file_that_another_call_writes_is_left_alone(machine):
    machine.call(["one"], "-n", "1")
    before = machine.file.read_text()
    with claimed(machine.file.parent / "." / machine.file.name):
        for words in ([], ["--fresh"]):
            with pytest.raises(Problem, match="another call writes it"):
                machine.call(["one", "two"], "-n", "1", *words)
    assert machine.file.read_text() == before and machine.kept_files() == []
    assert machine.call(["one"], "-n", "2").total() == 1


@pytest.mark.parametrize("words", [["RESULTS"], ["RESULTS", "--markdown", "RESULTS"], ["RESULTS", "--page", "RESULTS"],
                                   ["RESULTS", "--markdown", "both", "--page", "both"]])
def test_a_report_does_not_write_over_the_results(tmp_path, words):
    file = tmp_path / ("results.md" if len(words) == 1 else "results.jsonl")
    write_header(file, made_up_results(series("snug", 10, 20)))
    before = file.read_text()
    with pytest.raises(Problem, match="three files"):
        cli.app(["report", *(str(file) if word == "RESULTS" else word for word in words)], standalone_mode=False)
    assert file.read_text() == before


def test_runs_under_another_kernel_are_not_gone_on_with(machine, monkeypatch):
    machine.call(["one", "two"], "-n", "2")
    monkeypatch.setattr("snug_bench.host.platform.release", lambda: "another")
    assert machine.call(["one", "two"], "-n", "2").total() == 2 * 3
    assert len(machine.kept_files()) == 1


def test_what_is_left_is_told_by_what_was_made(tmp_path):
    load = read_workload("workload", {"program": "planted", "stresses": "nothing", "threads": "any"}, tmp_path)
    contenders = [Contender(name, name, "", tmp_path / name) for name in ("one", "two")]
    grid = Grid([load], contenders, [1, 2], 2, 1, 1.0)
    with (tmp_path / "said").open("w+") as said:
        earlier = [made_up_run(name, repetition, 1, 1, on="workload", threads=2) for name in ("one", "two")
                   for repetition in range(6)]
        progress = Progress(Console(file=said), grid, earlier)
        said.seek(0)
        assert (progress.total, progress.done) == (12, 6) and ": 6 runs, about" in said.read()


def test_a_variant_that_comes_later_has_the_library_as_it_is_beside_it(monkeypatch, tmp_path):
    monkeypatch.setattr(Runner, "measured", lambda self, planned: made.append(planned.key) or self.make(
        planned, "exited", "", cost={"wall_seconds": slowness, "peak_rss_bytes": MIB}))
    load = read_workload("workload", {"program": "planted", "stresses": "nothing"}, tmp_path)
    found, files = Results({}, {}, [load.as_json()], [], []), []

    def study(*variants):
        made.clear()
        contenders = [Contender(name, name, "snug", tmp_path / name) for name in (*AS_IT_IS, *variants)]
        found.allocators = [each.as_json() for each in contenders]
        carry_out(lambda grid: Runner(Place(tmp_path, tmp_path), grid), Part([load], contenders, [1], FIRST, 1, 1.0), found,
                  lambda run: None, lambda whole: files.append(len(whole.runs)),
                  lambda grid, earlier: Progress(Console(quiet=True), grid, earlier))
        return Counter(name for _, _, name, _ in made)

    made, slowness = [], 1.0
    assert study("one") == Counter({name: FIRST for name in (*AS_IT_IS, "one")})
    slowness = 1.3
    again = study("one", "two")
    assert again == Counter({name: FIRST for name in (*AS_IT_IS, "one", "two")})  # not ALL: none is apart
    assert files[-2:] == [0, FIRST * len(again)] and len(found.runs) == FIRST * len(again) and FIRST < ALL


def test_the_runs_of_other_variants_are_kept_under_another_name(tmp_path):
    load = read_workload("workload", {"program": "planted", "stresses": "nothing"}, tmp_path)
    host = made_up_results([made_up_run("snug", 1, 1, 1)]).host

    def runner(*variants):
        contenders = [Contender(name, name, "snug", tmp_path / name) for name in (*AS_IT_IS, *variants)]
        return Runner(Place(tmp_path, tmp_path), Part([load], contenders, [1], FIRST, 1, 1.0))

    before = runner("one", "two")
    found = Results(host, before.grid.as_json(), [load.as_json()], [each.as_json() for each in before.grid.contenders], [],
                    [before.make(planned, "exited", "") for planned in before.grid.runs()])
    file = tmp_path / "some.jsonl"
    write_header(file, found)
    assert resumed(before, file, host) == found.runs and file.exists()
    assert {run.allocator for run in resumed(runner("one"), file, host)} == {*AS_IT_IS, "one"}
    assert read_results(tmp_path / "some.old1.jsonl").runs == found.runs and not file.exists()
    write_header(file, found)
    assert resumed(runner("one", "two", "three"), file, host) == []
    write_header(file, found)
    assert resumed(before, file, host | {"kernel": "another"}) == []
    assert len(list(tmp_path.glob("some.old*.jsonl"))) == 3
