"""What one source's module hands to the writers of terminal and page: tables, verdicts, remarks and plots."""

from dataclasses import dataclass, field
from pathlib import Path

from snug_bench.ratio import BETTER, EQUAL, UNCLEAR, WORSE, of_rounds
from snug_bench.source_documents import FAILS, HOLDS, OPEN
from snug_bench.statistics import FEWEST_FOR_LEVEL, Sample


@dataclass(frozen=True)
class Table:
    title: str
    columns: list[str]
    rows: list[list[str]]


@dataclass(frozen=True)
class Verdict:
    claim: str
    outcome: str
    figures: str

    def __str__(self) -> str:
        return f"{self.outcome}: {self.claim}: {self.figures}"


@dataclass(frozen=True)
class Plot:
    title: str
    file: Path  # an SVG


@dataclass
class Section:
    name: str
    title: str
    tables: list[Table] = field(default_factory=list)
    verdicts: list[Verdict] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    plots: list[Plot] = field(default_factory=list)


def quotient(of: Sample, by: Sample) -> Sample:
    """Run by run: the runs of one round were made in turn, so that what slowed the machine slowed both."""
    return Sample(tuple(a / b for a, b in zip(of.values, by.values, strict=True)))


def spread(sample: Sample, form: str = ".2f") -> str:
    interval = sample.interval
    what = f"{interval.level:.1%} interval" if interval.level else f"range of {len(sample.values)} runs"
    return f"{sample.median:{form}} [{interval.low:{form}}, {interval.high:{form}}; {what}]"


def too_few(runs: int) -> bool:
    """To show anything of what varies from run to run, either way."""
    return runs < FEWEST_FOR_LEVEL


def judge_range(claim: str, low: float, high: float, figures: str, runs: int, *, least: float | None = None,
                most: float | None = None) -> Verdict:
    """Holds if all of [low, high] lies on the right side of the bound, fails if none of it does."""
    if too_few(runs):
        outcome = OPEN
    elif least is not None:
        outcome = HOLDS if low >= least else FAILS if high < least else OPEN
    else:
        outcome = HOLDS if high <= most else FAILS if low > most else OPEN
    return Verdict(claim, outcome, figures)


def judge(claim: str, sample: Sample, *, least: float | None = None, most: float | None = None,
          form: str = ".2f") -> Verdict:
    return judge_range(claim, sample.interval.low, sample.interval.high, spread(sample, form), len(sample.values),
                       least=least, most=most)


def fact(claim: str, holds: bool, figures: str) -> Verdict:
    """Of what does not vary from run to run."""
    return Verdict(claim, HOLDS if holds else FAILS, figures)


def not_worse(ours: Sample, theirs: Sample) -> str:
    """Whether ours, a cost, is better or equal, run by run."""
    ratio = of_rounds(quotient(ours, theirs).values)
    return OPEN if ratio is None or too_few(len(ours.values)) else outcome_of(ratio.word)


def outcome_of(word: str) -> str:
    """Of the claim that ours is not worse."""
    return {BETTER: HOLDS, EQUAL: HOLDS, WORSE: FAILS, UNCLEAR: OPEN}[word]
