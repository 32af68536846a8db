"""Replays of traces: which allocator takes more memory, by how much, and the page that says so."""

import os
import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from snug_bench import cli
from snug_bench.contender import SNUG, Contender
from snug_bench.problem import Problem
from snug_bench.trace_page import sentence, trace_page
from snug_bench.trace_replay import PARTS, TraceReplay, read, replay, traces_in

NASTY = "</script><script>alert(1)</script>"
HOST = {"date": "2026-11-25T00:00:00Z", "cpu": "a processor", "cpus": 2}
ROOT = Path(__file__).resolve().parents[3]
BUILD = Path(os.environ["SNUG_BUILD"])
PERL = ROOT / "tests" / "golden" / "traces" / "perl.trace"
SUBJECT = Contender(SNUG, "snug", SNUG, BUILD / "lib" / "libsnug.so")
# A tool that writes down what it was asked, and says of what it was asked what the document says.
STUB = """#!/usr/bin/env python3
import json, os, sys
asked = sys.argv[sys.argv.index("--allocators") + 1]
print(asked, os.environ.get("SMALL"), file=open("{log}", "a"))
document = {document!r}
document["allocators"] = [each for each in document["allocators"] if each["name"] in ("snug", *asked.split(","))]
print(json.dumps(document))
"""


def checkpoint(rss, live=100, **snug):
    return {"rss_bytes": rss, "live_bytes": live, "events": 10} | ({"snug": snug} if snug else {})


def document(**checkpoints):
    """As the tool writes it: of an allocator that it refused there is no run."""
    return {"allocators": [{"name": name, "runs": [{"objection": "" if each else NASTY}], "failure": ""} if each is not None else
                           {"name": name, "runs": [], "failure": "refused"} for name, each in checkpoints.items()],
            "replay": {"allocators": {name: {"checkpoints": each or []} for name, each in checkpoints.items()}}}


SNUG_AT_400 = checkpoint(400, bytes_in_use=130, bytes_large=50, bytes_in_slabs=150, bytes_cached=25, bytes_retained=60,
                         bytes_metadata=15)


def made(name="perl", **peaks):
    return TraceReplay(name, 10, peaks, {"requested": 5, "rounding": 1, "caches": 3}, {})


def test_parts_are_those_of_the_largest_checkpoint_and_add_up():
    found = read("perl", [(document(snug=[checkpoint(300), SNUG_AT_400, checkpoint(200)], glibc=[checkpoint(250), checkpoint(320)]), {})])
    assert found.peaks == {"snug": 400, "glibc": 320}
    assert found.parts == {"requested": 100, "rounding": 30, "free in slabs": 45, "caches": 25, "kept": 60, "records": 15, "rest": 125}
    assert sum(found.parts.values()) == 400
    assert list(found.parts) == list(PARTS)
    assert (found.leanest, found.ratio, found.excess, found.largest_part) == ("glibc", 1.25, 80, "rest")


def test_who_failed_is_told_why():
    found = read("perl", [(document(snug=[SNUG_AT_400], **{"/lib/libpeer.so": []}, other=None), {"/lib/libpeer.so": "peer"})])
    assert found.failures == {"peer": NASTY, "other": "refused"}
    page = trace_page([found], HOST, {"snug": "1", "peer": "2"})
    assert "perl on peer:" in page and "<script>alert" not in page
    with pytest.raises(Problem, match="no replay counts"):
        read("perl", [(document(snug=[], glibc=[]), {})])
    failed = read("perl", [(document(snug=[], glibc=[checkpoint(1)]), {})])
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


def test_one_that_the_tool_refuses_is_told_why(tmp_path):
    empty = tmp_path / "libempty.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-x", "c", "-o", empty, "/dev/null"], check=True)
    found = replay(BUILD / "bin" / "snug", PERL, [SUBJECT, Contender("empty", "no malloc", "", empty)])
    assert set(found.peaks) == {"snug"}
    assert found.failures["empty"].startswith(f"not run on {empty}: preloaded, it leaves malloc to ")


def test_a_variant_is_replayed_in_its_own_environment(tmp_path):
    tool, log = tmp_path / "snug", tmp_path / "log"
    tool.write_text(STUB.format(log=log, document=document(snug=[SNUG_AT_400], **{"/lib/a.so": [checkpoint(1)],
                                                                                "/lib/b.so": [checkpoint(2)], "c": [checkpoint(3)]})))
    tool.chmod(0o755)
    line = [SUBJECT, *(Contender(name, name, "", Path(library), environment=environment, named=named)
                       for name, library, environment, named in (
                           ("a", "/lib/a.so", {}, ""), ("a-small", "/lib/a.so", {"SMALL": "1"}, ""),
                           ("b", "/lib/b.so", {}, ""), ("c", "/lib/ld-c.so", {}, "c")))]
    found = replay(tool, Path("perl.trace"), line)
    assert log.read_text().splitlines() == ["/lib/a.so,/lib/b.so,c None", "/lib/a.so 1"]
    assert found.peaks == {"snug": 400, "a": 1, "b": 2, "c": 3, "a-small": 1}


def test_without_snug_there_is_nothing_to_replay_on(monkeypatch, capsys):
    monkeypatch.setattr(cli.Line, "add", lambda line, name: line.contenders.append(replace(SUBJECT, refusal="it is not there")))
    monkeypatch.setattr("sys.argv", ["snug-bench", "traces", str(PERL), "-a", "snug", "--build", str(BUILD)])
    with pytest.raises(SystemExit) as ending:
        cli.main()
    assert ending.value.code == 1 and "without snug" in capsys.readouterr().err


def test_a_real_replay(tmp_path):
    line = [SUBJECT, Contender("another", "snug itself, as a peer", "", SUBJECT.library.resolve())]
    found = replay(BUILD / "bin" / "snug", PERL, line)
    assert set(found.peaks) == {"snug", "another"} and found.events > 10_000
    assert sum(found.parts.values()) == found.peaks["snug"]
    assert min(size for part, size in found.parts.items() if part != "rest") >= 0
    (tmp_path / "text.trace").write_text("no trace")
    with pytest.raises(Problem, match="text.trace"):
        replay(BUILD / "bin" / "snug", tmp_path / "text.trace", line)
