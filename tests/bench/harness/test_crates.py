"""snug-crates: how a program's allocator is replaced, what the table says, and one program that is built and measured."""

import io
import os
import shutil
from pathlib import Path

import pytest
from rich.console import Console
from snug_bench.preparation import Unavailable
from snug_bench.problem import Problem
from snug_crates.build import DECLARED, EDITS, KINDS, Edit, Workspace, check_linked, mirror
from snug_crates.loads import LOADS, data_at, fill, grow
from snug_crates.run import Entry, Results, check_output, run_all
from snug_crates.table import as_json, print_results, sentences

ROOT = Path(__file__).resolve().parents[3]
JEMALLOC = "static ALLOC: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;\n"


def made_up() -> Results:
    results = Results(repetitions=6)
    results.values = {("musl", "fd", "time"): {"snug": [2e8] * 6, "system": [1e8] * 6, "jemalloc": [2e8] * 6},
                      ("musl", "fd", "peak"): {"snug": [2.0**20] * 6, "system": [2.0**21] * 6, "jemalloc": [2.0**20] * 6}}
    results.absent = {("musl", "rg", "jemalloc"): "ended with 101"}
    return results


def test_a_ratio_is_to_snug_and_a_sentence_is_of_snug():
    text = io.StringIO()
    print_results(Console(file=text, width=120), made_up(), ["system", "jemalloc", "snug"])
    assert "100 ms 0.50×" in text.getvalue()
    assert "2 MiB 2.00×" in text.getvalue()
    assert sentences(made_up()) == ["musl: snug against system: better in fd/peak 0.50×; worse in fd/time 2.00×.",
                                    "rg on jemalloc, musl: ended with 101."]
    assert as_json(made_up(), {}, {})["figures"][1]["ratio_to_snug"] == 0.5


def test_without_snug_there_is_no_ratio():
    results = made_up()
    for row in results.values.values():
        row.pop("snug")
    assert {row["ratio_to_snug"] for row in as_json(results, {}, {})["figures"]} == {None}


def test_a_declaration_is_replaced_and_nothing_else_is_touched(tmp_path):
    source, copy = tmp_path / "source", tmp_path / "copy"
    source.mkdir()
    (source / "main.rs").write_text(f"#[cfg(unix)]\nuse a;\n#[cfg(all(\n  x\n))]\n#[global_allocator]\n{JEMALLOC}fn main() {{}}\n")
    edit = Edit("main.rs", DECLARED, "extern crate contender;\n")
    mirror(source, copy, (edit,))
    assert (copy / "main.rs").read_text() == "#[cfg(unix)]\nuse a;\nextern crate contender;\nfn main() {}\n"
    os.utime(copy / "main.rs", ns=(0, 0))
    mirror(source, copy, (edit,))
    assert (copy / "main.rs").stat().st_mtime_ns == 0


def test_a_declaration_that_is_not_there_is_named(tmp_path):
    (tmp_path / "main.rs").write_text("fn main() {}\n")
    with pytest.raises(Unavailable, match=r"main\.rs has 0 places, not one"):
        mirror(tmp_path, tmp_path / "copy", (Edit("main.rs", DECLARED, ""),))


def test_a_program_with_another_allocator_is_refused(tmp_path):
    program = tmp_path / "rg"
    for held, kind in ((b"..", "system"), (b".mi_heap_malloc.", "mimalloc2"), (b".mi_heap_malloc.mi_theap_malloc.", "mimalloc")):
        program.write_bytes(held)
        check_linked(program, KINDS[kind])
        with pytest.raises(Unavailable, match="linked into it"):
            check_linked(program, KINDS["snug"])


def test_outputs_must_be_the_same_in_any_order(tmp_path):
    results, data = Results(), made_data(tmp_path)
    for name, text in (("system", "printf 'a\\nb\\n'"), ("jemalloc", "printf 'b\\na\\n'"), ("snug", "echo c"), ("mimalloc", "exit 3")):
        (tmp_path / name).mkdir()
        program = tmp_path / name / "fd"
        program.write_text(f"#!/bin/sh\n{text}\n")
        program.chmod(0o755)
        entry = Entry("gnu", name, tmp_path / name)
        if name == "snug":
            with pytest.raises(Problem, match="fd on snug, gnu, wrote something else"):
                check_output(LOADS["fd"], entry, data, results)
        else:
            check_output(LOADS["fd"], entry, data, results)
    assert results.absent == {("gnu", "fd", "mimalloc"): "ended with 3"}


def made_data(folder: Path):
    text = folder / "text"
    text.mkdir()
    (text / "a.rs").write_text("fn main() -> Result<(), Failure> { answer() }\n")
    data = data_at(folder, text, threads=2, scale=0.001)
    fill(data)
    assert data.words.read_text().split() == ["answer"]
    return data


def test_the_tree_is_the_same_each_time(tmp_path):
    for name in ("one", "two"):
        grow(tmp_path / name, 150)
    one, two = (sorted(file.relative_to(tmp_path / name) for file in (tmp_path / name).rglob("*")) for name in ("one", "two"))
    assert one == two
    assert sum(file.suffix != "" for file in one) == 150


def test_a_program_is_built_on_two_contenders_and_measured():
    if shutil.which("cargo") is None:
        pytest.skip("no cargo")
    workspace = Workspace(ROOT, print)
    try:
        workspace.prepare()
    except Unavailable as reason:
        if "cannot be replaced" in str(reason):
            raise
        pytest.skip(f"cargo has no network here: {reason}")
    entries = [Entry("gnu", name, workspace.built("gnu", KINDS[name], ["rg"])) for name in ("system", "snug")]
    data = data_at(workspace.folder, workspace.text, threads=2, scale=0.001)
    fill(data)
    tool = Path(os.environ.get("SNUG_BUILD", ROOT / "build" / "release")) / "bin" / "snug"
    results = run_all(tool, [LOADS["rg"]], entries, data, 1, 1, lambda *_: None)
    assert not results.absent
    assert {figure: set(row) for (_, _, figure), row in results.values.items()} == dict.fromkeys(
        ("time", "processor", "peak", "faults"), {"system", "snug"})
    assert min(results.values["gnu", "rg", "peak"]["snug"]) > 1 << 20
    assert set(EDITS) == {"ripgrep", "fd-find"}
