"""The page: one file that asks nothing of any network, whatever stands in the results; and the terminal's table."""

import io
import json
import re
from dataclasses import replace

import pytest
from rich.console import Console
from snug_bench import cli
from snug_bench.markdown import markdown
from snug_bench.page import page
from snug_bench.picture import inline_svg
from snug_bench.problem import Problem
from snug_bench.processor_time import ProcessorTime
from snug_bench.quantity import count_of, interval, quantity, ratio
from snug_bench.statistics import Sample
from snug_bench.terminal import closing_sentence, print_verdict
from snug_bench.verdict import judge
from synthetic import load, results, run, series

NASTY = "</script><script>alert(1)</script> & <b>\u2028"


@pytest.fixture
def verdict():
    broken = [run("broken", number, 1, 1, objection=NASTY) for number in range(3)]
    runs = [*series("snug", 10, 20 << 20), *series("peer", 12, 10 << 20), *broken]
    scaled = [each for threads in (2, 8) for name in ("snug", "peer")
              for each in series(name, 10 * threads, 20 << 20, on="server", threads=threads)]
    real = [*series("snug", 1e9, 50 << 20, on="redis", figures={}), *series("peer", 2e9, 40 << 20, on="redis", figures={})]
    return judge(results(runs + scaled + real, [load("load"), load("server"), load("redis", "real", (), True)]))


@pytest.fixture
def html(verdict):
    said = []
    text = page(verdict, said.append)
    assert said == []
    return text


def test_the_page_needs_nothing_else(html):
    assert not re.search(r"""(?:src|href)\s*=\s*["']?(?!#|load-)[^"'>]*//""", html)
    assert not re.search(r"@import|url\((?!#)|fetch\(|XMLHttpRequest|<link|<iframe", html)


def test_the_page_says_how_much_was_measured(html):
    text = " ".join(html.split())
    assert "3 allocators × 4 rows (a load with a number of threads), 2 to 6 repetitions of each cell (6 were planned)" in text
    assert "95% intervals for the medians; where there are fewer than six" in text


def test_the_verdict_stands_before_the_grid(html, verdict):
    sentence = re.search(r'<p class="sentence">(.*?)</p>', html)[1]
    assert sentence.startswith("snug&#39;s time is ") and " unclear in " in sentence
    assert html.index(sentence) < html.index('data-overview="real"') < html.index('data-overview="synthetic"') < html.index('id="grid"')
    alone = page(judge(results(series("snug", 10, 20))), print)
    assert "there is nobody to compare snug with" in alone and "Nothing to compare with" in alone


def test_no_value_of_the_results_ends_the_script(html):
    assert "alert(1)</script>" not in html
    data = json.loads(re.search(r'<script id="data"[^>]*>(.*?)</script>', html, re.S)[1])
    assert data["rows"][0]["cells"]["broken"]["failures"][0].startswith(NASTY)


def test_every_cell_is_in_the_page(html, verdict):
    data = json.loads(re.search(r'<script id="data"[^>]*>(.*?)</script>', html, re.S)[1])
    assert [row["name"] for row in data["rows"]] == ["load", "server ×2", "server ×8", "redis"]
    assert set(data["rows"][0]["cells"]) == {"snug", "peer", "broken"}
    assert "settled" in data["rows"][3]["cells"]["snug"]["samples"]
    assert data["rows"][0]["cells"]["snug"]["samples"]["time"][0] == pytest.approx(10, rel=0.02)


def test_markdown_tables_have_as_many_cells_in_each_line(verdict):
    tables = re.findall(r"(?:^\|.*\n?)+", markdown(verdict), re.M)
    assert len(tables) > 5
    for table in tables:
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}) == 1


def test_the_terminal_shows_the_verdict_and_the_failure(verdict):
    console = Console(file=io.StringIO(), width=100)
    print_verdict(console, verdict)
    text = console.file.getvalue()
    assert re.search(r"redis +1\.00 s", text) and "Where snug is worse" in text
    assert "load on broken: " + NASTY[:20] in text


def test_the_last_sentence_says_what_failed_and_where_snug_stands(verdict):
    assert closing_sentence(verdict) == ("8 cells measured, 1 failed (load on broken); snug's time is better in 2 of 4 rows, "
                                         "equal in 2, worse in 0, unclear in 0; its memory is better in 0 of 4 rows, equal in 2, "
                                         "worse in 2, unclear in 0")


