"""What one contender is beside each of the others, as a sentence: the figures in which it is better, and worse."""

from collections.abc import Callable

from snug_bench.quantity import ratio as ratio_text
from snug_bench.ratio import BETTER, WORSE, Ratio

Row = dict[str, list[float]]  # of a figure: a value for each repetition, by contender


def against(subject: str, rows: dict[str, Row], ratio_of: Callable[[Row, str, str], Ratio | None]) -> list[str]:
    """Of the rows by figure, in their order. `ratio_of` tells what one costs in multiples of another."""
    found = []
    for name in sorted({name for row in rows.values() for name in row} - {subject}):
        words: dict[str, list[str]] = {BETTER: [], WORSE: []}
        for figure, row in rows.items():
            if subject in row and name in row and (judged := ratio_of(row, subject, name)) and judged.word in words:
                words[judged.word].append(f"{figure} {ratio_text(judged.value)}")
        if words[BETTER] or words[WORSE]:
            found.append(f"{subject} against {name}: better in {', '.join(words[BETTER]) or 'nothing'}; worse in "
                         f"{', '.join(words[WORSE]) or 'nothing'}.")
    return found
