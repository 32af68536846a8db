"""S2 on several threads, its latency, transient fragmentation and pauses: how each claim is judged, what is shown, and the
programs themselves."""

import os
import subprocess
from pathlib import Path

import made_up_s2
import pytest

from snug_bench.contender import Contender
from snug_seeds import s2_latency, s2_pauses, s2_threads, s2_transient
from snug_seeds.bench import Bench, Effort
from snug_seeds.section import FAILS, HOLDS, OPEN
from snug_seeds.table import table_lines

BUILD = Path(os.environ["SNUG_BUILD"])
PARTS = {"s2_threads": (s2_threads, made_up_s2.threads), "s2_pauses": (s2_pauses, made_up_s2.pauses),
         "s2_latency": (s2_latency, made_up_s2.latency), "s2_transient": (s2_transient, made_up_s2.transient)}
WITH_RLSF = ("s2_threads", "s2_latency")
FACTS = ("one block more", "size-class fragmentation with kappa = 1")  # do not vary from run to run
needs_programs = pytest.mark.skipif(not (BUILD / "bin" / "seeds" / "s2_pauses").exists(), reason="x86-64 alone has these")


def judged(part, data: dict) -> dict[str, str]:
    return {each.claim: each.outcome for each in part.verdicts(data)}


@pytest.mark.parametrize("name", PARTS)
def test_figures_as_claimed_fulfil_the_claims(name):
    part, made_up = PARTS[name]
    assert set(judged(part, made_up()).values()) == {HOLDS}


@pytest.mark.parametrize(("name", "figure", "value", "claims"), [
    ("s2_threads", "threads=4/full/classes/throughput", 30.0, ["compacting, 4 threads do at most 2 times"]),
    ("s2_threads", "threads=8/full/private/throughput", 40.0, ["8 threads pay at most 1.25"]),
    ("s2_threads", "threads=4/never/private/throughput", 25.0, ["a heap a thread, 4 threads do at least 3 times"]),
    ("s2_threads", "threads=4/never/cores/throughput", 25.0, ["a heap a core, 4 threads do at least 3 times"]),
    ("s2_threads", "threads=2/never/sharing=1/throughput", 19.0, ["not compacting, 2 threads that free each other's"]),
    ("s2_threads", "threads=1/large/increment=16/throughput", 11.0, ["1 thread, large blocks"]),
    ("s2_pauses", "free/kappa=inf/increment=4096/p50", 0.3, ["half of all frees"]),
    ("s2_pauses", "slice/kappa=inf/increment=1024/p99.9", 101.0, ["increments of 1024 B"]),
    ("s2_latency", "full/classes/size=16384/smallest_free/p99", 2.1, ["99% of the frees"]),
    ("s2_transient", "increment=256/most_in_flight", 5.0, ["one block more"]),
    ("s2_transient", "increment=16/held", 0.5, ["no less than as a whole"]),
    ("s2_transient", "bound", 705305.0, ["at most 705304 bytes"])])
def test_a_claim_that_fails_is_found(name, figure, value, claims):
    part, made_up = PARTS[name]
    wrong = {claim: each for claim, each in judged(part, made_up({figure: value})).items() if each != HOLDS}
    assert set(wrong.values()) == {FAILS} and len(wrong) == len(claims)
    assert all(words in claim for words, claim in zip(claims, wrong, strict=True))


@pytest.mark.parametrize("name", PARTS)
def test_few_runs_show_nothing(name):
    part, made_up = PARTS[name]
    data = made_up()
    data["runs"] = {cell: runs[:5] for cell, runs in data["runs"].items()}
    assert all(each == (HOLDS if claim.startswith(FACTS) else OPEN) for claim, each in judged(part, data).items())


def test_threads_without_a_core_each_leave_claims_open():
    data = made_up_s2.threads(cores=2)
    for verdict in s2_threads.verdicts(data):
        has_cores = "2 threads" in verdict.claim or "1 thread," in verdict.claim
        assert verdict.outcome == (HOLDS if has_cores else OPEN), verdict
        assert has_cores or verdict.figures.endswith("; there are 2 cores")


@pytest.mark.parametrize("name", ["s2_latency", "s2_transient"])
def test_latency_and_moves_of_eight_threads_want_eight_cores(name):
    part, made_up = PARTS[name]
    assert [claim for claim, each in judged(part, made_up(cores=7)).items() if each == OPEN] == [
        claim for claim in judged(part, made_up()) if "8 threads" in claim]


