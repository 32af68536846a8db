"""Noise: what others took is recorded with each run, and a verdict of a machine that was not quiet says so."""

import io
import json
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console
from snug_bench import processor_time
from snug_bench.markdown import markdown
from snug_bench.measurement import Measurement
from snug_bench.noise import noise_of, others_share
from snug_bench.page import data
from snug_bench.processor_time import ProcessorTime, total_and_taken
from snug_bench.ratio import UNCLEAR
from snug_bench.terminal import closing_sentence, print_verdict
from snug_bench.verdict import judge
from synthetic import results, run, series

CASES = json.loads((Path(__file__).resolve().parents[2] / "verdict_cases.json").read_text())
MIB = 2**20


@pytest.mark.parametrize("case", CASES["noise"], ids=lambda case: case["name"])
def test_when_it_is_too_noisy_and_what_is_said(case):
    noise = noise_of(case["others"], case["half_widths"])
    assert (noise.too_noisy, noise.sentence) == (case["too_noisy"], case["says"])


def test_the_line_of_the_machine_is_read():
    assert total_and_taken("cpu  100 20 30 400 50 6 7 8 9 10\n", 100) == pytest.approx((6.21, 1.71))  # of guests: in user and nice
    for line in ("", "intr 1 2 3", "cpu 1 2 3", "cpu a b c d e f g h"):
        assert total_and_taken(line, 100) == (0, 0)


def test_a_machine_that_does_not_tell_is_not_known(monkeypatch, tmp_path):
    monkeypatch.setattr(processor_time, "STAT", tmp_path / "none")
    taken = processor_time.processor_time()
    assert (taken.total, taken.taken) == (0, 0) and taken.own > 0
    assert others_share([taken.since(taken), None]) is None


def test_what_others_took_is_what_all_took_less_our_own():
    quiet, busy = ProcessorTime(4, 2.0, 2.1), ProcessorTime(4, 3.5, 1.9)
    assert others_share([quiet]) == 0  # ticks are coarse
    assert others_share([quiet, None, busy]) == pytest.approx(0.1875)  # together, not one by one
    assert others_share([ProcessorTime(0.5, 0.5, 0)]) is None  # too short to tell
    assert ProcessorTime(10, 5, 2).since(ProcessorTime(7, 4, 1.5)) == ProcessorTime(3, 1, 0.5)


def judged(share, noise=0.001):
    """Two allocators, snug faster and smaller, while others took this part of the machine."""
    taken = None if share is None else ProcessorTime(2, 1 + 2 * share, 1)
    runs = [*series("snug", 10, 20 * MIB, noise=noise), *series("peer", 20, 30 * MIB, noise=noise)]
    return judge(results([replace(each, processors=taken) for each in runs]))


@pytest.mark.parametrize(("share", "noise", "said"), [
    (0.05, 0.001, "snug's time is better in 1 of 1 row, equal in 0, worse in 0, unclear in 0; its memory is better in 1 of 1 row"),
    (None, 0.001, "snug's time is better in 1 of 1 row, "),
    (0.25, 0.001, "Too noisy to judge time: other programs took 25% of the processors; snug's memory is better in 1 of 1 row, equal"),
    (0.05, 0.3, "Too noisy to judge time: ratios spread by ±"),
    (None, 0.3, "Too noisy to judge time: ratios spread by ±"),
    (0.25, 0.3, "Too noisy to judge time: other programs took 25% of the processors, ratios spread by ±")])
def test_the_verdict_says_whether_time_can_be_judged(share, noise, said):
    sentence = closing_sentence(judged(share, noise))
    assert said in sentence and ("s time is" in sentence) == ("Too noisy" not in said)


def test_warm_ups_and_runs_that_do_not_count_are_no_noise():
    loud = ProcessorTime(10, 10, 0)
    runs = [*series("snug", 10, 20), *series("peer", 20, 30)]
    runs = [replace(each, processors=ProcessorTime(2, 1, 1)) for each in runs]
    runs += [replace(run("snug", 0, 10, 20), processors=loud), replace(run("snug", 7, 10, 20, objection="hung"), processors=loud)]
    assert judge(results(runs)).noise.others_share == 0


def test_noise_hides_no_loss():
    slow = [*series("snug", 30, 40 * MIB, noise=0.001), *series("peer", 20, 30 * MIB, noise=0.001)]
    loud = judge(results([replace(each, processors=ProcessorTime(2, 2, 1)) for each in slow]))
    assert [each.metric.key for each in judge(results(slow)).losses("snug")] == ["figure:op", "time", "memory"]
    assert [each.metric.key for each in loud.losses("snug")] == ["figure:op", "time", "memory"]
    text = markdown(loud)
    assert "**Row by row: Too noisy to judge time: other programs took 50% of the processors; snug's memory is" in text
    assert "| – | – | 0 / 0 / 1 / 0 |" in text and "◆" not in text  # no places on the frontier, no words of time
    console = Console(file=io.StringIO(), width=100)
    print_verdict(console, loud)
    assert "Where snug is worse, of time as far as it can be told, the worst first" in console.file.getvalue()
    rows = [line.split() for line in console.file.getvalue().splitlines() if line.startswith("load  ") and "verdict" not in line]
    assert [UNCLEAR in row and "worse" not in row for row in rows] == [True, False]  # of time, of memory


def test_the_page_has_the_figures_of_noise():
    noise = data(judged(0.25))["noise"]
    assert noise["others_share"] == pytest.approx(0.25) and noise["too_noisy"] and "25%" in noise["reasons"]
    assert 0 < noise["half_width"] < 0.01


def test_a_run_keeps_what_the_processors_did_and_an_older_one_is_read():
    loud = replace(run("snug", 1, 10, 20), processors=ProcessorTime(2, 1.5, 1))
    assert Measurement.from_json(json.loads(json.dumps(loud.as_json()))) == loud
    older = loud.as_json()
    del older["processors"]
    assert Measurement.from_json(older).processors is None
    with pytest.raises(KeyError):
        Measurement.from_json(loud.as_json() | {"processors": {"total": 1}})
