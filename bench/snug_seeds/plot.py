"""The plots, as SVG. matplotlib takes a second to load, so that is put off until something is drawn."""

from pathlib import Path
from typing import Any

from snug_bench.problem import Problem


def panels_of(count: int, size: tuple[float, float]) -> tuple[Any, list[Any]]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="tight")
    return figure, list(figure.subplots(1, count, squeeze=False)[0])


def save(figure: Any, file: Path) -> Path:
    try:
        figure.savefig(file)
    except OSError as error:
        raise Problem(f"cannot write {file}: {error.strerror}", 1) from None
    return file


def draw_cells(file: Path, rounds: list[int], published: dict[str, Any], here: dict[str, Any]) -> Path:
    figure, (left, right) = panels_of(2, (11, 4.5))
    for name, rows in published.items():
        left.errorbar(rounds, [mean for mean, _ in rows], [deviation for _, deviation in rows], label=name, lw=1)
    for name, rows in here.items():
        right.errorbar(rounds, [row[1] for row in rows], [row[2] for row in rows], label=name, lw=1)
    for axes, title in ((left, "the document"), (right, "here")):
        axes.set(title=title, xlabel="rounds N", ylabel="ms, mean ± standard deviation", ylim=(0, None))
        axes.legend(fontsize=8)
    return save(figure, file)


def draw_lists(file: Path, lengths: list[int], makers: dict[str, dict[int, Any]]) -> Path:
    figure, (axes,) = panels_of(1, (8, 5))
    for name, each in makers.items():
        style = "-" if name.startswith("snug") else "--" if name.startswith("new") else ":"
        axes.plot(lengths, [each[n].median for n in lengths], style, marker="o", ms=3, label=name)
    axes.set(xscale="log", yscale="log", xlabel="nodes N", ylabel="ns a node, built and deleted")
    axes.legend(fontsize=7, ncols=2)
    return save(figure, file)


def draw_batches(file: Path, published: dict[str, Any], here: dict[str, Any]) -> Path:
    figure, panels = panels_of(2, (12, 4.5))
    for axes, title, loads in zip(panels, ("the document", "here"), (published, here), strict=True):
        names = list(next(iter(loads.values())))
        for at, name in enumerate(names):
            places = [place + (at - len(names) / 2) * 0.8 / len(names) for place in range(len(loads))]
            axes.bar(places, [each[name] for each in loads.values()], 0.8 / len(names), label=name, align="edge")
        axes.set(title=title, yscale="log", ylabel="ms")
        axes.set_xticks(range(len(loads)), list(loads), fontsize=7)
        axes.legend(fontsize=8)
    return save(figure, file)