def test_operations_without_a_latency_leave_it_open():
    for value in (-1.0, 0.0):
        data = made_up_s2.latency({"full/classes/size=64/smallest_alloc/p99": value})
        assert sorted(judged(s2_latency, data).values()) == [HOLDS, OPEN]
    assert s2_latency.tables(made_up_s2.latency({"TLSF/lock/size=64/free/p99.9": -1.0}))[1].rows[19][-2] == "–"


def test_a_quantile_beyond_all_operations_is_not_told():
    data = made_up_s2.pauses({"slice/kappa=inf/increment=64/p99.9": -1.0, "free/kappa=1/increment=64/p99.999": -1.0})
    assert [claim for claim, each in judged(s2_pauses, data).items() if each == OPEN] == [
        "a step keeps to its time: given 100 µs, with increments of 64 B, 99.9% take at most that"]
    frees, slices = s2_pauses.tables(data)
    assert frees.rows[0] == ["1", "64", "0", "0.20", "0.20", "0.20", "0.20", "–", "0.20"]
    assert slices.rows[8][:6] == ["inf", "64", "100", "99.50", "99.50", "–"]


@pytest.mark.parametrize("name", PARTS)
def test_tables_and_plots(name, tmp_path):
    part, made_up = PARTS[name]
    data = made_up()
    assert all(len(row) == len(table.columns) for table in part.tables(data) for row in table.rows)
    assert all("<text" in plot.file.read_text() for plot in part.plots(data, tmp_path))


def test_the_tables_of_threads_show_each_heap():
    heaps, waits, sharing, increments = s2_threads.tables(made_up_s2.threads({"threads=8/full/classes/waits_handles": 77.0}))
    assert heaps.rows[3] == ["compacting, a heap a thread", *(f"{10 * count}.00" for count in range(1, 9))]
    assert [row[0] for row in heaps.rows[10:]] == ["rlsf, one lock", "rlsf, a heap a thread", "malloc of snug", "malloc of glibc"]
    assert [row[-1] for row in waits.rows if row[0] == "compacting, a lock a class: handles"] == ["77"]
    assert "not compacting, a heap a core, every 8th batch" in [row[0] for row in sharing.rows]
    assert [row[0] for row in increments.rows] == ["whole moves", "32768", "4096", "1024", "256", "64", "16"]


@pytest.mark.parametrize("name", WITH_RLSF)
def test_where_rlsf_cannot_be_had_nothing_is_said_of_it(name, tmp_path):
    part, made_up = PARTS[name]
    data = made_up()
    data["runs"][part.CELL] = [{figure: value for figure, value in run.items() if "rlsf" not in figure}
                               for run in data["runs"][part.CELL]]
    assert not any("rlsf" in row[0] for table in part.tables(data) for row in table.rows)
    assert all("rlsf" not in plot.file.read_text() for plot in part.plots(data, tmp_path))


@needs_programs
@pytest.mark.parametrize("name", PARTS)
def test_rehearsal(name, tmp_path):
    contenders = [Contender("snug", "snug", "snug", BUILD / "lib" / "libsnug.so"),
                  Contender("glibc", "glibc", "ptmalloc", Path("libc.so.6"))]
    if name in WITH_RLSF:
        contenders.append(Contender("tlsf", "a library like it", "tlsf", Path(os.environ["DIRECT_LIBRARY"])))
    bench = Bench(BUILD, contenders, Effort(runs=1, scale=0.02, cell_runs=1), lambda text: None, lambda text: None, tmp_path)
    part = PARTS[name][0]
    data = part.measure(bench)
    assert all(table_lines(table) for table in part.tables(data))
    assert name not in WITH_RLSF or "rlsf/lock" in part.heaps(data)
    assert all(each == (HOLDS if claim.startswith(FACTS) else OPEN) for claim, each in judged(part, data).items())
    assert part.plots(data, tmp_path)


@needs_programs
@pytest.mark.parametrize("name", PARTS)
def test_wrong_options_are_told_in_one_line(name):
    def run(*words: str) -> subprocess.CompletedProcess:
        return subprocess.run([BUILD / "bin" / "seeds" / name, *words], capture_output=True, text=True, check=False)

    for wrong in (["--no-such"], ["--rounds"], ["--rounds", "none"]):
        refused = run(*wrong)
        assert refused.returncode == 2 and len(refused.stderr.splitlines()) == 1, refused.stderr
    taught = run("--help")
    assert taught.returncode == 0 and name in taught.stdout and "Figures:" in taught.stdout
