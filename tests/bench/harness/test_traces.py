"""Replays of traces: which allocator takes more memory, by how much, and the page that says so."""

import os
import re
from pathlib import Path

import pytest
from snug_bench.contender import SNUG, Contender
from snug_bench.problem import Problem
from snug_bench.trace_page import sentence, trace_page
from snug_bench.trace_replay import PARTS, TraceReplay, read, replay, traces_in

NASTY = "</script><script>alert(1)</script>"
HOST = {"date": "2026-11-25T00:00:00Z", "cpu": "a processor", "cpus": 2}
ROOT = Path(__file__).resolve().parents[3]


def checkpoint(rss, live=100, **snug):
    return {"rss_bytes": rss, "live_bytes": live, "events": 10} | ({"snug": snug} if snug else {})


def document(**checkpoints):
    return {"allocators": [{"name": name, "runs": [{"objection": "" if each else NASTY}]} for name, each in checkpoints.items()],
            "replay": {"allocators": {name: {"checkpoints": each} for name, each in checkpoints.items()}}}


SNUG_AT_400 = checkpoint(400, bytes_in_use=130, bytes_large=50, bytes_in_slabs=150, bytes_cached=25, bytes_retained=60,
                         bytes_metadata=15)


def made(name="perl", **peaks):
    return TraceReplay(name, 10, peaks, {"requested": 5, "rounding": 1, "caches": 3}, {})


def test_parts_are_those_of_the_largest_checkpoint_and_add_up():
    found = read("perl", document(snug=[checkpoint(300), SNUG_AT_400, checkpoint(200)], glibc=[checkpoint(250), checkpoint(320)]), {})
    assert found.peaks == {"snug": 400, "glibc": 320}
    assert found.parts == {"requested": 100, "rounding": 30, "free in slabs": 45, "caches": 25, "kept": 60, "records": 15, "rest": 125}
    assert sum(found.parts.values()) == 400
    assert list(found.parts) == list(PARTS)
    assert (found.leanest, found.ratio, found.excess, found.largest_part) == ("glibc", 1.25, 80, "rest")


def test_who_failed_is_told_why():
    found = read("perl", document(snug=[SNUG_AT_400], **{"/lib/libpeer.so": []}), {"/lib/libpeer.so": "peer"})
    assert found.failures == {"peer": NASTY}
    page = trace_page([found], HOST, {"snug": "1", "peer": "2"})
    assert "perl on peer:" in page and "<script>alert" not in page
    with pytest.raises(Problem, match="no replay counts"):
        read("perl", document(snug=[], glibc=[]), {})
    failed = read("perl", document(snug=[], glibc=[checkpoint(1)]), {})
    assert failed.ratio is None
    assert "snug failed: " in trace_page([failed], HOST, {"snug": "1", "glibc": "2"})


def test_the_sentence_says_where_the_work_starts():
    assert sentence([made(snug=10, peer=12)]) == "snug is the leanest on the trace"
    text = sentence([made(snug=10, peer=12), made("node", snug=15, peer=10), made("git", snug=11, peer=10)])
    assert text == ("snug is larger than the leanest on 2 of 3 traces, most on node: 1.50× what peer takes; its largest part beyond "
                    "what was requested is caches, 3 B")
    assert sentence([]) == "snug was replayed on no trace"


def test_the_page_needs_nothing_else_and_has_the_worst_first():
    page = trace_page([made(NASTY, snug=10, peer=12), made("node", snug=15 << 20, peer=10 << 20)], HOST, {"snug": "1", "peer": "2"})
    assert not re.search(r"""(?:src|href)\s*=\s*["']?(?!#)[^"'>]*//""", page) and "<script>" not in page
    assert page.index(">node<") < page.index("&lt;/script&gt;")
    text = " ".join(re.sub("<[^>]*>", " ", page).split())
    assert "node 10 10 MiB 1.50× 1.00×" in text
    assert "15 MiB, 1.50× the leanest's (peer); 5 MiB more." in text
    assert "10 B: nobody takes less." in text


def test_the_small_traces_are_there_where_none_was_recorded(tmp_path):
    (tmp_path / "tests").symlink_to(ROOT / "tests")
    assert len(traces_in(tmp_path)) > 5
    (tmp_path / "build" / "traces").mkdir(parents=True)
    (tmp_path / "build" / "traces" / "mine.trace").touch()
    assert [each.name for each in traces_in(tmp_path)] == ["mine.trace"]


def test_a_real_replay(tmp_path):
    build = Path(os.environ["SNUG_BUILD"])
    line = [Contender(SNUG, "snug", SNUG, build / "lib" / "libsnug.so"),
            Contender("another", "snug itself, as a peer", "", (build / "lib" / "libsnug.so").resolve())]
    found = replay(build / "bin" / "snug", ROOT / "tests" / "golden" / "traces" / "perl.trace", line)
    assert set(found.peaks) == {"snug", "another"} and found.events > 10_000
    assert sum(found.parts.values()) == found.peaks["snug"]
    assert min(size for part, size in found.parts.items() if part != "rest") >= 0
    (tmp_path / "text.trace").write_text("no trace")
    with pytest.raises(Problem, match="text.trace"):
        replay(build / "bin" / "snug", tmp_path / "text.trace", line)