def test_the_last_sentence_of_other_results():
    good = [*series("snug", 10, 20 << 20), *series("peer", 12, 30 << 20)]
    assert closing_sentence(judge(results(good))) == ("2 cells measured, nothing failed; snug's time is better in 1 of 1 "
                                                      "row, equal in 0, worse in 0, unclear in 0; its memory is better in 1 of 1 row, "
                                                      "equal in 0, worse in 0, unclear in 0")
    broken = [run(f"broken{number}", 1, 1, 1, objection="hung") for number in range(5)]
    partly = results([*good, run("peer", 7, 1, 1, objection="hung"), *broken])
    partly.unavailable = [{"name": "mine", "reason": "not here"}]
    said = closing_sentence(judge(partly))
    assert said.startswith("2 cells measured, 5 failed (load on broken0, load on broken1, load on broken2, and 2 more), 1 with "
                           "a run that failed, not to be had: mine; snug's time is ")
    assert closing_sentence(judge(results(series("snug", 10, 20)))) == \
        "1 cell measured, nothing failed; there is nobody to compare snug with"
    assert closing_sentence(judge(results(series("snug", 10, 20)[:1] + [run("peer", 0, 1, 1)]))).startswith("1 cell measured")


def test_quantities_have_three_digits_that_matter():
    shown = [quantity(value, "ns") for value in (0, 0.0512, 1.234, 9.996, 12.34, 1234.6, 2.5e9)]
    assert shown == ["0 ns", "0.051 ns", "1.23 ns", "10.0 ns", "12.3 ns", "1.23 µs", "2.50 s"]
    assert (quantity(3 << 20, "B"), quantity(1234567, ""), quantity(None, "B")) == ("3 MiB", "1,234,567", "–")
    assert interval(Sample((1e6, 2e6, 2e6, 2e6, 2e6, 2.5e6)), "ns") == "[1–2.50]"
    assert interval(Sample((1e6, 2e6, 2.5e6)), "ns") == "(1–2.50)"
    # The unit is said once, with the median: 933 ms (855–1,010), not (0.855–1.01).
    assert interval(Sample((855e6, 933e6, 1010e6)), "ns") == "(855–1,010)"
    assert (count_of(1, "row"), count_of(0, "row"), count_of(1234, "run")) == ("1 row", "0 rows", "1,234 runs")
    assert (ratio(1.005), ratio(1234), ratio(None)) == ("1.00×", ">99×", "–")


SVG = """<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"
 width="9pt" viewBox="0 0 900 9" onload="alert(2)"><style>*{display:none}</style><script>alert(3)</script>
<defs><clipPath id="c"><rect width="9" height="9"/></clipPath><path id="p" d="M0 0h9"/></defs>
<g clip-path="url(#c)" style="fill: #ffffff; stroke: #000000"><use xlink:href="#p"/><use xlink:href="http://x/y#p"/></g>
<path fill="url(http://x/z)" stroke="#cccccc" d="M1 1"/><path fill="#1856e1" d="M2 2"/><foreignObject/><a href="javascript:1"/><text>a &lt; b</text></svg>"""


def seeds_file(folder, **changes):
    document = {"name": "S0", "title": NASTY, "remarks": [NASTY], "plots": [{"title": NASTY, "svg": SVG}],
                "verdicts": [{"claim": NASTY, "outcome": outcome, "figures": "1"} for outcome in
                             ("holds", "does not hold", "unclear")],
                "tables": [{"title": NASTY, "columns": ["N", "b"], "rows": [["1", NASTY]] * rows} for rows in (2, 40)]}
    content = {"schema": "snug.seeds/1", "host": {"commit": "c0ffee", "cpu": NASTY}, "quick": True,
               "documents": [document | changes]}
    file = folder / "seeds.json"
    file.write_text(json.dumps(content))
    return file


def page_with(verdict, seeds):
    """The page, and what was said."""
    said = []
    return page(verdict, said.append, seeds), said


def test_the_source_documents_join_the_page(verdict, tmp_path):
    html, said = page_with(verdict, seeds_file(tmp_path))
    assert said == []
    test_the_page_needs_nothing_else(html)
    section = re.search(r'<section id="sources">.*?</section>', html, re.S)[0]
    assert 'href="#sources"' in html and "c0ffee" in section and "--quick" in section
    assert re.findall(r'<li><span class="outcome (\w+)">', section) == ["holds", "fails", "open"]
    assert section.count("<script") == section.count("<b>") == section.count("alert(2)") == section.count("alert(3)") == 0
    assert re.findall(r"<details( open)?>", section) == [" open", ""]  # the long table is folded
    assert section.count("<tr>") == 2 + 2 + 40


