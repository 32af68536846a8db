"""What an allocator costs over all rows of a kind, in multiples of the subject's: the one figure by which allocators are
ranked, in a terminal, in every page, and in README.

Of each repetition it is the geometric mean of the ratios of its rows. The means of all repetitions are judged as the ratios
of a row are (ratio.py): a mean over many rows is known far better than each of them, so that it can be judged where they
cannot. Of a row that lacks a repetition, its median stands for it, so that every mean is of the same rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from snug_bench.ratio import BETTER, UNCLEAR, WORSE, Ratio, of_rounds
from snug_bench.statistics import geometric_mean

# What the word of an allocator's cost in multiples of the subject's says of the subject.
SUBJECTS_WORD = {BETTER: WORSE, WORSE: BETTER}


@dataclass(frozen=True)
class Overall:
    ratio: Ratio | None  # None: no row in which both counted
    rows: int  # that it was made of
    of: int

    @property
    def complete(self) -> bool:
        return self.ratio is not None and self.rows == self.of

    @property
    def mean(self) -> float | None:
        return self.ratio.value if self.ratio else None

    @property
    def subjects_word(self) -> str:
        """How the subject does against it."""
        return SUBJECTS_WORD.get(self.ratio.word, self.ratio.word) if self.ratio else UNCLEAR


def overall(rows: Sequence, key: str, name: str, subject: str) -> Overall:
    """Of `rows` (verdict.Row), in one metric."""
    by_row = [ratios for row in rows if (ratios := row.round_ratios(name, key, subject))]
    if not by_row:
        return Overall(None, 0, len(rows))
    rounds = sorted(set().union(*by_row))
    means = [geometric_mean(ratios.get(each, median(ratios.values())) for ratios in by_row) for each in rounds]
    return Overall(of_rounds(means), len(by_row), len(rows))
