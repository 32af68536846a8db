"""Plots of lines over named steps: threads, increments, quantiles."""

from math import nan
from pathlib import Path

from snug_seeds.plot import draw_lines, logarithmic, panel_of, save
from snug_seeds.section import Plot


def draw_by_steps(file: Path, title: str, y_title: str, x_title: str, steps: list[str], lines: dict[str, list[float]]) -> Plot:
    """What is not above 0 is left out."""
    figure, axes = panel_of(y_title, x_title)
    shown = {name: [value if value > 0 else nan for value in values] for name, values in lines.items()}
    shown = {name: values for name, values in shown.items() if values[-1] == values[-1]}  # a name stands at the line's end
    axes.set_xticks(range(len(steps)), steps)
    if shown:
        logarithmic(axes, "y", [value for values in shown.values() for value in values if value == value])
        draw_lines(axes, list(range(len(steps))), shown)
    return save(figure, file, title)
