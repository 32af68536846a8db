"""Published tables, run again: what is read, how claims are judged, and one source from end to end."""

import json
import os
import subprocess
import sys
import types
from pathlib import Path

import pytest

from snug_bench.contender import Contender
from snug_bench.problem import Problem
from snug_bench.processor_time import ProcessorTime
from snug_bench.source_documents import read_source_documents
from snug_bench.statistics import Sample
from snug_seeds import cli, s0, s1, s3, s4
from snug_seeds.bench import FULL, QUICK, Bench, Effort, called_directly, figures_of
from snug_seeds.published import PUBLISHED
from snug_seeds.section import FAILS, HOLDS, OPEN, Plot, Section, Table, fact, judge, not_worse, quotient, spread
from snug_seeds.table import documents_text, markdown

BUILD = Path(os.environ["SNUG_BUILD"])


def sample(*values: float) -> Sample:
    return Sample(values)


def test_published_cells_have_the_shape_that_was_found_in_them():
    fits = {name: s0.fit(s0.ROUNDS, [mean for mean, _ in PUBLISHED["s0"][name]]) for name in s0.DOCUMENTED}
    assert [round(fits[name].ns) for name in s0.DOCUMENTED] == [388, 243, 250]
    assert (round(fits["old"].offset, 3), round(fits["new"].slope, 4)) == (1.228, 0.1007)
    value, low, high = s0.ratio(fits["old"], fits["without"])
    assert low < value < high and value == pytest.approx(PUBLISHED["s0"]["bins_gain"], abs=0.01)


def test_a_line_is_fitted_exactly():
    fit = s0.fit([1, 2, 3], [5, 7, 9])
    assert (fit.offset, fit.slope, fit.error) == pytest.approx((3, 2, 0))


def cells_output(rows: int = len(s0.ROUNDS)) -> str:
    titles = ["Old version", "New without threshold", "New version", "snug's default", "malloc", "snug in a region",
              "rlsf, called directly"]
    text = ""
    for at, title in enumerate(titles):
        text += f"{title} (N, mean, standard deviation, median in ms)\n"
        text += "".join(f"{n:<7} {n * (10 - at) / 100:.3f}   0.010   {n * (10 - at) / 100:.3f}\n" for n in s0.ROUNDS[:rows]) + "\n"
    text += "version  ns/pair  set-up ms\n"
    return text + "".join(f"{title:24} 1.0 -0.5 {100 + at} 9.5 {[3, 4, 4, 3, 0, 1, 0][at]} 1000\n"
                          for at, title in enumerate(titles))


def test_cells_are_read_and_judged(tmp_path):
    versions = s0.parse(cells_output())
    assert versions["new"]["instructions"] == 102 and versions["old"]["rows"][0] == [10, 1.0, 0.01, 1.0]
    section = s0.section({"runs": 30, "versions": versions}, tmp_path)
    outcomes = [each.outcome for each in section.verdicts]
    assert outcomes == [FAILS, FAILS, FAILS, HOLDS, HOLDS, HOLDS]  # 10/9 and 10/7 are below 1.59, 5/4 above 0.9
    few = s0.section({"runs": 5, "versions": versions}, tmp_path)  # counts do not vary from run to run
    assert [each.outcome for each in few.verdicts] == [OPEN, OPEN, OPEN, HOLDS, HOLDS, HOLDS]
    assert [each.file.name for each in section.plots] == ["s0_published.svg", "s0_here.svg"]
    assert "<text" in section.plots[1].file.read_text()  # words, not the shapes of letters


@pytest.mark.parametrize(("factor", "outcome"), [(1.5, HOLDS), (1.12, HOLDS), (1.1, FAILS), (1.0, FAILS), (0.5, FAILS)])
def test_snugs_cells_are_compared_with_rlsf_called_as_directly(factor, outcome):
    versions = s0.parse(cells_output())
    versions["rlsf"]["rows"] = [[n, 0, 0, median * factor] for n, _, _, median in versions["region"]["rows"]]
    judged = s0.verdicts(versions, s0.fits_of(versions), PUBLISHED["s0"], 30)
    assert [each.outcome for each in judged if "rlsf" in each.claim] == [outcome]
    told = "missed: " * (outcome == FAILS) + f"{1 / factor:.2f} ["
    assert judged[2].figures.startswith(told) and judged[2].figures.endswith("105.0 and 106.0 instructions")
    assert "at most 0.9 times as long" in judged[2].claim


