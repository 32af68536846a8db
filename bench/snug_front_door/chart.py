"""The chart of README: time against memory on real programs, as SVG, once for light pages and once for dark ones.

Every allocator is a marker with its name beside it, since a legend would have to be read first. The names are placed by
trying eight places around each marker and taking, one after the other, what overlaps least.
"""

import math
from dataclasses import dataclass
from html import escape

from snug_bench.palette import PAGE_DARK, PAGE_LIGHT, styles_of
from snug_front_door.standing import Standing

WIDTH, HEIGHT = 760, 440
LEFT, RIGHT, TOP, BOTTOM = 80, 24, 62, 62
FONT = "-apple-system,BlinkMacSystemFont,Segoe UI,Roboto,Helvetica,Arial,sans-serif"
LETTER = 6.9  # width of a letter at 12.5 px, at most
LINE = 15
SNUG, BASE = "snug", "glibc"
FURTHEST = 1.1  # slower ones stand at the edge with their figure, so that they do not press all others together


@dataclass(frozen=True)
class Theme:
    name: str
    page: str
    ink: str
    faint: str
    grid: str

    def colour(self, style) -> str:
        return style.dark if self.name == "dark" else style.light


LIGHT = Theme("light", PAGE_LIGHT, "#1f2328", "#59636e", "#e4e8ec")
DARK = Theme("dark", PAGE_DARK, "#e6edf3", "#9198a1", "#30363d")


@dataclass(frozen=True)
class Box:
    left: float
    top: float
    right: float
    bottom: float

    def overlap(self, other: "Box") -> float:
        width = min(self.right, other.right) - max(self.left, other.left)
        height = min(self.bottom, other.bottom) - max(self.top, other.top)
        return max(width, 0) * max(height, 0)


class Axis:
    """Logarithmic: twice as slow lies as far from the base as twice as fast."""

    def __init__(self, values: list[float], start: float, end: float):
        low, high = math.log(min(values)), math.log(max(values))
        margin = 0.07 * (high - low)
        self.low, self.high, self.start, self.end = low - margin, high + margin, start, end

    def at(self, value: float) -> float:
        return self.start + (math.log(value) - self.low) / (self.high - self.low) * (self.end - self.start)

    def ticks(self) -> list[float]:
        low, high = math.exp(self.low), math.exp(self.high)
        step = next(step for step in (0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10) if (high - low) / step <= 8)
        return [round(n * step, 2) for n in range(math.ceil(low / step), math.floor(high / step) + 1) if n > 0]


@dataclass(frozen=True)
class Label:
    x: float
    y: float
    anchor: str
    box: Box


def label_places(x: float, y: float, words: str, stands_out: bool) -> list[Label]:
    """Eight places around a marker, the best first."""
    width = len(words) * LETTER * (1.12 if stands_out else 1)
    gap = 12 if stands_out else 9
    places = []
    for dx, dy, anchor in ((1, 0, "start"), (-1, 0, "end"), (0, -1, "middle"), (0, 1, "middle"),
                           (0.7, -0.8, "start"), (0.7, 0.8, "start"), (-0.7, -0.8, "end"), (-0.7, 0.8, "end")):
        ax = x + dx * gap
        ay = y + 4 + dy * (gap + 4)
        left = ax - {"start": 0, "middle": width / 2, "end": width}[anchor]
        places.append(Label(ax, ay, anchor, Box(left, ay - LINE + 3, left + width, ay + 4)))
    return places


def placed_labels(points: dict[str, tuple[float, float]], words: dict[str, str]) -> dict[str, Label]:
    taken = [Box(x - 7, y - 7, x + 7, y + 7) for x, y in points.values()]
    inside = Box(LEFT, TOP, WIDTH - RIGHT, HEIGHT - BOTTOM)

    def badness(label: Label) -> float:
        area = (label.box.right - label.box.left) * (label.box.bottom - label.box.top)
        return sum(label.box.overlap(other) for other in taken) + 2 * (area - label.box.overlap(inside))
    labels = {}
    for name in sorted(points, key=lambda name: (name not in (SNUG, BASE), points[name])):
        labels[name] = min(label_places(*points[name], words[name], name == SNUG), key=badness)
        taken.append(labels[name].box)
    return labels


