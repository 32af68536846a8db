"""The chart of README: time against memory on real programs, in multiples of snug's, as SVG, once for light pages and once
for dark ones. A cross is the interval of each.

Every allocator is a marker with its name beside it, since a legend would have to be read first. The names are placed by
trying eight places around each marker and taking, one after the other, what overlaps least.
"""

import math
from dataclasses import dataclass
from html import escape

from snug_bench.palette import PAGE_DARK, PAGE_LIGHT, styles_of

WIDTH, HEIGHT = 760, 480
LEFT, RIGHT, TOP, BOTTOM = 80, 24, 62, 76
FONT = "-apple-system,BlinkMacSystemFont,Segoe UI,Roboto,Helvetica,Arial,sans-serif"
LETTER = 6.9  # width of a letter at 12.5 px, at most
LINE = 15
SNUG = "snug"
FURTHEST = 1.2  # slower ones stand at the edge with their figure, so that they do not press all others together


@dataclass(frozen=True)
class Standing:
    """Multiples of snug's: the mean, and where it lies."""

    time: float
    memory: float
    time_between: tuple[float, float]
    memory_between: tuple[float, float]


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
    for name in sorted(points, key=lambda name: (name != SNUG, points[name])):
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
    return (Axis([end for each in standings.values() for end in each.memory_between], LEFT, WIDTH - RIGHT),
            Axis([min(end, FURTHEST) for each in standings.values() for end in each.time_between], HEIGHT - BOTTOM, TOP))


def points_of(standings: dict[str, Standing]) -> dict[str, tuple[float, float]]:
    across, up = axes(standings)
    return {name: (across.at(each.memory), up.at(min(each.time, FURTHEST))) for name, each in standings.items()}


def label_boxes(standings: dict[str, Standing], words: dict[str, str]) -> dict[str, Box]:
    words = {name: label_of(words[name], each) for name, each in standings.items()}
    return {name: label.box for name, label in placed_labels(points_of(standings), words).items()}


def crosses(standings: dict[str, Standing], points: dict[str, tuple[float, float]], theme: Theme, styles) -> list[str]:
    across, up = axes(standings)
    lines = []
    for name, each in standings.items():
        (x, y), (left, right) = points[name], (across.at(end) for end in each.memory_between)
        low, high = (up.at(min(end, FURTHEST)) for end in each.time_between)
        lines.append(f'<path d="M{left:.1f} {y:.1f}H{right:.1f}M{x:.1f} {low:.1f}V{high:.1f}" '
                     f'stroke="{theme.colour(styles[name])}" stroke-opacity="0.45" stroke-width="1.5"/>')
    return lines


def chart(standings: dict[str, Standing], words: dict[str, str], programs: int, machine: str, theme: Theme) -> str:
    """`words`: the names as they are shown. snug is at 1×, 1×."""
    across, up = axes(standings)
    points = points_of(standings)
    words = {name: label_of(words[name], each) for name, each in standings.items()}
    styles, labels = styles_of(points), placed_labels(points, words)
    base_x, base_y = across.at(1), up.at(1)
    title = f"Time and memory on {programs} real programs"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{title}, as '
        f'multiples of snug’s" font-family="{FONT}">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" rx="6" fill="{theme.page}"/>',
        text(20, 26, title, theme.ink, 16, ' font-weight="600"'),
        text(20, 46, "as multiples of snug’s: geometric means with 95% intervals; further left is smaller, further down is faster",
             theme.faint),
        *axis_lines(theme, across, up),
        f'<path d="M{base_x:.1f} {TOP}V{HEIGHT - BOTTOM}M{LEFT} {base_y:.1f}H{WIDTH - RIGHT}" stroke="{theme.faint}" '
        'stroke-dasharray="3 4"/>',
        text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 28, "peak memory", theme.ink, 13, ' text-anchor="middle"'),
        text(WIDTH - RIGHT, HEIGHT - 8, machine, theme.faint, 11, ' text-anchor="end"'),
        f'<g transform="translate(28 {(TOP + HEIGHT - BOTTOM) / 2:.0f}) rotate(-90)">'
        + text(0, 0, "time", theme.ink, 13, ' text-anchor="middle"') + "</g>",
        *crosses(standings, points, theme, styles),
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