def test_a_run_that_was_held_up_does_not_enter_the_line(tmp_path):
    versions = s0.parse(cells_output())
    before = s0.fits_of(versions)["new"]
    row = versions["new"]["rows"][30]  # as on 2026-11-22, when one of 30 runs at N = 160 took some ms more
    row[s0.MEAN], row[s0.DEVIATION] = row[s0.MEAN] + 1.3, 1.346
    assert s0.fits_of(versions)["new"] == before
    section = s0.section({"runs": 30, "versions": versions}, tmp_path)
    assert section.tables[0].rows[30][6] == "12.800 (14.100 ± 1.346)"
    assert not any("least squares" in remark for remark in section.remarks)


def test_a_lock_and_malloc_around_rlsf_decide_nothing():
    versions = s0.parse(cells_output())
    versions[s0.BEHIND_MALLOC] = versions.pop("rlsf")
    assert not any("rlsf" in each.claim for each in s0.verdicts(versions, s0.fits_of(versions), PUBLISHED["s0"], 30))


@pytest.mark.skipif(not (BUILD / "bin" / "seeds" / "s0_cells").exists(), reason="this build has no s0_cells: x86-64 alone")
def test_cells_are_run_beside_rlsf_called_directly(tmp_path):
    bench = bench_on(BUILD, tmp_path)
    assert "rlsf" not in s0.measure(bench)["versions"]
    bench.contenders.append(Contender("tlsf", "a library like it", "tlsf", Path(os.environ["DIRECT_LIBRARY"])))
    versions = s0.parse(bench.run("seeds/s0_cells", "--runs", "2", **called_directly(bench.contenders)))
    assert versions["rlsf"]["instructions"] > 2 and len(versions["rlsf"]["rows"]) == len(s0.ROUNDS)
    with pytest.raises(Problem, match="SEEDS_RLSF: .*libsnug.so is no library of this tree's tlsf_shim"):
        bench.run("seeds/s0_cells", "--runs", "2", SEEDS_RLSF=str(bench.snug.library))
    with pytest.raises(Problem, match="rlsf: SEEDS_RLSF names no library of it"):
        bench.run("seeds/s0_cells", "--versions", "rlsf")


def shown_map(name: str) -> dict:
    return json.loads(subprocess.run([BUILD / "bin" / "snug", "classes", name, "--json"], capture_output=True, check=True).stdout)


@pytest.fixture(scope="module")
def classes() -> dict:
    compat = subprocess.run([BUILD / "bin" / "snug", "classes", "dense", "--compat"], capture_output=True, text=True, check=True)
    return {"compat": compat.stdout, "tables": {name: shown_map(name) for name in ("dense", s1.BEFORE)}}


def outcomes(data: dict) -> list[str]:
    return [each.outcome for each in s1.table_verdicts(data)]


def test_the_size_classes_are_what_the_document_says(classes):
    assert outcomes(classes) == [HOLDS] * 5 + [FAILS]  # with arrays for 52 classes the cache is larger than a page
    for parameters in ("2,4,6,12,4,9", "4,5,9,16,100,14"):
        assert s1.wrong_rows(shown_map(parameters), parameters) == []


@pytest.mark.parametrize(("at", "plant"), [
    (0, lambda data: data.update(compat=data["compat"].replace("l 4", "l 5"))),
    (0, lambda data: data.update(compat=data["compat"] + "more\n")),
    (1, lambda data: data["tables"]["dense"]["classes"][20].update(size=513)),
    (1, lambda data: data["tables"]["dense"]["batch_class"].update(id=5)),
    (1, lambda data: data["tables"]["dense"]["classes"].pop()),
    (1, lambda data: data["tables"]["dense"]["total"].update(bytes_cached=1)),
    (2, lambda data: data["tables"][s1.BEFORE]["classes"][7].update(cached=9)),
    (3, lambda data: data.update(compat=data["compat"].replace("864928", "864929"))),
    (4, lambda data: data["tables"]["dense"]["thread_cache"].update(header_bytes=4097))])
def test_a_wrong_size_class_is_found(classes, at, plant):
    data = json.loads(json.dumps(classes))
    plant(data)
    assert outcomes(data)[at] == FAILS


