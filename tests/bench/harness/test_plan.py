"""What a plan costs: warm-ups do little, limits follow from the loads, threads share work, and the estimate learns."""

import re
import subprocess
import tomllib
from pathlib import Path

import pytest
from snug_bench import cli
from snug_bench.contender import Contender, ask_version
from snug_bench.estimate import PACE_RUNS, PROOF_SECONDS, START_SECONDS, Estimate
from snug_bench.grid import Cell, Grid, PlannedRun, load_presets
from snug_bench.measurement import WARM_UP
from snug_bench.problem import Problem
from snug_bench.progress import clock
from snug_bench.runner import Place, Runner
from snug_bench.workload import REAL, load_loads, read_program, read_workload

ROOT = Path(__file__).resolve().parents[3]
FILE = Path("planted.toml")
PLACE = (ROOT, Path("/build"))


def workload(**keys):
    return read_workload("workload", {"program": "planted", "stresses": "nothing", **keys}, FILE)


def program(**keys):
    return read_program({"name": "program", "title": "planted", "stresses": "nothing", "command": ["true"], **keys}, FILE)


def scale_of(words):
    return float(words[words.index("--scale") + 1])


def grid_of(*loads, repetitions=6, shrink=1.0):
    contenders = [Contender(name, name, "", Path(f"/{name}.so")) for name in ("one", "two")]
    return Grid(list(loads), contenders, [1, 2, 8], repetitions, 1, shrink)


def test_a_warm_up_does_a_fiftieth_of_the_operations():
    load = workload(scale=2, rounds=3)
    assert scale_of(load.command_line(*PLACE, 1, 0.5, 1)) == 1
    warm_up = load.warm_up_line(*PLACE, 1, 0.5, 1)
    assert scale_of(warm_up) == 0.02
    assert warm_up[warm_up.index("--rounds") + 1] == "1"


def test_memory_is_warmed_for_the_largest_of_a_row(monkeypatch):
    seen = []

    def popen(command, **_):
        seen.append(int(command[command.index("--warm") + 1]))
        raise KeyboardInterrupt

    monkeypatch.setattr("snug_bench.runner.subprocess.Popen", popen)
    grid = grid_of(workload())
    runner = Runner(Place(ROOT, Path("/build")), grid)
    cells = [Cell(grid.loads[0], 1, contender) for contender in grid.contenders]
    # Repetition and peak of what is heeded: that of a warm-up tells nothing.
    for repetition, peak in ((WARM_UP, 8 << 20), (1, 80 << 20), (1, 40 << 20), (1, 0)):
        with pytest.raises(KeyboardInterrupt):
            runner.run(PlannedRun(cells[0], repetition))
        runner.heed(cells[1], runner.make(PlannedRun(cells[1], repetition), "exited", "", cost={"peak_rss_bytes": peak}))
    assert seen == [0, 640, 100, 100]


def test_the_runner_makes_the_warm_up_and_the_identity_is_of_both(monkeypatch):
    seen = []

    def popen(command, **_):
        seen.append(command)
        raise KeyboardInterrupt

    monkeypatch.setattr("snug_bench.runner.subprocess.Popen", popen)
    identities = []
    for warm_up in (["echo", "little"], ["echo", "less"]):
        grid = grid_of(program(command=["echo", "much"], warm_up=warm_up))
        runner = Runner(Place(ROOT, Path("/build")), grid)
        cell = Cell(grid.loads[0], 1, grid.contenders[0])
        identities.append(runner.identity(cell))
        for repetition in (WARM_UP, 1):
            with pytest.raises(KeyboardInterrupt):
                runner.run(PlannedRun(cell, repetition))
    assert [command[command.index("--") + 1:] for command in seen[:2]] == [["echo", "little"], ["echo", "much"]]
    assert ["--prove" in command for command in seen[:2]] == [True, False]
    assert identities[0] != identities[1]


