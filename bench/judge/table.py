"""The matrix as text: the figures, the memory beside them, the score and what is lost."""

import math

from judge.verdict import Series, Standing

NOTHING = "-"
WORST_RATIO_SHOWN = 99


def figures_table(standings: list[Standing]) -> str:
    """A row for each figure: snug's median with its spread, the best peer, the verdict."""
    lines = [["load", "figure", "unit", "snug", "[low–high]", "best peer", "", "ratio", "verdict"]]
    for standing in standings:
        figure = standing.figure
        unit = figure.unit + (" ↑" if figure.higher_is_better else "")
        lines.append([figure.load, figure.name, unit, *snug_cells(standing), *peer_cells(standing),
                      ratio_text(standing.ratio), standing.verdict])
    return aligned(lines, left={0, 1, 2, 5, 8}) + "↑ more is better\n"


def memory_table(peaks: list[Standing], faults: list[Standing], systems: list[Standing]) -> str:
    """A row for each load: peak RSS as in the other table, then faults and system time of snug and the best peer."""
    lines = [["load", "peak RSS: snug", "[low–high]", "best peer", "", "ratio", "verdict",
              "faults: snug", "best peer", "", "system: snug", "best peer", ""]]
    for peak, fault, system in zip(peaks, faults, systems, strict=True):
        lines.append([peak.figure.load, *snug_cells(peak), *peer_cells(peak), ratio_text(peak.ratio), peak.verdict,
                      snug_cells(fault)[0], *peer_cells(fault), snug_cells(system)[0], *peer_cells(system)])
    return aligned(lines, left={0, 3, 6, 8, 11})


def score(standings: list[Standing]) -> str:
    held = sum(standing.verdict != "lost" for standing in standings)
    total = len(standings)
    return f"{held} of {total} ({100 * held / total:.0f}%)" if total else "none measured"


def losses(standings: list[Standing]) -> str:
    """What is lost, the worst first."""
    lost = sorted((standing for standing in standings if standing.verdict == "lost"),
                  key=lambda standing: standing.ratio, reverse=True)
    lines = []
    for standing in lost:
        figure = standing.figure
        snug = standing.series.get("snug")
        peer = standing.series.get(standing.best_peer) if standing.best_peer else None
        lines.append([ratio_text(standing.ratio), figure.load, figure.name, median_text(snug, figure.unit),
                      standing.best_peer or NOTHING, median_text(peer, figure.unit), shown_unit(figure.unit)])
    return aligned(lines, left={1, 2, 4, 6}, indent="  ")


def snug_cells(standing: Standing) -> list[str]:
    snug = standing.series.get("snug")
    if snug is None:
        return ["failed", ""]
    unit = standing.figure.unit
    return [median_text(snug, unit), f"[{value_text(snug.low, unit)}–{value_text(snug.high, unit)}]"]


def peer_cells(standing: Standing) -> list[str]:
    if standing.best_peer is None:
        return [NOTHING, NOTHING]
    return [standing.best_peer, median_text(standing.series[standing.best_peer], standing.figure.unit)]


def ratio_text(ratio: float) -> str:
    if not math.isfinite(ratio) or ratio > WORST_RATIO_SHOWN:
        return f">{WORST_RATIO_SHOWN}×"
    return f"{ratio:.2f}×"


def median_text(series: Series | None, unit: str) -> str:
    return value_text(series.median, unit) if series else NOTHING


def shown_unit(unit: str) -> str:
    """What value_text writes a value of that unit in."""
    return {"B": "MiB", "s": "ms"}.get(unit, unit)


def value_text(value: float, unit: str) -> str:
    """Three digits that matter; bytes as MiB and seconds as ms, without the unit."""
    if unit == "B":
        value /= 2**20
    elif unit == "s":
        value *= 1000
    if value >= 99.95 or value == int(value):
        return f"{value:,.0f}"
    return f"{value:.{1 if value >= 9.995 else 2 if value >= 0.9995 else 3}f}"


def aligned(lines: list[list[str]], left: set[int], indent: str = "") -> str:
    """Columns as wide as their widest cell; numbers stand right, the columns in `left` left."""
    if not lines:
        return ""
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    texts = []
    for line in lines:
        cells = [cell.ljust(width) if column in left else cell.rjust(width)
                 for column, (cell, width) in enumerate(zip(line, widths, strict=True))]
        texts.append(indent + "  ".join(cells).rstrip() + "\n")
    return "".join(texts)
