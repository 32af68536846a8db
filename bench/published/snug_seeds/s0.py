"""S0: a binned cell allocator with trailers and a threshold, against a scan with a roving pointer."""

import math
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from snug_bench.problem import Problem

from snug_seeds.bench import TLSF, Bench, called_directly, named
from snug_seeds.plot import draw_cells
from snug_seeds.published import PUBLISHED
from snug_seeds.section import FAILS, Section, Table, Verdict, fact, judge_range

PAIRS = 402  # a round
ROUNDS = list(range(10, 301, 5))
PEERS = ("glibc", "mimalloc", "jemalloc", "mimalloc3", TLSF)
BEHIND_MALLOC = f"malloc of {TLSF}"
TITLES = {"Old version": "old", "New without threshold": "without", "New version": "new", "snug's default": "snug",
          "snug in a region": "region", "rlsf, called directly": "rlsf", "malloc": "malloc"}
DOCUMENTED = ("old", "without", "new")
NORMAL_95 = 1.96

RLSF_BOUND = 0.9  # of its time that a pair on snug may take: what issue 25 asks for

ROW = re.compile(r"(\d+)\s+(\d+\.\d+)\s+(\d+\.\d+)\s+(\d+\.\d+)$")
MEAN, DEVIATION, MEDIAN = 1, 2, 3  # of a row, after N
FACTS = ("ns_a_pair", "set_up_ms", "instructions", "examined", "pages", "bytes_used")


@dataclass(frozen=True)
class Fit:
    """Least squares of ms against rounds. Of our runs their medians, which one run that was held up does not move; of what was
    published the means, since it has no others."""

    offset: float
    slope: float
    error: float  # standard error of the slope

    @property
    def ns(self) -> float:
        return self.slope * 1e6 / PAIRS


def fit(rounds: list[int], times: list[float]) -> Fit:
    n, x, y = len(rounds), sum(rounds) / len(rounds), sum(times) / len(times)
    squares = sum((each - x) ** 2 for each in rounds)
    slope = sum((a - x) * (b - y) for a, b in zip(rounds, times, strict=True)) / squares
    offset = y - slope * x
    rest = sum((b - offset - slope * a) ** 2 for a, b in zip(rounds, times, strict=True))
    return Fit(offset, slope, math.sqrt(rest / (n - 2) / squares))


def ratio(of: Fit, by: Fit) -> tuple[float, float, float]:
    """Of the slopes, with its 95% interval by the propagation of their standard errors."""
    value = of.slope / by.slope
    margin = NORMAL_95 * abs(value) * math.hypot(of.error / of.slope, by.error / by.slope)
    return value, value - margin, value + margin


def parse(text: str) -> dict[str, dict[str, Any]]:
    """What s0_cells prints: {version: {rows: [[N, mean, deviation, median]], ns_a_pair: …}}."""
    versions: dict[str, dict[str, Any]] = {}
    current: list[list[float]] = []
    for line in text.splitlines():
        title = line.partition(" (N, mean")[0]
        if title != line and title in TITLES:
            current = versions.setdefault(TITLES[title], {"rows": []})["rows"]
        elif row := ROW.fullmatch(line):
            current.append([int(row[1]), *map(float, row.groups()[1:])])
        else:
            known = next((each for each in TITLES if re.match(re.escape(each) + r"\s+-?\d", line)), None)
            if known and TITLES[known] in versions:
                facts = zip(FACTS, map(float, line[len(known):].split()), strict=True)
                versions[TITLES[known]].update(facts)
    if not versions or any(len(each["rows"]) != len(ROUNDS) or "pages" not in each for each in versions.values()):
        raise Problem("s0_cells printed something else than its table: build again", 1)
    return versions


def measure(bench: Bench) -> dict[str, Any]:
    runs = str(bench.effort.cell_runs)
    bench.tell(f"S0: all that are called directly, {runs} runs of each N")
    versions = parse(bench.measured("seeds/s0_cells", "--runs", runs, **called_directly(bench.contenders)))
    del versions["malloc"]
    for peer in named(bench.contenders, ("snug", *PEERS)):
        bench.tell(f"S0: malloc of {peer.name}, {runs} runs of each N")
        only = parse(bench.measured("seeds/s0_cells", "--runs", runs, "--versions", "malloc", on=peer))
        versions[f"malloc of {peer.name}"] = only["malloc"]
    return {"runs": bench.effort.cell_runs, "versions": versions}


def fits_of(versions: dict[str, Any]) -> dict[str, Fit]:
    return {name: fit([row[0] for row in each["rows"]], [row[MEDIAN] for row in each["rows"]])
            for name, each in versions.items()}


