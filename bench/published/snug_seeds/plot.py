"""The plots, as SVG, one panel each: a page puts them side by side or one below the other, as it is wide. They look like
the page's own charts: the palette's colours and markers, a name at each line's end, no frame.

matplotlib takes a second to load, so that is put off until something is drawn.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from snug_bench.palette import STYLES, Style, styles_of
from snug_bench.problem import Problem

from snug_seeds.section import Plot

SIZE = (4.6, 4.2)  # inches; words stay legible on a telephone
GREY, LINE = "#444444", "#dddddd"  # picture.py knows them, and gives them the page's
STEP = 0.052  # of the panel's height, between two names
# Words as words, names of parts and dates as they were: what did not change is the same file.
AS_SVG = {"svg.fonttype": "none", "svg.hashsalt": "snug"}


def panel_of(y_title: str, x_title: str = "") -> tuple[Any, Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=SIZE, layout="constrained")
    axes = figure.subplots()
    axes.set_title(f"↑ {y_title}", fontsize=9, loc="left", color=GREY)
    axes.set_xlabel(f"{x_title} →" if x_title else "", fontsize=9, loc="right", color=GREY)
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0, labelsize=8.5, labelcolor=GREY, which="both")
    axes.grid(color=LINE, lw=0.8)
    axes.set_axisbelow(True)
    return figure, axes


def logarithmic(axes: Any, which: str, values: list[float]) -> None:
    """With plain numbers: one a decade, or three where there are few."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    axes.set(**{f"{which}scale": "log"})
    axis = getattr(axes, f"{which}axis")
    few = max(values) < 300 * min(values)
    axis.set_major_locator(LogLocator(subs=(1, 2, 5) if few else (1,)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    axis.set_minor_locator(NullLocator())


def save(figure: Any, file: Path, title: str) -> Plot:
    import matplotlib

    try:
        with matplotlib.rc_context(AS_SVG):
            figure.savefig(file, format="svg", metadata={"Date": None})
    except OSError as error:
        raise Problem(f"cannot write {file}: {error.strerror}", 1) from None
    return Plot(title, file)


def styles_for(names: list[str]) -> dict[str, Style]:
    """By the allocator that a name ends with or begins with, as in "malloc of jemalloc"; what is none takes what is left."""
    known: dict[str, str] = {}
    for name in names:
        word = next((each for each in (name, name.split()[-1], name.split("::")[0]) if each in STYLES), name)
        known[name] = name if word in known.values() else word
    styles = styles_of(known.values())
    return {name: styles[word] for name, word in known.items()}


def draw_lines(axes: Any, xs: list[float], lines: dict[str, list[float]], every: int = 1) -> None:
    """A marker at every so many points, and each line's name at its end, none over another."""
    styles = styles_for(list(lines))
    for name, ys in lines.items():
        axes.plot(xs, ys, color=styles[name].light, marker=styles[name].marker.letter, ms=4.5, markevery=every,
                  lw=2.2 if name.startswith("snug") else 1.2, mec="#ffffff", mew=0.5)
    axes.get_ylim()  # settles the scale
    to_panel: Callable[[Any], Any] = (axes.transData + axes.transAxes.inverted()).transform
    ends = sorted((float(to_panel((xs[-1], ys[-1]))[1]), name) for name, ys in lines.items())
    places = spread_out([end for end, _ in ends])
    for (end, name), place in zip(ends, places, strict=True):
        colour = styles[name].light
        axes.plot([1.01, 1.04], [end, place], transform=axes.transAxes, color=colour, lw=0.7, clip_on=False)
        axes.plot([1.06], [place], transform=axes.transAxes, color=colour, marker=styles[name].marker.letter, ms=4.5,
                  clip_on=False)
        axes.text(1.085, place, name, transform=axes.transAxes, fontsize=8.5, va="center",
                  fontweight="bold" if name.startswith("snug") else None)


def spread_out(ends: list[float]) -> list[float]:
    """Ascending, and as far apart as names need; about where they were."""
    places: list[float] = []
    for end in ends:
        places.append(max(end, places[-1] + STEP) if places else max(end, 0.0))
    highest = 1.0
    for at in reversed(range(len(places))):
        places[at] = min(places[at], highest)
        highest = places[at] - STEP
    return places


def draw_cells(folder: Path, rounds: list[int], sides: dict[str, dict[str, list[tuple[float, float]]]]) -> list[Plot]:
    """`sides`: {published, here: {version: [mean or median, deviation]}}. The band is a standard deviation wide to each side."""
    plots = []
    for side, versions in sides.items():
        title = f"S0, {side}: time against rounds"
        middle = "mean" if side == "published" else "median"
        figure, axes = panel_of(f"ms, {middle} ± standard deviation, logarithmic", "rounds N")
        logarithmic(axes, "y", [time for rows in versions.values() for time, _ in rows])
        styles = styles_for(list(versions))
        for name, rows in versions.items():
            low, high = ([max(time + sign * deviation, time / 10) for time, deviation in rows] for sign in (-1, 1))
            axes.fill_between(rounds, low, high, color=styles[name].light, alpha=0.18, lw=0)
        draw_lines(axes, rounds, {name: [time for time, _ in rows] for name, rows in versions.items()}, every=12)
        plots.append(save(figure, folder / f"s0_{side}.svg", title))
    return plots


def draw_lists(folder: Path, lengths: list[int], makers: dict[str, dict[int, Any]]) -> list[Plot]:
    figure, axes = panel_of("ns a node, built and deleted", "nodes N")
    logarithmic(axes, "x", lengths)
    logarithmic(axes, "y", [each[n].median for each in makers.values() for n in lengths])
    draw_lines(axes, lengths, {name: [each[n].median for n in lengths] for name, each in makers.items()})
    return [save(figure, folder / "s3.svg", "S3: ns a node against the length of the list")]


def draw_batches(folder: Path, sides: dict[str, dict[str, dict[str, float]]]) -> list[Plot]:
    """`sides`: {published, here: {load: {column: ms}}}. A row a load, a marker a column; what is missing is said."""
    plots = []
    for side, loads in sides.items():
        title = f"S4, {side}: batches off and on"
        figure, axes = panel_of("load", "ms, logarithmic")
        logarithmic(axes, "x", [value for each in loads.values() for value in each.values() if value])
        axes.set(ylim=(len(loads) - 0.5, -0.5))
        axes.grid(visible=False, axis="y")
        names = list(next(iter(loads.values())))
        styles = styles_for(names)
        for at, name in enumerate(names):
            places = [place + (at - (len(names) - 1) / 2) * 0.13 for place in range(len(loads))]
            values = [each[name] or float("nan") for each in loads.values()]
            axes.plot(values, places, ls="", color=styles[name].light, marker=styles[name].marker.letter, ms=6, label=name)
        axes.set_yticks(range(len(loads)), list(loads))
        missing = [f"{name} of {load}" for load, each in loads.items() for name in names if not each[name]]
        if missing:
            axes.text(0, -0.16, f"Missing in the source: {', '.join(missing)}.", transform=axes.transAxes, fontsize=8, color=GREY)
        figure.legend(loc="outside lower left", ncols=3, fontsize=8.5, frameon=False, handletextpad=0.2)
        plots.append(save(figure, folder / f"s4_{side}.svg", title))
    return plots


def draw_by_kappa(folder: Path, trace: str, kappas: tuple[str, ...], lines: dict[str, list[float]]) -> Plot:
    """Each line by its value at the first kappa, since their units differ."""
    figure, axes = panel_of("by that of full compaction, logarithmic", "kappa: pages of a class that may have a free block")
    relative = {name: [max(value, 1e-9) / max(values[0], 1e-9) for value in values] for name, values in lines.items()}
    logarithmic(axes, "y", [value for values in relative.values() for value in values])
    axes.set_xticks(range(len(kappas)), kappas)
    draw_lines(axes, list(range(len(kappas))), relative)
    return save(figure, folder / f"s2_kappa_{trace}.svg", f"S2, {trace}: throughput, memory and size-class fragmentation by kappa")


def draw_drift(folder: Path, order: str, series: dict[str, list[list[float]]]) -> Plot:
    """`series`: {heap: [[turns, requested, resident, share of pages not full]]}."""
    figure, axes = panel_of("resident memory by what is requested", "times that all was replaced")
    turns = [point[0] for point in next(iter(series.values()))]
    draw_lines(axes, turns, {name: [resident / requested for _, requested, resident, _ in points]
                             for name, points in series.items()}, every=max(1, len(turns) // 8))
    return save(figure, folder / f"s2_drift_{order}.svg", f"S2: a store whose objects grow, replaced in the order of {order}")
