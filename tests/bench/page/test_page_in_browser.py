"""The page as a browser shows it, of the committed results: on telephones and on desks, light and dark."""

import io
import json
import re
from pathlib import Path

import numpy
import pytest
from PIL import Image
from snug_bench.page import page
from snug_bench.palette import styles_of
from snug_bench.results import read_results
from snug_bench.terminal import verdict_sentence
from snug_bench.verdict import judge

ROOT = Path(__file__).parents[3]
# A browser needs minutes to scroll by every card of a whole grid, and seconds for these.
FEW_LOADS = {"server", "many_sizes", "large_cycles", "latency", "redis", "sqlite", "idle_threads", "owners_asleep"}


def part_of(grid: Path, part: Path) -> Path:
    """The same results of a few loads, in a file of its own."""
    head, *lines = grid.read_text("utf-8").splitlines(keepends=True)
    part.write_text(head + "".join(line for line in lines if json.loads(line)["load"] in FEW_LOADS), "utf-8")
    return part


COMMITTED = sorted((ROOT / "docs" / "results").glob("*.jsonl"))
SETTINGS = [(1280, "light"), (400, "dark")]  # each width and each theme once: neither changes what the other does
LARGEST = max(COMMITTED, key=lambda file: file.stat().st_size)
FEW_ROWS = Path("few.jsonl")  # made of it, beside the pages
RESULTS = [*COMMITTED, FEW_ROWS]
MARKED = 8  # pixels of an allocator's very colour, at least, where it is drawn
COVERED = 9  # pixels from one marker's middle to another's that is drawn over it

FRAMES = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 60))))"
# Cards are drawn as they come into view: look at all of them.
LOOK_AT_ALL = """(async () => {
  document.querySelectorAll(".card").forEach((card) => { card.style.contentVisibility = "visible"; });
  for (const card of document.querySelectorAll("article[data-load]")) { card.scrollIntoView(); await FRAMES; }
  document.querySelectorAll("details").forEach((each) => { each.open = true; });
  await FRAMES; await FRAMES;
  scrollTo(0, 0);
})()""".replace("FRAMES", FRAMES)
OUTSIDE = """[...document.body.querySelectorAll("*")].filter((each) => {
  const box = each.getBoundingClientRect(), style = getComputedStyle(each);
  return box.width && box.height && (box.right > innerWidth + 1 || box.left < -1) ||
    each.scrollWidth > each.clientWidth + 1 && ["auto", "scroll"].includes(style.overflowX);
}).map((each) => `${each.tagName}.${each.getAttribute("class")}#${each.id} ${each.textContent.slice(0, 40)}`).slice(0, 5)"""
CHARTS = """[...document.querySelectorAll("QUERY")].map((holder) => {
  const chart = holder.querySelector("svg.chart"), box = (chart || holder).getBoundingClientRect();
  return { label: chart ? chart.getAttribute("aria-label") : `no chart in ${holder.parentElement.textContent}`,
           clip: [box.x + scrollX, box.y + scrollY, box.width, box.height],
           names: [...holder.querySelectorAll(".name")].map((each) => each.textContent),
           markers: [...holder.querySelectorAll(".marker")].map((each) => { const place = each.getBoundingClientRect();
             return { name: DATA.allocators[Number(each.style.getPropertyValue("--c").match(/\\d+/)[0])].name,
                      x: place.x + place.width / 2 + scrollX, y: place.y + place.height / 2 + scrollY }; }) };
})"""
COLLISIONS = """[...document.querySelectorAll("svg.chart")].flatMap((chart) => {
  const texts = [...chart.querySelectorAll("QUERY")].map((text) => ({ text: text.textContent, box: text.getBBox() }));
  return texts.flatMap(({ text, box }, i) => texts.slice(i + 1).filter((other) =>
    Math.min(box.x + box.width, other.box.x + other.box.width) - Math.max(box.x, other.box.x) > 1 &&
    Math.min(box.y + box.height, other.box.y + other.box.height) - Math.max(box.y, other.box.y) > 3)
    .map((other) => `${chart.getAttribute("aria-label")}: ${text} over ${other.text}`));
})"""