def text(x: float, y: float, words: str, colour: str, size: float = 12.5, more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="{colour}" font-size="{size}"{more}>{escape(words)}</text>'


def axis_lines(theme: Theme, across: Axis, up: Axis) -> list[str]:
    lines = []
    for value in across.ticks():
        x = across.at(value)
        lines += [f'<path d="M{x:.1f} {TOP}V{HEIGHT - BOTTOM}" stroke="{theme.grid}"/>',
                  text(x, HEIGHT - BOTTOM + 18, f"{value:g}×", theme.faint, 12, ' text-anchor="middle"')]
    for value in up.ticks():
        y = up.at(value)
        lines += [f'<path d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}" stroke="{theme.grid}"/>',
                  text(LEFT - 8, y + 4, f"{value:g}×", theme.faint, 12, ' text-anchor="end"')]
    return lines


def label_of(name: str, standing: Standing) -> str:
    return f"{name} ↑ {standing.time:.2f}×" if standing.time > FURTHEST else name


def axes(standings: dict[str, Standing]) -> tuple[Axis, Axis]:
    return (Axis([each.memory for each in standings.values()], LEFT, WIDTH - RIGHT),
            Axis([min(each.time, FURTHEST) for each in standings.values()], HEIGHT - BOTTOM, TOP))


def points_of(standings: dict[str, Standing]) -> dict[str, tuple[float, float]]:
    across, up = axes(standings)
    return {name: (across.at(each.memory), up.at(min(each.time, FURTHEST))) for name, each in standings.items()}


def label_boxes(standings: dict[str, Standing]) -> dict[str, Box]:
    words = {name: label_of(name, each) for name, each in standings.items()}
    return {name: label.box for name, label in placed_labels(points_of(standings), words).items()}


def chart(standings: dict[str, Standing], programs: int, theme: Theme) -> str:
    """`standings` are relative to glibc, which is at 1×, 1×."""
    across, up = axes(standings)
    points = points_of(standings)
    words = {name: label_of(name, each) for name, each in standings.items()}
    styles, labels = styles_of(points), placed_labels(points, words)
    base_x, base_y = across.at(1), up.at(1)
    title = f"Time and memory on {programs} real programs"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{title}, as '
        f'multiples of glibc’s" font-family="{FONT}">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" rx="6" fill="{theme.page}"/>',
        text(20, 26, title, theme.ink, 16, ' font-weight="600"'),
        text(20, 46, "as multiples of glibc’s, geometric means; further left is smaller, further down is faster",
             theme.faint),
        *axis_lines(theme, across, up),
        f'<path d="M{base_x:.1f} {TOP}V{HEIGHT - BOTTOM}M{LEFT} {base_y:.1f}H{WIDTH - RIGHT}" stroke="{theme.faint}" '
        'stroke-dasharray="3 4"/>',
        text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 16, "peak memory", theme.ink, 13, ' text-anchor="middle"'),
        f'<g transform="translate(28 {(TOP + HEIGHT - BOTTOM) / 2:.0f}) rotate(-90)">'
        + text(0, 0, "time", theme.ink, 13, ' text-anchor="middle"') + "</g>",
    ]
    drawn = []
    for name, (x, y) in points.items():
        size = 9 if name == SNUG else 5.5
        drawn.append(f'<path transform="translate({x:.1f} {y:.1f}) scale({size})" d="{styles[name].marker.path}" '
                     f'fill="{theme.colour(styles[name])}"/>')
    for name, label in labels.items():
        bold = ' font-weight="700"' if name == SNUG else ""
        halo = f' paint-order="stroke" stroke="{theme.page}" stroke-width="4" stroke-linejoin="round"'
        parts.append(text(label.x, label.y, words[name], theme.colour(styles[name]) if name == SNUG else theme.ink,
                          14 if bold else 12.5, f'{bold} text-anchor="{label.anchor}"{halo}'))
    return "\n".join([*parts, *drawn, "</svg>", ""])