@pytest.mark.parametrize("text", ["", cells_output(rows=3), cells_output().replace("New version  ", "Other ")])
def test_other_output_of_the_cells_is_refused(text):
    with pytest.raises(Problem, match="build again"):
        s0.parse(text)


def test_a_claim_is_judged_by_the_interval():
    above, below, across = (sample(*values) for values in ([2.1, 2.2, 2.3] * 2, [1.1, 1.2, 1.3] * 2, [1.9, 2.1] * 3))
    assert [judge("", each, least=2).outcome for each in (above, below, across)] == [HOLDS, FAILS, OPEN]
    assert [judge("", each, most=2).outcome for each in (above, below, across)] == [FAILS, HOLDS, OPEN]
    few = [judge("", sample(*each.values[:5]), **bound) for each in (above, below, across) for bound in ({"least": 2}, {"most": 2})]
    assert {each.outcome for each in few} == {OPEN}
    assert str(fact("all is well", False, "3 of 4")) == "does not hold: all is well: 3 of 4"
    assert "range of 2 runs" in spread(sample(1.9, 2.1)) and "96.9% interval" in spread(sample(1, 2, 3, 4, 5, 6))


def test_ratios_are_made_run_by_run():
    assert quotient(sample(2, 9), sample(1, 3)).values == (2, 3)
    assert s1.changes(sample(103), sample(100)).values[0] == pytest.approx(3)
    with pytest.raises(ValueError):
        quotient(sample(1, 2), sample(1))


def test_a_comparison_goes_by_the_words():
    words = {(80, 81, 79, 80, 82, 80): HOLDS, (99, 100, 101, 100, 99, 100): HOLDS, (110, 111, 109, 110, 112, 110): FAILS,
             (90, 120, 90, 120, 90, 120): OPEN}
    assert [not_worse(sample(*ours), sample(*[100.0] * 6)) for ours in words] == list(words.values())


def test_few_runs_show_nothing_either_way():
    assert [not_worse(sample(*[ours] * runs), sample(*[3.0] * runs)) for runs in (5, 6) for ours in (5.0, 1.0)] == \
        [OPEN, OPEN, FAILS, HOLDS]
    lists = {name: {10: sample(*values)} for name, values in (("ours", [1.0] * 6), ("slow", [2.0] * 6), ("once", [2.0]))}
    assert s3.not_slower("c", lists, "ours", ["slow"]).outcome == HOLDS
    assert str(s3.not_slower("c", lists, "ours", ["slow", "once"])) == "unclear: c: 1 run of each: too few"


def test_trips_are_counted_for_each_row():
    report = {"allocations": 1000, "blocks_in_use": 0, "refills": 3, "flushes": 1}
    assert s4.trips(report) == 2000
    figures = s4.with_trips({"first/A": 1.0, "first/A/rss": 2.0}, [report, report])
    assert figures["trips/first/A"] == 2000
    with pytest.raises(Problem, match="1 processes reported instead of 2"):
        s4.with_trips({"first/A": 1.0}, [report])


def test_figures_and_totals_are_read():
    assert figures_of('a\n{"results":[{"name":"x","value":2.5}]}', "p") == {"x": 2.5}
    assert s1.total_cached("c53 => s: 64 Total cached: 864928 (152/432)") == 864928
    with pytest.raises(Problem, match="p printed no figures"):
        figures_of("", "p")


def test_the_page_keeps_bars_inside_cells():
    page = markdown([Section("S9", "t", [Table("T", ["a", "b"], [["x|y", "1"]])])], {"cpu": "c"}, Path("/"))
    assert "| x\\|y | 1 |" in page and "| --- | ---: |" in page


