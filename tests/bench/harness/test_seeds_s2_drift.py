"""S2's long run: how its claims are judged, where its memory lies, and a run from end to end."""

import os
from pathlib import Path

import made_up_s2
import pytest

from snug_bench.contender import Contender
from snug_seeds import s2_drift
from snug_seeds.bench import Bench, Effort
from snug_seeds.section import FAILS, HOLDS, OPEN

BUILD = Path(os.environ["SNUG_BUILD"])


def others(data: dict) -> dict[str, str]:
    """The verdicts that do not hold."""
    return {each.claim: each.outcome for each in s2_drift.verdicts(data) if each.outcome != HOLDS}


def test_what_is_asked_for_holds():
    assert others(made_up_s2.drift()) == {}


@pytest.mark.parametrize(("figures", "claim", "outcome"), [
    ({"ratio": 1.13}, "at the end resident memory is at most 1.12 times what is requested", FAILS),
    ({"not_full_least": 0.03, "not_full_most": 0.24}, "at most 2% of the pages are not full", FAILS),
    ({"not_full_most": 0.021}, "at most 2% of the pages are not full", OPEN)])
def test_what_fails_is_found(figures, claim, outcome):
    data = made_up_s2.drift()
    data["chance"]["compact"]["figures"] |= figures
    assert others(data) == {f"drift, chance: {claim}": outcome}


def test_every_malloc_is_beside_it():
    data = made_up_s2.drift()
    data["sweep"]["malloc of other"] = {"series": [], "figures": {"ratio": 1.05, "peak_ratio": 2.0, "ns": 1.0}}
    assert others(data) == {"drift, sweep: at the end every malloc takes more": FAILS}
    assert "1.050; other 1.050, glibc 1.500" in [each.figures for each in s2_drift.verdicts(data)]


def test_the_aim_is_told():
    data = made_up_s2.drift()
    data["chance"]["compact"]["figures"]["ratio"] = 1.1
    assert [each.figures.rpartition(" ")[2] for each in s2_drift.verdicts(data) if "1.12" in each.claim] == ["reached", "missed"]


def test_the_page_has_each_part_and_the_sum_of_every_malloc():
    parts = s2_drift.parts_table(made_up_s2.drift())
    assert [row[1:] for row in parts.rows] == 2 * [["1.0"] * len(s2_drift.PARTS) + ["5.0"], ["–"] * len(s2_drift.PARTS) + ["50.0"]]


@pytest.mark.skipif(not (BUILD / "bin" / s2_drift.PROGRAM).exists(), reason="this build has no s2_drift: x86-64 alone")
def test_rehearsal(monkeypatch, tmp_path):
    monkeypatch.setattr(s2_drift, "BYTES", "8M")
    contenders = [Contender("snug", "snug", "snug", BUILD / "lib" / "libsnug.so"),
                  Contender("glibc", "glibc", "ptmalloc", Path("libc.so.6"))]
    bench = Bench(BUILD, contenders, Effort(runs=1, scale=0.5, cell_runs=1), lambda text: None, lambda text: None, tmp_path)
    data = s2_drift.measure(bench)
    for order in s2_drift.ORDERS:
        figures = data[order]["compact"]["figures"]
        counted = sum(figures[part] for part in s2_drift.PARTS if part != "kept")
        assert counted == pytest.approx(figures["ratio"] - 1, abs=1e-3), "the parts are all of it"
    assert all(len(row) == len(table.columns) for table in s2_drift.tables(data) for row in table.rows)
    assert len(s2_drift.verdicts(data)) == 6 and len(s2_drift.plots(data, tmp_path)) == 2