def test_without_source_documents_the_page_says_nothing_of_them(verdict, tmp_path):
    for seeds in (None, tmp_path / "seeds.json"):
        html, said = page_with(verdict, seeds)
        assert said == [] and "Published tables" not in html and "sources" not in re.sub(r"<style.*?</style>", "", html, flags=re.S)


@pytest.mark.parametrize(("text", "why"), [
    ("", "Expecting value"), ("[]", "the file: no dict"), ("[" * 100000, "recursion"), ("{}", "of schema None"),
    ('{"schema": "snug.seeds/1"}', "no 'host'"), ("\0", "Expecting value"),
    ({"verdicts": [{"claim": "c", "figures": "", "outcome": "maybe"}]}, "an outcome is 'maybe'"),
    ({"tables": [{"title": "T", "columns": ["a"], "rows": [["1", "2"]]}]}, "the table 'T' has a row of 2 cells, and 1 columns"),
    ({"tables": [{"title": "T", "columns": ["a"], "rows": [[1]]}]}, "row: no str"), ({"remarks": "r"}, "remarks: no list"),
    ({"verdicts": ["v"]}, "indices"), ({"plots": [{"title": "p", "svg": "<svg"}]}, "S0-0: no SVG: "),
    ({"plots": [{"title": "p", "svg": "<svg/>"}]}, "S0-0: no SVG with a viewBox"),
    ({"plots": [{"title": "p", "svg": '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9"/>'}]}, "no SVG with a viewBox"),
    ({"name": None}, "name: no str")])
def test_damaged_source_documents_are_one_line_and_a_page_without(verdict, tmp_path, text, why):
    if isinstance(text, dict):
        file = seeds_file(tmp_path, **text)
    else:
        (file := tmp_path / "seeds.json").write_text(text)
    html, said = page_with(verdict, file)
    assert len(said) == 1 and said[0].startswith(f"the page has no published tables: {file}: damaged: ")
    assert why in said[0] and "\n" not in said[0]
    assert 'id="sources"' not in html and 'id="grid"' in html


def test_unreadable_source_documents_are_one_line(verdict, tmp_path):
    (tmp_path / "seeds.json").mkdir()
    _, said = page_with(verdict, tmp_path / "seeds.json")
    assert len(said) == 1 and "cannot read" in said[0]


def test_a_picture_keeps_its_shapes_and_words_only():
    svg = inline_svg(SVG, "S0-1", "a <b>")
    assert re.findall(r"<(\w+)", svg) == ["svg", "defs", "clipPath", "rect", "path", "g", "use", "use", "path", "path", "text"]
    assert 'id="S0-1-c"' in svg and 'clip-path="url(#S0-1-c)"' in svg and 'href="#S0-1-p"' in svg
    assert svg.count("href=") == 1 and "http" not in svg and "onload" not in svg and "9pt" not in svg
    assert "fill: var(--panel); stroke: currentColor" in svg and 'stroke="var(--line)"' in svg
    assert 'fill="light-dark(#1856e1, #3e79f8)"' in svg  # of the palette
    assert 'class="plot"' in svg and 'aria-label="a &lt;b&gt;"' in svg and "a &lt; b" in svg


def test_a_folder_without_source_documents_is_refused_where_it_is_named(tmp_path):
    with pytest.raises(Problem, match=f"--seeds: no {tmp_path}/seeds.json"):
        cli.report(results=tmp_path / "r.jsonl", to_markdown=None, to_page=None, seeds=tmp_path)


def test_in_noise_the_page_judges_no_time():
    """Whatever its figures are: no star and no frontier in a row; and where others disturbed, no leader of time. Memory is judged
    as ever."""
    noisy = judge(results([*series("snug", 10, 10 << 20, noise=0.3), *series("peer", 12, 20 << 20, noise=0.3)]))
    assert noisy.noise.too_noisy
    html = page(noisy, print)
    found = json.loads(re.search(r'<script id="data"[^>]*>(.*?)</script>', html, re.S)[1])
    for cell in found["rows"][0]["cells"].values():
        assert cell["standing"].keys() == {"memory"} and not cell["frontier"]
    assert "<b>Least time:</b> snug" in html
    busy = [replace(each, processors=ProcessorTime(2, 2, 1)) for each in noisy.results.runs]
    html_of_busy = page(judge(results(busy)), print)
    assert "<b>Least time:</b> too noisy to judge" in html_of_busy and "<b>Least memory:</b> snug" in html_of_busy
    assert "on the dashed line" not in html_of_busy
    assert re.search(r'class="sentence">Too noisy to judge time', html)
