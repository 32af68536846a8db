"""The picture: memory over time, a line a server, as one SVG which follows the reader's light or dark theme."""

from html import escape

WIDTH, HEIGHT = 820, 430
LEFT, RIGHT, TOP, BOTTOM = 64, 190, 74, 54
FONT = "-apple-system,BlinkMacSystemFont,Segoe UI,Roboto,Helvetica,Arial,sans-serif"
NAME_HEIGHT = 17
STEPS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)
LIGHT = {"page": "#ffffff", "ink": "#1f2328", "faint": "#59636e", "grid": "#e4e8ec", "band": "#f4f6f8"}
DARK = {"page": "#1b1f23", "ink": "#e6edf3", "faint": "#9198a1", "grid": "#30363d", "band": "#22272c"}
MIB = 1 << 20


def theme(colours, styles, shade):
    """Custom properties of one theme; of a style the lines' colour."""
    names = [f"--{name}:{value}" for name, value in colours.items()]
    return ";".join(names + [f"--line{i}:{getattr(style, shade)}" for i, style in enumerate(styles)])


def steps_up_to(most, count):
    step = next((step for step in STEPS if most / step <= count), STEPS[-1])
    return range(0, int(most) + 1, step)


def spread_out(ends):
    """Ascending places for names, none over another, near where their lines end."""
    places = []
    for end in ends:
        places.append(max(end, places[-1] + NAME_HEIGHT) if places else end)
    lowest = HEIGHT - BOTTOM + 6
    for at in reversed(range(len(places))):
        places[at] = min(places[at], lowest)
        lowest = places[at] - NAME_HEIGHT
    return places


class Frame:
    def __init__(self, seconds, mib):
        self.seconds, self.mib = seconds, mib

    def x(self, second):
        return LEFT + second / self.seconds * (WIDTH - LEFT - RIGHT)

    def y(self, mib):
        return HEIGHT - BOTTOM - mib / self.mib * (HEIGHT - TOP - BOTTOM)

    def path(self, seconds, amounts):
        return "M" + "L".join(f"{self.x(s):.1f} {self.y(a / MIB):.1f}" for s, a in zip(seconds, amounts, strict=True))


def text(x, y, words, colour="ink", size=12.5, more=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="var(--{colour})" font-size="{size}"{more}>{escape(words)}</text>'


def background(frame, phases):
    parts = []
    for name, begin, end in phases:
        if not name:
            continue
        left, right = frame.x(begin), frame.x(end)
        parts.append(f'<rect x="{left:.1f}" y="{TOP}" width="{right - left:.1f}" height="{HEIGHT - TOP - BOTTOM}" fill="var(--band)"/>')
        parts.append(text((left + right) / 2, TOP - 8, name, "faint", 12, ' text-anchor="middle"'))
    for mib in steps_up_to(frame.mib, 8):
        y = frame.y(mib)
        parts.append(f'<path d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}" stroke="var(--grid)"/>')
        parts.append(text(LEFT - 8, y + 4, str(mib), "faint", 12, ' text-anchor="end"'))
    for second in steps_up_to(frame.seconds, 10):
        parts.append(text(frame.x(second), HEIGHT - BOTTOM + 18, str(second), "faint", 12, ' text-anchor="middle"'))
    parts.append(text(LEFT - 8, TOP - 8, "MiB", "faint", 12, ' text-anchor="end"'))
    parts.append(text(WIDTH - RIGHT, HEIGHT - 16, "seconds", "faint", 12, ' text-anchor="end"'))
    return parts


def picture(title, subtitle, phases, lives, styles):
    """`lives`: {name: Life}, `styles`: a palette's style for each, in their order. The first one stands out."""
    first = next(iter(lives.values()))
    most = max(max(life.resident) for life in lives.values()) / MIB
    frame = Frame(phases[-1][2], most * 1.04)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(title)}" '
        f'font-family="{FONT}">',
        f"<style>:root{{{theme(LIGHT, styles, 'light')}}}"
        f"@media(prefers-color-scheme:dark){{:root{{{theme(DARK, styles, 'dark')}}}}}</style>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" rx="6" fill="var(--page)"/>',
        text(20, 27, title, "ink", 16, ' font-weight="600"'),
        text(20, 46, subtitle, "faint"),
        *background(frame, phases),
        f'<path d="{frame.path(first.seconds, first.stored)}" fill="none" stroke="var(--faint)" stroke-dasharray="3 4"/>',
    ]
    ends = [(frame.y(first.stored[-1] / MIB), "keys and values", "faint", "")]
    for i, (name, life) in reversed(list(enumerate(lives.items()))):
        width = 3 if i == 0 else 1.6
        parts.append(f'<path d="{frame.path(life.seconds, life.resident)}" fill="none" stroke="var(--line{i})" '
                     f'stroke-width="{width}" stroke-linejoin="round"/>')
        ends.append((frame.y(life.resident[-1] / MIB), name, f"line{i}", ' font-weight="700"' if i == 0 else ""))
    ends.sort()
    for (end, name, colour, more), place in zip(ends, spread_out([end for end, *_ in ends]), strict=True):
        parts.append(f'<path d="M{WIDTH - RIGHT + 2} {end:.1f}L{WIDTH - RIGHT + 14} {place:.1f}" stroke="var(--{colour})"/>')
        parts.append(text(WIDTH - RIGHT + 18, place + 4, name, colour, 12.5, more))
    return "\n".join([*parts, "</svg>", ""])