def test_the_file_for_the_page_holds_the_sections(tmp_path):
    (tmp_path / "s9.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><path d="M0 0h9"/></svg>')
    section = Section("S9", "t", [Table("T", ["a", "b"], [["x", "1"]])], [fact("c", False, "3")], ["r"],
                      [Plot("p", tmp_path / "s9.svg")])
    file = tmp_path / "seeds.json"
    file.write_text(documents_text([section], {"commit": "abc"}, QUICK))
    found = read_source_documents(file)
    assert found.quick and found.host["commit"] == "abc"
    assert {**found.documents[0], "plots": 1} == {
        "name": "S9", "title": "t", "remarks": ["r"], "plots": 1,
        "verdicts": [{"claim": "c", "outcome": FAILS, "figures": "3"}],
        "tables": [{"title": "T", "columns": ["a", "b"], "rows": [["x", "1"]]}]}
    assert found.documents[0]["plots"][0]["svg"].startswith('<svg viewBox="0 0 9 9"')
    with pytest.raises(Problem, match="cannot read .*none.svg"):
        documents_text([Section("S9", "t", plots=[Plot("p", tmp_path / "none.svg")])], {}, FULL)


def test_the_command_leaves_page_and_file(monkeypatch, tmp_path):
    fake = types.SimpleNamespace(measure=lambda bench: {}, section=lambda data, folder: Section("S3", "t"))
    monkeypatch.setitem(cli.SOURCES, "S3", fake)
    cli.run(sources=["S3"], build=BUILD, out=tmp_path, figures=None, quick=False, peers="glibc")
    assert not read_source_documents(tmp_path / "seeds.json").quick
    assert "## S3: t" in (tmp_path / "seeds.md").read_text()


def bench_on(build: Path, folder: Path, warn=lambda text: None) -> Bench:
    snug = Contender("snug", "snug", "snug", BUILD / "lib" / "libsnug.so")
    glibc = Contender("glibc", "glibc", "ptmalloc", Path("libc.so.6"))
    return Bench(build, [snug, glibc], Effort(runs=2, scale=0.001, cell_runs=2), lambda text: None, warn, folder)


@pytest.fixture
def bench(tmp_path) -> Bench:
    return bench_on(BUILD, tmp_path)


def test_memory_is_warmed_for_what_measures_and_a_failure_is_said_once(tmp_path):
    scripts = {"snug": 'echo "$1" >>"$0.log"\ntest "$1" != measure || { echo "snug: no memory" >&2; exit 2; }\n',
               "planted": """echo '{"results":[{"name":"x","value":2.5}]}'\n"""}
    for name, script in scripts.items():
        program = tmp_path / "bin" / name
        program.parent.mkdir(exist_ok=True)
        program.write_text("#!/bin/sh\n" + script)
        program.chmod(0o755)
    said = []
    bench = bench_on(tmp_path, tmp_path, said.append)
    bench.run("snug", "classes")
    assert [bench.figures("planted") for _ in range(2)] == [{"x": 2.5}] * 2
    assert (tmp_path / "bin" / "snug.log").read_text().split() == ["classes", "measure", "measure"]
    assert said == ["memory is not warmed, so that times may be those of the hypervisor: no memory"]


def test_rehearsal_of_the_lists(bench, tmp_path):
    section = s3.section(s3.measure(bench), tmp_path)
    assert [row[0] for row in section.tables[0].rows] == ["1", "10", "100", "1000", "10000"]
    assert {"new on snug", "snug::Pool"} <= {row[0] for row in section.tables[1].rows}
    assert section.plots[0].file.exists() and [each.outcome for each in section.verdicts] == [OPEN] * 12
    shared = [row[0] for row in section.tables[2].rows]
    loads = [f"{pools}, {threads} threads" for threads in (2, 4, 8) for pools in ("1 pool", "4 pools")]
    for maker in ("new on glibc", "new on snug", "snug::Pool locked", "snug::Pool cached", "snug::Synchronized", "std::pmr sync"):
        assert [row for row in shared if row.startswith(maker + ",")] == [f"{maker}, {load}" for load in loads]
    assert not any("thread" in row[0] for row in section.tables[1].rows)
    assert all(float(cell) > 0 for row in section.tables[2].rows for cell in row[1:])


def lists_data(cores: int, rival: float) -> dict:
    """Six runs; the rival of what threads share takes `rival` ns with four pools and eight threads, and else 9."""
    lengths = PUBLISHED["s3"]["nodes"]
    run = {f"{maker}/N={n}": ns for maker, ns in (("new", 8.0), ("snug::Pool", 2.0)) for n in lengths}
    for threads in (2, 4, 8):
        for pools in (1, 4):
            for maker, ns in (("new", 4.0), ("snug::Pool cached", 3.0),
                              ("boost::fast locked", rival if (pools, threads) == (4, 8) else 9.0)):
                run |= {f"{maker}/pools={pools}/threads={threads}/N={n}": ns for n in lengths}
    return {"cores": cores, "runs": {"pools": [run] * 6}}


def test_pools_that_threads_share_are_rows_of_one_table_and_judged_by_load(tmp_path):
    samples = s3.samples_of(lists_data(8, 9))
    assert list(s3.shared_of(samples)) == [(2, 1), (2, 4), (4, 1), (4, 4), (8, 1), (8, 4)]
    assert s3.shared_of(samples)[8, 4]["new on glibc"][1000].median == 4
    section = s3.section(lists_data(8, 9), tmp_path)
    assert len(section.tables[1].rows) == 2 and len(section.tables[2].rows) == 18
    assert section.tables[2].rows[-1] == ["boost::fast locked, 4 pools, 8 threads", *["9.00"] * 5]
    assert [each.outcome for each in section.verdicts[-6:]] == [HOLDS] * 6
    slower = s3.section(lists_data(8, 2), tmp_path).verdicts[-6:]
    assert [each.outcome for each in slower] == [HOLDS] * 5 + [FAILS]
    assert slower[-1].claim.startswith("4 pools, 8 threads:") and "boost::fast locked at N = 10, 2.00 against 3.00 ns" in slower[-1].figures
    taking_turns = s3.section(lists_data(2, 9), tmp_path).verdicts[-6:]
    assert [each.outcome for each in taking_turns] == [HOLDS] * 2 + [OPEN] * 4


def test_rehearsal_of_the_batches(bench, tmp_path):
    section = s4.section(s4.measure(bench), tmp_path)
    off, on = (float(section.tables[2].rows[4][column]) for column in (1, 2))
    assert off > on > 0  # central trips of FIX_M+FULL
    assert {each.outcome for each in section.verdicts} == {OPEN}  # of two runs
    assert section.plots[0].file.exists()


def test_runs_beside_other_programs_are_too_noisy(bench):
    bench.figures("seeds/s3_list", "--only", "new/N=1")
    assert len(bench.processors) == 1 and bench.processors[0].own > 0
    bench.processors[:] = [ProcessorTime(4, 3, 2)] * 2
    assert bench.disturbance() == "Too noisy to judge time: other programs took 25% of the processors"
    assert bench.disturbance() == ""  # what follows is judged by itself
    bench.processors[:] = [ProcessorTime(4, 2.1, 2)] * 2
    assert bench.disturbance() == ""


def test_a_noisy_machine_is_said_below_the_table(monkeypatch, tmp_path):
    class Source:
        @staticmethod
        def measure(bench):
            bench.processors.append(ProcessorTime(4, 4, 1))
            return {}

        @staticmethod
        def section(data, folder):
            return Section("S0", "of a noisy machine")
    monkeypatch.setattr(cli, "SOURCES", {"S0": Source})
    cli.run(sources=None, build=BUILD, out=tmp_path, figures=None, quick=True, peers="glibc")
    assert "Too noisy to judge time: other programs took 75% of the processors." in (tmp_path / "seeds.md").read_text()


def test_a_library_that_is_not_loaded_ends_all(bench, tmp_path):
    absent = Contender("absent", "absent", "", tmp_path / "libabsent.so")
    with pytest.raises(Problem, match="s3_list on absent ended with"):
        bench.figures("seeds/s3_list", "--only", "new/N=1", on=absent)


@pytest.mark.parametrize(("options", "said"), [
    ({"sources": ["S9"]}, "no source 'S9'"), ({"build": Path("/nowhere")}, "no /nowhere/bin/seeds"),
    ({"out": Path("/proc/none")}, "cannot make /proc/none"), ({"peers": "nobody"}, "no allocator 'nobody'")])
def test_what_cannot_be_run_is_said(options, said, tmp_path):
    with pytest.raises(Problem, match=said):
        cli.run(**{"build": BUILD, "out": tmp_path, "figures": None, "quick": True} | options)


def test_a_build_without_the_command_is_said(tmp_path):
    (tmp_path / "bin" / "seeds").mkdir(parents=True)
    with pytest.raises(Problem, match="no .*/bin/snug: build first"):
        cli.run(build=tmp_path, out=tmp_path, figures=None, quick=True, peers="glibc")


def test_an_error_is_one_line():
    done = subprocess.run([sys.executable, "-m", "snug_seeds.cli", "S9"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "snug-seeds: no source 'S9' (there are: S0, S1, S2, S3, S4)\n"
