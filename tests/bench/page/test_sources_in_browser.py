"""The published tables' plots in the page: in its themes and widths, with every name at its line."""

import json

import pytest
from snug_bench.page import page
from snug_bench.palette import styles_of
from snug_bench.results import read_results
from snug_bench.statistics import Sample
from snug_bench.verdict import judge
from snug_seeds.plot import draw_batches, draw_cells, draw_lists, styles_for
from test_page_in_browser import (COLLISIONS, FEW_ROWS, FRAMES, LARGEST, LOOK_AT_ALL, MARKED, OUTSIDE, SETTINGS, drawn_pixels,
                                  part_of)

ROUNDS, NODES = list(range(10, 301, 5)), [1, 10, 100, 1000, 10000]
VERSIONS = ["old", "new", "snug", "malloc of snug", "malloc of glibc", "malloc of jemalloc", "malloc of mimalloc"]
MAKERS = ["snug::Pool", "snug::Pool cached", "boost::pool", "new on glibc", "new on jemalloc"]
COLUMNS = ["malloc", "off", "on"]


@pytest.fixture(scope="session")
def sources(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sources")
    plots = draw_cells(folder, ROUNDS, {
        "here": {name: [(each * (at + 1), 1) for each in ROUNDS] for at, name in enumerate(VERSIONS)}})
    plots += draw_lists(folder, NODES, {
        name: {n: Sample((3 * at + 9 / n + 2,)) for n in NODES} for at, name in enumerate(MAKERS)})
    plots += draw_batches(folder, {"here": {load: {name: 10 ** at for at, name in enumerate(COLUMNS)}
                                            for load in ("FIX_S+FULL", "RAN_S+RAN")}})
    table = {"title": "a wide one", "columns": [f"a column {at}" for at in range(15)], "rows": [["2.829 ± 0.024"] * 15] * 3}
    documents = [{"name": "S0", "title": "plots", "remarks": ["a remark"], "tables": [table], "plots":
                  [{"title": plot.title, "svg": plot.file.read_text()} for plot in plots], "verdicts":
                  [{"claim": "a claim", "outcome": "holds", "figures": "1.2 [1.1–1.3]"}]}]
    seeds = {"schema": "snug.seeds/1", "host": {}, "quick": False, "documents": documents}
    (folder / "seeds.json").write_text(json.dumps(seeds))
    target = folder / "page.html"
    verdict = judge(read_results(part_of(LARGEST, folder / FEW_ROWS)))
    target.write_text(page(verdict, print, folder / "seeds.json"), encoding="utf-8")
    return target


@pytest.mark.parametrize(("width", "theme"), SETTINGS)
def test_the_plots_are_drawn_in_the_theme(browser, sources, width, theme):
    browser.open(sources, width, theme)
    browser.evaluate(LOOK_AT_ALL), browser.evaluate(FRAMES)
    assert browser.errors == [] and browser.evaluate(OUTSIDE) == []
    clips = browser.evaluate("""[...document.querySelectorAll("svg.plot")].map((plot) => {
      const box = plot.getBoundingClientRect();
      return [box.x + scrollX, box.y + scrollY, box.width, box.height]; })""")
    assert len(clips) == 3
    for clip, names in zip(clips, (VERSIONS, MAKERS, COLUMNS), strict=True):
        assert clip[3] > 200
        png = browser.picture(clip)
        blank = [name for name, style in styles_for(names).items() if drawn_pixels(png, getattr(style, theme)) < MARKED]
        assert blank == []
    assert browser.evaluate(COLLISIONS.replace("svg.chart", "svg.plot").replace("QUERY", "text")) == []


def test_allocators_keep_their_colours():
    styles, own = styles_for([*VERSIONS, "new on jemalloc_tikv", "snug::Pool"]), styles_of(["snug", "glibc", "jemalloc_tikv"])
    assert styles["snug"] == own["snug"] and styles["malloc of glibc"] == own["glibc"]
    assert styles["new on jemalloc_tikv"] == own["jemalloc_tikv"] and len(set(styles.values())) == len(styles)
