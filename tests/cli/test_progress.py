"""Progress of long work: how far the building of an index is, on a terminal and in a log."""

from __future__ import annotations

import json
import sys

import pytest

import assay
from assay.cli.run import bar
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


def test_a_log_gets_a_line_every_ten_seconds(clock, capsys):
    tell = bar("zh")
    for second in range(25):
        clock[0] = 1000.0 + second
        tell(say("experiment.indexing", method="vectors"), 1000 * second, 50_000)
    assert capsys.readouterr().err.splitlines() == [
        "正在构建索引（vectors）：10,000/50,000",
        "正在构建索引（vectors）：20,000/50,000",
    ]
    tell = bar()
    clock[0] += 10
    tell("hybrid", 32, 1000)
    assert capsys.readouterr().err == "hybrid: 32/1,000\n"


def test_a_terminal_gets_a_bar(clock, capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    tell = bar()
    tell(say("experiment.indexing", method="vectors"), 25_000, 50_000)
    tell("too soon", 1, 2)
    clock[0] += 0.2
    tell("hybrid", 1000, 1000)
    said = [line.strip() for line in capsys.readouterr().err.split("\r") if line.strip()]
    assert said == [
        "building the index (vectors) [############............] 25,000/50,000",
        "hybrid [########################] 1,000/1,000",
    ]
