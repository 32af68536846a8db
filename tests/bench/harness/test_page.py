"""The page: one file that asks nothing of any network, whatever stands in the results; and the terminal's table."""

import io
import json
import re

import pytest
from rich.console import Console
from snug_bench.markdown import markdown
from snug_bench.page import page
from snug_bench.quantity import interval, quantity, ratio
from snug_bench.statistics import Interval
from snug_bench.terminal import print_verdict
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
def html(verdict, tmp_path):
    (tmp_path / "uplot-1.6.32.tgz").write_text("not the package")
    said = []
    text = page(verdict, tmp_path, said.append)
    assert len(said) == 1 and "not the package" in said[0]
    return text


def test_the_page_needs_nothing_else(html):
    assert not re.search(r"""(?:src|href)\s*=\s*["']?(?!#|load-)[^"'>]*//""", html)
    assert not re.search(r"@import|url\(|fetch\(|XMLHttpRequest|<link|<iframe", html)
    assert "The lines over time and threads are missing" in html


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
    assert re.search(r"redis +1\.00 s", text) and "Lost by snug" in text
    assert "load on broken: " + NASTY[:20] in text


def test_quantities_have_three_digits_that_matter():
    shown = [quantity(value, "ns") for value in (0, 0.0512, 1.234, 9.996, 12.34, 1234.6, 2.5e9)]
    assert shown == ["0 ns", "0.051 ns", "1.23 ns", "10.0 ns", "12.3 ns", "1.23 µs", "2.50 s"]
    assert (quantity(3 << 20, "B"), quantity(1234567, ""), quantity(None, "B")) == ("3 MiB", "1,234,567", "–")
    assert interval(Interval(1e6, 2.5e6, 0.97), "ns") == "[1–2.50]"
    assert interval(Interval(1e6, 2.5e6, None), "ns") == "(1–2.50)"
    assert (ratio(1.005), ratio(1234), ratio(None)) == ("1.00×", ">99×", "–")
