"""snug-heaps: which heap is the best of a row, what is said of snug, and one contender that is compiled and run."""

import io
from pathlib import Path

from rich.console import Console
from snug_heaps.contender import KINDS, Contender, compiled
from snug_heaps.run import ABSENT, Results, Wish, run_all
from snug_heaps.table import as_json, best_of, print_results, sentences

ROOT = Path(__file__).resolve().parents[3]


def made_up() -> tuple[Results, list[Contender]]:
    results = Results(repetitions=6)
    results.values = {"query/time": {"snug": [200.0] * 6, "mimalloc": [100.0] * 6, "malloc": [50.0] * 6},
                      "live/heaps": {"snug": [9.0] * 6, "mimalloc": [3.0] * 6}}
    results.units = {"query/time": "ns", "live/heaps": "heaps"}
    results.absent = {("shared", "pmr_monotonic"): f"--only {ABSENT}", ("query", "jemalloc"): "ended with 1"}
    return results, [Contender(KINDS[name], Path(name)) for name in ("snug", "mimalloc", "malloc")]


def test_the_best_is_a_heap_and_not_the_reference():
    results, _ = made_up()
    assert best_of(results.values["query/time"]) == "mimalloc"


def test_what_is_said_of_snug():
    said = sentences(made_up()[0])
    assert "snug against mimalloc: better in nothing; worse in query/time 2.00×." in said
    assert "shared on pmr_monotonic: its heaps cannot serve it." in said
    assert "query on jemalloc: ended with 1." in said


def test_the_table_and_the_json():
    results, line = made_up()
    text = io.StringIO()
    print_results(Console(file=text, width=120), results, line)
    assert "200 ns 2.00×" in text.getvalue()
    document = as_json(results, line, {}, {})
    assert {row["contender"]: row["ratio_to_best"] for row in document["figures"] if row["figure"] == "query/time"} == {
        "snug": 2.0, "mimalloc": 1.0, "malloc": 0.5}


def test_a_contender_is_compiled_and_measured():
    kinds = ("malloc", "pmr_monotonic")
    line = [compiled(ROOT, ROOT / "build" / "release", KINDS[name], print) for name in kinds]
    wish = Wish(["one_block", "live", "shared"], repetitions=2, threads=2, scale=0.001, seed=1)
    results = run_all(wish, line, lambda *_: None)
    assert results.values["live/heaps"] == {"malloc": [100, 100], "pmr_monotonic": [100, 100]}
    assert set(results.values["one_block/peak"]) == set(kinds)
    assert list(results.absent) == [("shared", "pmr_monotonic")]
    assert set(results.values["shared/time"]) == {"malloc"}
