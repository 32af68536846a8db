"""The order of a grid's runs: a row stays together, and of two repetitions the second has the first's order backwards."""

from types import SimpleNamespace

from snug_bench.contender import Contender
from snug_bench.grid import Grid
from snug_bench.measurement import WARM_UP

LOADS = [SimpleNamespace(name=name, threads_among=lambda threads: threads) for name in ("one", "two")]
CONTENDERS = [Contender(name, name, "", None) for name in "abcde"]


def orders(seed=1):
    """Of each repetition and row, the names in the order of running."""
    found = {}
    for run in Grid(LOADS, CONTENDERS, [1, 2], 6, seed, 1.0).runs():
        found.setdefault((run.repetition, *run.cell.row), []).append(run.cell.contender.name)
    return found


def test_each_stands_before_each_other_as_often_as_behind_it():
    found = orders()
    assert len(found) == 7 * 4 and all(sorted(names) == list("abcde") for names in found.values())
    for (repetition, *row), names in found.items():
        if repetition != WARM_UP and repetition % 2 == 1:
            assert found[(repetition + 1, *row)] == names[::-1]
    assert len({tuple(names) for names in found.values()}) > 14  # not one order for all


def test_a_row_stays_together_and_the_seed_decides():
    cells = [(run.repetition, run.cell.row) for run in Grid(LOADS, CONTENDERS, [1, 2], 2, 1, 1.0).runs()]
    assert all(len(set(cells[at:at + len(CONTENDERS)])) == 1 for at in range(0, len(cells), len(CONTENDERS)))
    assert orders() == orders() != orders(2)
