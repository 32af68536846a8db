"""README's marked parts and its charts: written from the results, and compared with them.

A part lies between the lines `<!-- NAME: … -->` and `<!-- end of NAME -->`: `table`, what each allocator costs; `why` and
`whynot`, the sentences of why.md.in and why-not.md.in with their figures; and `demo`, the demo's last output. So nothing is typed twice.
"""

import re
import textwrap
from pathlib import Path

from snug_bench.problem import Problem
from snug_bench.verdict import SCORED
from snug_front_door.chart import DARK, LIGHT, SNUG, Standing, chart
from snug_front_door.figures import figures_of, table
from snug_front_door.sources import Sources

SENTENCES = {"why": Path(__file__).with_name("why.md.in"), "whynot": Path(__file__).with_name("why-not.md.in")}
WIDTH = 130  # of README's lines
SHOWN = 27  # lines of the demo's output at most


def fill(readme: str, name: str, content: str) -> str:
    pattern = re.compile(rf"(<!-- {name}: [^\n]*-->\n).*?(<!-- end of {name} -->\n)", re.DOTALL)
    if len(pattern.findall(readme)) != 1:
        raise Problem(f"README.md: no part '{name}' between its two marks, or more than one", 1)
    return pattern.sub(lambda found: found[1] + content + found[2], readme)


def sample(demo: str) -> str:
    """Of the demo's output the table and the verdict. Left out: what is run, before them; how to read it and which
    allocators served, between them."""
    paragraphs = demo.strip("\n").split("\n\n")
    shown = f"{paragraphs[-3]}\n\n{paragraphs[-1]}" if len(paragraphs) >= 3 else demo
    if shown.count("\n") >= SHOWN:
        raise Problem(f"of the demo's output {shown.count(chr(10)) + 1} lines; README has room for {SHOWN}", 1)
    return f"```text\n{shown}\n```\n"


def sentences(file: Path, figures: dict[str, str]) -> str:
    """Broken anew, since figures have other lengths than their names."""
    items = file.read_text("utf-8").split("\n- ")
    try:
        filled = [" ".join(item.removeprefix("- ").split()).format_map(figures) for item in items]
    except KeyError as missing:
        raise Problem(f"{file.name}: no figure {missing}", 1) from None
    wrapped = [textwrap.fill(item, WIDTH, initial_indent="- ", subsequent_indent="  ", break_long_words=False,
                             break_on_hyphens=False) for item in filled]
    return "\n".join(wrapped) + "\n"


def standings(sources: Sources) -> dict[str, Standing]:
    """Of snug, and of every peer that counted in each of the real programs."""
    times, sizes = (sources.ranking.overall(sources.real, key) for key in SCORED)
    found = {SNUG: Standing(1, 1, (1, 1), (1, 1))}
    for name in times.keys() & sizes.keys():
        time, size = times[name].ratio, sizes[name].ratio
        found[name] = Standing(time.value, size.value, (time.interval.low, time.interval.high),
                               (size.interval.low, size.interval.high))
    return dict(sorted(found.items()))


def charts(sources: Sources, machine: str) -> dict[str, str]:
    """By path below the project's root."""
    drawn = standings(sources)
    return {f"docs/images/time-memory-{theme.name}.svg": chart(drawn, sources.ranking.names, len(sources.real), machine, theme)
            for theme in (LIGHT, DARK)}


def written(root: Path) -> dict[str, str]:
    """What each file should be."""
    sources = Sources(root / "docs/results")
    figures, readme = figures_of(sources), (root / "README.md").read_text("utf-8")
    for part, file in SENTENCES.items():
        readme = fill(readme, part, sentences(file, figures))
    readme = fill(readme, "table", table(sources))
    readme = fill(readme, "demo", sample(sources.demo_file.read_text("utf-8")))
    return {"README.md": readme, **charts(sources, figures["machine"])}


def update(root: Path) -> None:
    for name, content in written(root).items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content, "utf-8")


def outdated(root: Path) -> list[str]:
    return [name for name, content in written(root).items()
            if not (root / name).is_file() or (root / name).read_text("utf-8") != content]