@pytest.fixture(scope="session")
def pages(tmp_path_factory):
    """The page of each file of results, and the names of its allocators."""
    folder, made = tmp_path_factory.mktemp("pages"), {}
    for file in RESULTS:
        results = part_of(LARGEST, folder / FEW_ROWS) if file == FEW_ROWS else file
        verdict, said = judge(read_results(results)), []
        target = folder / f"{file.stem}.html"
        target.write_text(page(verdict, said.append), encoding="utf-8")
        made[file] = (target, verdict)
    return made


def drawn_pixels(png, colour):
    """How many pixels have the very colour."""
    seen = numpy.asarray(Image.open(io.BytesIO(png)).convert("RGB"))
    wanted = [int(colour[at:at + 2], 16) for at in (1, 3, 5)]
    return int((seen == wanted).all(axis=2).sum())


def opened(browser, pages, file, width, theme):
    browser.open(pages[file][0], width, theme)
    browser.evaluate(FRAMES)


def assert_drawn(browser, chart, names, theme):
    """Every allocator that the chart names is there in its own colour, but where another's marker lies over its own."""
    assert chart["names"], chart["label"]
    assert {each["name"] for each in chart["markers"]} == set(chart["names"])
    left, top, width, height = chart["clip"]
    assert all(left < each["x"] < left + width and top < each["y"] < top + height for each in chart["markers"]), chart["label"]
    whole = {each["name"] for at, each in enumerate(chart["markers"]) if not any(
        abs(over["x"] - each["x"]) < COVERED and abs(over["y"] - each["y"]) < COVERED for over in chart["markers"][at + 1:])}
    assert len(whole) > len(chart["names"]) / 2, chart["label"]
    png = browser.picture(chart["clip"])
    colours = {name: getattr(style, theme) for name, style in styles_of(names).items()}
    blank = {name: found for name in whole if (found := drawn_pixels(png, colours[name])) < MARKED}
    assert blank == {}, chart["label"]


@pytest.mark.parametrize(("width", "theme"), SETTINGS)
@pytest.mark.parametrize("file", RESULTS, ids=lambda file: file.stem)
def test_the_answer_is_drawn_whole(browser, pages, file, width, theme):
    opened(browser, pages, file, width, theme)
    assert browser.errors == []
    assert browser.evaluate(OUTSIDE) == []
    names, charts = pages[file][1].results.names(), browser.evaluate(CHARTS.replace("QUERY", "[data-overview]"))
    assert charts
    for chart in charts:
        assert sorted(chart["names"]) == sorted(names)
        assert_drawn(browser, chart, names, theme)
    assert browser.evaluate(COLLISIONS.replace("QUERY", ".overview .name")) == []
    assert browser.evaluate(COLLISIONS.replace("QUERY", ".axis")) == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_answer_stands_above_the_fold(browser, pages, theme):
    opened(browser, pages, LARGEST, 1280, theme)
    low = browser.evaluate("""Math.max(...[".sentence", ...document.querySelectorAll(".overview svg")].map((each) =>
      (each.getBoundingClientRect ? each : document.querySelector(each)).getBoundingClientRect().bottom))""")
    assert low <= 800
    assert browser.evaluate("document.querySelector('.sentence').textContent") == f"{verdict_sentence(pages[LARGEST][1])}."


