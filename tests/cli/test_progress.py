"""Progress of long work: how far the building of an index is, on a terminal and in a log."""

from __future__ import annotations

import json
import sys

import pytest

import assay
from assay.cli import progress
from assay.messages import say


@pytest.fixture
def clock(monkeypatch):
    """A clock that is set by hand."""
    now = [1000.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    return now


def test_building_an_index_tells_how_many_chunks_are_done(tmp_path):
    rows = [{"doc_id": f"d{i}", "text": f"tea number {i} is hot"} for i in range(3000)]
    (tmp_path / "d.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    (tmp_path / "q.jsonl").write_text('{"query_id": "q", "text": "tea 7"}\n', encoding="utf-8")
    (tmp_path / "j.qrels").write_text("q 0 d7 1\n", encoding="utf-8")
    (tmp_path / "letters.py").write_text(
        "def embed(texts):\n    return [[text.count(sign) + 1.0 for sign in '0123456789'] for text in texts]\n",
        encoding="utf-8",
    )
    path = tmp_path / "e.toml"
    path.write_text(
        '[data]\ndocuments = "d.jsonl"\nqueries = "q.jsonl"\njudgments = "j.qrels"\n'
        '[retrieve]\nmethod = "hybrid"\nembedder = "letters:embed"\n',
        encoding="utf-8",
    )
    heard = []
    assay.run_experiment(path, tell=lambda *told: heard.append(told))
    for method in ("bm25", "vectors"):
        steps = [told[1:] for told in heard if str(told[0]) == f"building the index ({method})"]
        assert steps[0] == (0, 3000)
        assert steps[-1] == (3000, 3000)
        assert any(0 < done < 3000 for done, _ in steps)
        assert [done for done, _ in steps] == sorted(done for done, _ in steps)


def test_a_log_gets_a_line_every_ten_seconds(clock, capsys, monkeypatch):
    monkeypatch.setenv("ASSAY_LANG", "zh")
    with progress.stages() as show:
        for second in range(25):
            clock[0] = 1000.0 + second
            show(say("experiment.indexing", method="vectors"), 1000 * second, 50_000)
    assert capsys.readouterr().err.splitlines() == [
        "正在构建索引（vectors）：10,000/50,000",
        "正在构建索引（vectors）：20,000/50,000",
    ]
    monkeypatch.setenv("ASSAY_LANG", "en")
    with progress.stages() as show:
        clock[0] += 10
        show("hybrid", 32, 1000)
    assert capsys.readouterr().err == "hybrid: 32/1,000\n"


def shown(err: str) -> list[str]:
    return [line.strip() for line in err.split("\r") if line.strip()]


def test_a_terminal_gets_a_bar_that_is_wiped(clock, capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with progress.stages() as show:
        clock[0] += 0.2
        show(say("experiment.indexing", method="vectors"), 25_000, 50_000)
        show("too soon", 1, 2)
        clock[0] += 0.2
        show("hybrid", 1000, 1000)
    err = capsys.readouterr().err
    assert shown(err) == [
        "building the index (vectors) [############............] 25,000/50,000",
        "hybrid [########################] 1,000/1,000",
    ]
    assert err.endswith(" \r")


def test_files_that_are_read_within_a_second_show_nothing(clock, capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    for name in progress.each(["a", "b", "c", "d"], say("progress.reading"), 4):
        clock[0] += 0.6
        assert name
    assert shown(capsys.readouterr().err) == [
        "reading [############............] 2/4",
        "reading [##################......] 3/4",
    ]


def test_calls_of_a_model_show_their_price_and_the_time_left(clock, capsys, monkeypatch):
    from assay.llm.progress import Progress

    monkeypatch.setenv("ASSAY_LANG", "zh")
    counts = {"ok": 5, "cached": 0, "failures": {}, "calls": 5, "prompt_tokens": 9, "completion_tokens": 9}
    now = Progress(done=5, total=20, cost=0.5, possible_cost=0.5, currency="USD", unpriced=0, seconds=25.0, **counts)
    with progress.calls() as show:
        clock[0] += 11
        show("qwen-plus", now)
    assert capsys.readouterr().err == "qwen-plus：5/20  0.2/s  0.5000 USD  剩余 1:15\n"


def test_a_load_tells_how_many_of_its_calls_are_done(clock, capsys):
    from assay.analysis.bench import LoadStep
    from assay.serving.records import LoadPlan

    with progress.loads() as begin:
        show = begin(LoadStep(0, 3, 50, LoadPlan(runs=100, threads=4)))
        clock[0] += 11
        show(25, 11.0)
        timed = begin(LoadStep(1, 3, None, LoadPlan(seconds=60.0)))
        clock[0] += 11
        timed(1, 11.0)
    assert capsys.readouterr().err.splitlines() == [
        "load 1/3, 50 candidates, 4 threads: 25/100 calls",
        "load 2/3: 11/60 s, 1 call",
    ]


@pytest.mark.parametrize("stage", ["reading documents", "读取文档" * 12], ids=["short", "long"])
def test_a_bar_is_no_longer_than_the_terminal_and_what_has_no_number_has_no_bar(clock, capsys, monkeypatch, stage):
    from assay.report.wrapping import width

    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "60")
    with progress.stages() as show:
        clock[0] += 1
        show(stage, 0, 0)
        clock[0] += 1
        show(stage, 5, 10)
    first, second, wiped, _ = capsys.readouterr().err.lstrip("\r").split("\r")
    assert {width(line) for line in (first, second, wiped)} == {59}
    assert "0/0" not in first and "[" not in first
    assert wiped == " " * 59