def section(data: dict[str, Any], folder: Path) -> Section:
    versions, published = data["versions"], PUBLISHED["s0"]
    ours = fits_of(versions)
    theirs = {name: fit(ROUNDS, [mean for mean, _ in published[name]]) for name in DOCUMENTED}
    section = Section("S0", "Cells with trailers and bins, against a scan")
    columns = ["N", *(f"{name}, {side}" for name in DOCUMENTED for side in ("published", "here")),
               *(name for name in versions if name not in DOCUMENTED)]
    rows = []
    for at, rounds in enumerate(ROUNDS):
        row = [str(rounds)]
        for name in DOCUMENTED:
            row += ["{:.3f} ± {:.3f}".format(*published[name][at]),
                    time_cell(versions[name]["rows"][at])]
        rows.append(row + [time_cell(each["rows"][at]) for name, each in versions.items() if name not in DOCUMENTED])
    section.tables = [
        Table(f"ms for set-up and N rounds, published: mean ± standard deviation; here: median (mean ± standard deviation) of "
              f"{data['runs']} runs", columns, rows),
        Table("Least squares, of our medians and of the published means, and counts", ["version", "published ns/pair", "ns/pair", "set-up ms", "instructions/pair",
                                           "cells examined", "pages, published", "pages", "bytes used"],
              [fact_row(name, each, ours[name], theirs, published) for name, each in versions.items()])]
    section.verdicts = verdicts(versions, ours, published, data["runs"])
    saved = 100 * (1 - versions["snug"]["bytes_used"] / versions["new"]["bytes_used"])
    section.remarks = [f"Trailers on free cells only: {saved:.1f}% fewer bytes, {versions['snug']['pages']:.0f} pages "
                       f"instead of {versions['new']['pages']:.0f}."]
    if "rlsf" in versions:
        section.remarks.append("rlsf is the crate's TLSF over one pool, called directly and without a lock, as the cell heaps are; "
                               "region is snug's default over one region, as rlsf's is, without pages that come and go.")
    if BEHIND_MALLOC in versions:
        section.remarks.append(f"{BEHIND_MALLOC} is the same TLSF behind malloc's functions, with a lock that is taken for each call.")
    section.plots = draw_cells(folder, ROUNDS, {
        "published": {name: published[name] for name in DOCUMENTED},
        "here": {name: [(row[MEDIAN], row[DEVIATION]) for row in each["rows"]] for name, each in versions.items()}})
    return section


def time_cell(row: list[float]) -> str:
    return f"{row[MEDIAN]:.3f} ({row[MEAN]:.3f} ± {row[DEVIATION]:.3f})"


def fact_row(name: str, each: dict[str, Any], ours: Fit, theirs: dict[str, Fit],
             published: dict[str, Any]) -> list[str]:
    cells = each["pages"] > 0  # a heap that counts them
    return [name, f"{theirs[name].ns:.0f}" if name in theirs else "–",
            f"{ours.ns:.1f} ± {NORMAL_95 * ours.error * 1e6 / PAIRS:.1f}", f"{ours.offset:.3f}",
            f"{each['instructions']:.1f}", f"{each['examined']:.2f}" if name == "old" else "–",
            str(published["pages"].get(name, "–")), f"{each['pages']:.0f}" if cells else "–",
            f"{each['bytes_used']:.0f}" if cells else "–"]


def verdicts(versions: dict[str, Any], ours: dict[str, Fit], published: dict[str, Any], runs: int) -> list[Verdict]:
    bound, most = published["bins_gain"], published["threshold_percent"]
    value, low, high = ratio(ours["old"], ours["without"])
    bins = judge_range(f"bins beat the scan {bound} times a pair or more", low, high,
                       f"{value:.2f} [{low:.2f}, {high:.2f}; 95%], {runs} runs", runs, least=bound)
    value, low, high = ratio(ours["old"], ours["snug"])
    default = judge_range(f"snug's default beats the scan {bound} times a pair or more", low, high,
                          f"{value:.2f} [{low:.2f}, {high:.2f}; 95%], {runs} runs", runs, least=bound)
    against = []
    if "rlsf" in ours:
        value, low, high = ratio(ours["region"], ours["rlsf"])
        counts = " and ".join(f"{versions[name]['instructions']:.1f}" for name in ("region", "rlsf"))
        judged = judge_range(f"a pair on snug's default takes at most {RLSF_BOUND} times as long as on rlsf's TLSF, both over one region "
                             "and called directly", low, high, f"{value:.2f} [{low:.2f}, {high:.2f}; 95%] times, {runs} runs; "
                             f"{counts} instructions", runs, most=RLSF_BOUND)
        against = [replace(judged, figures=f"missed: {judged.figures}") if judged.outcome == FAILS else judged]
    price = 100 * (versions["new"]["instructions"] / versions["without"]["instructions"] - 1)
    examined = versions["old"]["examined"]
    pages = [versions[name]["pages"] for name in DOCUMENTED]
    return [
        bins, default, *against,
        fact(f"the threshold costs at most {most}% more instructions a pair", price <= most, f"{price:.1f}%"),
        fact("the scan passes over about ten cells (8 to 12) for each large one", 8 <= examined <= 12,
             f"{examined:.2f}"),
        fact("3, 4 and 4 pages", pages == [published["pages"][name] for name in DOCUMENTED],
             ", ".join(f"{each:.0f}" for each in pages))]
