"""The plots, as SVG, one panel each: a page puts them side by side or one below the other, as it is wide.

matplotlib takes a second to load, so that is put off until something is drawn.
"""

from pathlib import Path
from typing import Any

from snug_bench.problem import Problem

from snug_seeds.section import Plot

SIZE = (5.2, 4.6)  # inches; words stay legible on a telephone
# Words as words, names of parts and dates as they were: what did not change is the same file.
AS_SVG = {"svg.fonttype": "none", "svg.hashsalt": "snug"}


def panel_of(title: str) -> tuple[Any, Any]:
    from matplotlib import colormaps
    from matplotlib.figure import Figure

    figure = Figure(figsize=SIZE, layout="constrained")
    axes = figure.subplots()
    axes.set_title(title, fontsize=10)
    colours = colormaps["tab20"].colors  # pairs of strong and light: ten strong ones, then the light ones
    axes.set_prop_cycle(color=[*colours[::2], *colours[1::2]])
    return figure, axes


def save(figure: Any, file: Path, title: str) -> Plot:
    import matplotlib

    figure.legend(loc="outside lower center", ncols=3, fontsize=8.5, frameon=False)
    try:
        with matplotlib.rc_context(AS_SVG):
            figure.savefig(file, format="svg", metadata={"Date": None})
    except OSError as error:
        raise Problem(f"cannot write {file}: {error.strerror}", 1) from None
    return Plot(title, file)


def draw_cells(folder: Path, rounds: list[int], sides: dict[str, dict[str, list[tuple[float, float]]]]) -> list[Plot]:
    """`sides`: {the document, here: {version: [mean, deviation]}}."""
    plots = []
    for side, versions in sides.items():
        title = f"S0, {side}: time against rounds"
        figure, axes = panel_of(title)
        for name, rows in versions.items():
            axes.errorbar(rounds, [mean for mean, _ in rows], [deviation for _, deviation in rows], label=name, lw=1)
        axes.set(xlabel="rounds N", ylabel="ms, mean ± standard deviation", ylim=(0, None))
        plots.append(save(figure, folder / f"s0_{side.split()[-1]}.svg", title))
    return plots


def draw_lists(folder: Path, lengths: list[int], makers: dict[str, dict[int, Any]]) -> list[Plot]:
    title = "S3: ns a node against the length of the list"
    figure, axes = panel_of(title)
    for name, each in makers.items():
        style = "-" if name.startswith("snug") else "--" if name.startswith("new") else ":"
        axes.plot(lengths, [each[n].median for n in lengths], style, marker="o", ms=3, label=name)
    axes.set(xscale="log", yscale="log", xlabel="nodes N", ylabel="ns a node, built and deleted")
    return [save(figure, folder / "s3.svg", title)]


def draw_batches(folder: Path, sides: dict[str, dict[str, dict[str, float]]]) -> list[Plot]:
    """`sides`: {the document, here: {load: {column: ms}}}."""
    plots = []
    for side, loads in sides.items():
        title = f"S4, {side}: batches off and on"
        figure, axes = panel_of(title)
        names = list(next(iter(loads.values())))
        for at, name in enumerate(names):
            places = [place + (at - len(names) / 2) * 0.8 / len(names) for place in range(len(loads))]
            axes.bar(places, [each[name] for each in loads.values()], 0.8 / len(names), label=name, align="edge")
        axes.set(yscale="log", ylabel="ms")
        axes.set_xticks(range(len(loads)), [load.replace("+", "\n+") for load in loads], fontsize=8)
        plots.append(save(figure, folder / f"s4_{side.split()[-1]}.svg", title))
    return plots