@pytest.mark.parametrize("changed", ["path/job", "path/server", "job.sql", "small.sql", "build/bin/snug", "one.so"])
def test_the_identity_is_of_every_file_that_a_run_is_made_of(monkeypatch, tmp_path, changed):
    for name in ("path/job", "path/server", "job.sql", "small.sql", "build/bin/snug", "one.so"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    load = program(command=["job", ".read {root}/job.sql"], warm_up=["job", "{root}/small.sql"], needs=["server"])
    grid = Grid([load], [Contender("one", "one", "", tmp_path / "one.so")], [1], 1, 1, 1.0)
    runner = Runner(Place(tmp_path, tmp_path / "build"), grid)
    cell = Cell(load, 1, grid.contenders[0])
    before = runner.identity(cell)
    assert runner.identity(cell) == before
    (tmp_path / changed).write_text("of another time")
    assert runner.identity(cell) != before


def test_an_allocator_on_which_the_tool_hangs_is_refused(monkeypatch):
    def run(command, timeout, **_):
        raise subprocess.TimeoutExpired(command, timeout)

    monkeypatch.setattr("snug_bench.contender.subprocess.run", run)
    assert ask_version(Contender("one", "one", "", Path("/one.so")), Path("/build")) == \
        ("", "snug measure itself hung for 60 s")


@pytest.mark.parametrize(("threads", "share"), [(1, 1), (2, 1), (8, 0.25)])
def test_more_threads_share_the_work_of_two(threads, share):
    assert scale_of(workload(threads="any", work_of=2).command_line(*PLACE, threads, 1, 1)) == share
    assert scale_of(workload(threads="any").command_line(*PLACE, threads, 1, 1)) == 1


@pytest.mark.parametrize(("keys", "limit"), [({"seconds": 0.1}, 10), ({"seconds": 2}, 40), ({"seconds": 14}, 60),
                                             ({"seconds": 2, "timeout": 7}, 7)])
def test_the_limit_follows_from_what_a_run_takes(keys, limit):
    assert workload(**keys).timeout == limit == program(**keys).timeout


@pytest.mark.parametrize("keys", [{"seconds": 0}, {"work_of": -1}, {"timeout": 0}])
def test_what_takes_no_time_is_refused(keys):
    with pytest.raises(Problem, match="planted.toml"):
        workload(**keys)


@pytest.mark.parametrize(("key", "value"), [("threads", '["two"]'), ("threads", "[]"), ("threads", "[0]"),
                                            ("repetitions", "0")])
def test_a_grid_that_cannot_be_run_is_refused(tmp_path, key, value):
    keys = {"title": '"planted"', "threads": "[1]", "repetitions": "1"} | {key: value}
    file = tmp_path / "grids.toml"
    file.write_text("[planted]\n" + "".join(f"{name} = {text}\n" for name, text in keys.items()))
    with pytest.raises(Problem, match=r"grids.toml: \[planted\]: .*" + key.removesuffix("s")):
        load_presets(file)


def test_every_real_program_has_a_warm_up_of_the_same_program():
    for load in load_loads(ROOT / "bench" / "loads").values():
        if load.kind == REAL:
            assert load.warm_up and load.warm_up[0] == load.command[0], load.name
            assert load.warm_up != load.command


def test_the_first_estimate_is_what_the_loads_declare():
    grid = grid_of(workload(seconds=1, threads="any"), program(seconds=5, warm_up=["true", "1"]))
    cells = 2 * (3 + 1)
    warm_ups = 2 * 3 * 0.02 + 2 * 0.5 + cells * (START_SECONDS + PROOF_SECONDS)
    counted = 6 * (2 * 3 * 1 + 2 * 5 + cells * START_SECONDS)
    assert Estimate(grid.runs(), 1).seconds_left() == pytest.approx(warm_ups + counted)


def test_a_scale_is_no_matter_of_programs():
    grid = grid_of(workload(seconds=1), program(seconds=5), repetitions=1)
    declared = sum(Estimate([run], 0.1).seconds_left() for run in grid.runs() if run.repetition == 1)
    assert declared == pytest.approx(2 * (0.1 + 5 + 2 * START_SECONDS))


def test_the_estimate_learns_by_row_and_of_the_pace():
    slow, other = workload(seconds=1), program(seconds=2)
    grid = grid_of(slow, other, repetitions=PACE_RUNS)
    runs = [run for run in grid.runs() if run.repetition != WARM_UP]
    estimate = Estimate(runs, 1)
    # The first load takes three times what it declares; all of it is made.
    for run in runs:
        if run.cell.load is slow:
            estimate.learn(run, 3 * (1 + START_SECONDS))
    assert estimate.seconds_left() == pytest.approx(2 * PACE_RUNS * 3 * (2 + START_SECONDS))
    # One run of the other tells about its row.
    mine = [run for run in runs if run.cell.load is other]
    estimate.learn(mine[0], 7)
    assert estimate.seconds_left() == pytest.approx(7 * (len(mine) - 1))
    for run in mine[1:]:
        estimate.done(run)
    assert estimate.seconds_left() == 0


def test_warm_ups_tell_nothing_of_the_others():
    runs = list(grid_of(workload(seconds=1), repetitions=1).runs())
    estimate = Estimate(runs, 1)
    for run in runs:
        if run.repetition == WARM_UP:
            estimate.learn(run, 50)
    assert estimate.seconds_left() == pytest.approx(2 * (1 + START_SECONDS))


def dry_run(monkeypatch, capsys, build, *words):
    monkeypatch.setattr("sys.argv", ["snug-bench", "run", *words, "--dry-run", "--build", build])
    with pytest.raises(SystemExit) as ending:
        cli.main()
    said = capsys.readouterr()
    return ending.value.code or 0, said.out, said.err


@pytest.fixture
def build(tmp_path):
    """A build that has all programs and can run none of them."""
    names = {table["program"] for file in (ROOT / "bench" / "loads" / "workloads").glob("*.toml")
             for table in tomllib.loads(file.read_text()).values()}
    for name in ("snug", *(f"workloads/{name}" for name in names)):
        file = tmp_path / "build" / "bin" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("nothing")
        file.chmod(0o755)
    return str(tmp_path / "build")


def test_a_dry_run_tells_the_plan_and_runs_nothing(monkeypatch, capsys, tmp_path, build):
    library, output = tmp_path / "mine.so", tmp_path / "results.jsonl"
    library.write_text("nothing")
    status, out, err = dry_run(monkeypatch, capsys, build, "swap", "leak", "-a", f"snug,tlsf,mine={library}", "-t", "2,8",
                               "-n", "3", "-o", str(output))
    assert status == 0, err
    assert [line.split()[:2] for line in out.splitlines() if "stopped after" in line] == \
        [["leak", "×2"], ["leak", "×8"], ["swap", "×2"], ["swap", "×8"]]
    assert "  snug tlsf mine\n" in out
    assert re.search(r"each repetition +12 runs, ", out)
    assert "4 rows × 3 allocators × 3 repetitions and a warm-up: 48 runs, about " in out
    assert not output.exists()


def test_a_dry_run_refuses_what_a_run_would(monkeypatch, capsys, build):
    for word, what in (("nosuch", "no allocator 'nosuch'"), ("tlsf,tlsf", "named twice"), ("/no/such.so", "no library")):
        status, _, err = dry_run(monkeypatch, capsys, build, "swap", "-a", word)
        assert (status, err.count("\n")) == (2, 1) and what in err, err


def test_a_sweep_of_everything_stays_short():
    """By what is declared: some seventeen minutes on all of the allocators, of which there are as many."""
    preset_threads = [1, 2, 8]
    loads = [load for load in load_loads(ROOT / "bench" / "loads").values() if load.c_library != "musl"]
    contender = Contender("one", "one", "", Path("/one.so"))
    runs = [run for run in Grid(loads, [contender], preset_threads, 1, 1, 1).runs() if run.repetition == 1]
    assert Estimate(runs, 1).seconds_left() <= 61, clock(Estimate(runs, 1).seconds_left())