@pytest.mark.parametrize("width", [1280, 400])
def test_no_cell_of_the_grid_is_hidden(browser, pages, width):
    opened(browser, pages, LARGEST, width, "light")
    verdict = pages[LARGEST][1]
    shown = browser.evaluate("""[...document.querySelectorAll("#heat tbody tr:not(.group)")].map((row) =>
      [...row.querySelectorAll("td")].filter((cell) => { const box = cell.getBoundingClientRect();
        return box.width > 20 && box.height > 8 && box.left >= 0 && box.right <= innerWidth; }).length)""")
    assert shown == [len(verdict.results.names())] * len(verdict.rows)
    named = browser.evaluate("""[...document.querySelectorAll("#heat tbody td")].every((cell) =>
      getComputedStyle(cell, "::before").content !== "none")""")
    assert named == (width == 400)  # as a card, each value has its allocator's name beside it


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_three_differs_from_forty_four(browser, pages, theme):
    opened(browser, pages, LARGEST, 1280, theme)
    colours = browser.evaluate("""[1, 1.2, 3, 10, 44].map((ratio) => {
      const cell = document.createElement("td"); cell.style.background = heatColour(ratio); document.body.append(cell);
      const found = getComputedStyle(cell).backgroundColor; cell.remove(); return found; })""")
    lightness = [float(re.search(r"oklab\(([\d.]+)", colour)[1]) for colour in colours]
    steps = [abs(a - b) for a, b in zip(lightness, lightness[1:], strict=False)]
    assert min(steps) >= 0.025, colours


@pytest.mark.parametrize(("width", "theme"), SETTINGS)
def test_no_load_scrolls_sideways_and_no_chart_is_blank(browser, pages, width, theme):
    opened(browser, pages, FEW_ROWS, width, theme)
    browser.evaluate(LOOK_AT_ALL)
    assert browser.errors == []
    assert browser.evaluate(OUTSIDE) == []
    names, charts = pages[FEW_ROWS][1].results.names(), browser.evaluate(CHARTS.replace("QUERY", ".card figure .holder"))
    assert len(charts) >= 2 * len({row.load["name"] for row in pages[FEW_ROWS][1].rows})
    for chart in charts:
        assert_drawn(browser, chart, names, theme)
    assert browser.evaluate(COLLISIONS.replace("QUERY", ".axis")) == []


@pytest.mark.parametrize("width", [1280, 400])
def test_a_hundred_charts_lie_inside_and_account_for_every_name(browser, pages, width):
    opened(browser, pages, LARGEST, width, "light")
    browser.evaluate(LOOK_AT_ALL)
    assert browser.errors == []
    assert browser.evaluate("document.querySelectorAll('svg.chart').length") > 100
    # Of time over seconds, where one allocator takes many times as long as another, and only there.
    titles = browser.evaluate("""Object.fromEntries([...document.querySelectorAll("svg.chart")].map((chart) =>
      [chart.getAttribute("aria-label"), chart.querySelector(".axis.title").textContent]))""")
    assert titles["memory over time of server ×2"] == "seconds, logarithmic →"
    assert titles["memory over time of redis_idle"] == "seconds →"
    assert browser.evaluate(OUTSIDE) == []
    assert browser.evaluate(COLLISIONS.replace("QUERY", ".axis")) == []
    lacking = browser.evaluate("""[...document.querySelectorAll(".card figure")].filter((figure) => {
      const named = [...figure.querySelectorAll(".name")].map((each) => each.textContent);
      const noted = [...figure.querySelectorAll(".note")].map((each) => each.textContent).join(" ");
      return DATA.allocators.some(({ name }) => !named.includes(name) && !noted.includes(name));
    }).map((figure) => figure.querySelector("figcaption").textContent)""")
    assert lacking == []


def test_the_theme_can_be_chosen(browser, pages):
    opened(browser, pages, FEW_ROWS, 1280, "light")
    paper = "getComputedStyle(document.body).backgroundColor"
    light = browser.evaluate(paper)
    browser.evaluate("document.getElementById('theme').click(); document.getElementById('theme').click()")
    assert browser.evaluate("document.getElementById('theme').textContent") == "theme: dark"
    assert browser.evaluate(paper) != light
