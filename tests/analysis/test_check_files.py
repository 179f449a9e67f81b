"""Any file can be checked: what it is, and what is doubtful in it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import assay
import workplace
from assay.analysis.check_files import identify


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("files")
    workplace.fill(place)
    return place


KINDS = {
    "judgments": ["qrels.txt", "judged.qrels", "beir-folder"],
    "run": ["bm25.run", "out/v2.run.gz"],
    "records": ["records.jsonl"],
    "samples": ["samples.jsonl", "samples.csv", "both.jsonl", "begin.tsv"],
    "queries": ["queries.jsonl", "queries.csv", "q.tsv"],
    "documents": ["docs.jsonl", "corpus.tsv"],
    "weights": ["weights.csv"],
    "labels": ["variants.csv"],
    "pairs": ["pairs.jsonl"],
    "verdicts": ["details.jsonl"],
    "result": ["result.json", "comparison.json", "bench.json", "cost.json", "answers.json"],
    "experiment": ["experiment.toml"],
    "gate rules": ["gate.toml"],
    "costs": ["costs.toml"],
    "prices": ["prices.toml"],
    "rubric": ["tone.md"],
    "events": ["ubi.ndjson", "events.ndjson", "queries.ndjson", "clicks.csv"],
}


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind, names in KINDS.items() for name in names])
def test_a_file_is_recognised_and_read(kind, name, folder):
    assert identify(str(folder / name)) == kind
    found = assay.check_files([folder / name])
    assert [one.kind for one in found.files] == [kind]
    assert found.files[0].holds
    assert not any(one.error for one in found.findings)


def test_a_protocol_is_recognised(tmp_path):
    (tmp_path / "mine.toml").write_text('name = "mine"\ntitle = "Mine"\nprimary = "a"\n[measures]\na = "ndcg@10"\n')
    assert identify(str(tmp_path / "mine.toml")) == "protocol"


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("s.jsonl", '{"id": 1, "question": "q", "answer": ""}\n{"id": 2, "question": "q", "answer": "a", "contexts": ["c"]}\n',
         ["no answer", "no context"]),
        ("q.jsonl", '{"query_id": "a", "text": ""}\n{"query_id": "b", "text": "tea"}\n', ["no text"]),
        ("d.jsonl", '{"doc_id": "a", "text": ""}\n{"doc_id": "b", "text": "tea"}\n', ["no text"]),
        ("w.csv", "query_id,weight\na,0\nb,1\n", ["weight 0"]),
        ("r.run", "q1 Q0 a 1 1 t\nq1 Q0 a 2 2 t\n", ["duplicate document", "unsorted run"]),
        ("e.toml", '[data]\ndocuments = "gone"\nqueries = "gone"\njudgments = "gone"\n[retrieve]\nmethod = "bm25"\n',
         ["missing file"]),
        ("g.toml", '[[rule]]\nmeasure = "map"\nnot_worse_than = "gone.json"\n', ["missing file"]),
        ("g.toml", '[[rule]]\nmeasure = "map"\n', ["cannot be read"]),
        ("c.toml", "[method.x]\nnonsense = 1\n", ["cannot be read"]),
        ("b.json", '{"schema": 99}', ["cannot be read"]),
    ],
)  # fmt: skip
def test_what_is_doubtful_in_a_file_is_found(name, text, said, tmp_path):
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert [str(one.kind) for one in assay.check_files([tmp_path / name]).findings][: len(said)] == said


def test_an_input_of_a_result_that_changed_is_found(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("qrels.txt").write_text("q1 0 a 1\nq2 0 a 1\n")
    Path("a.run").write_text("q1 Q0 a 1 1 t\nq2 Q0 a 1 1 t\n")
    assay.evaluate("qrels.txt", "a.run", ["map"], name="a").save("result.json")
    assert assay.check_files(["result.json"]).clean
    Path("qrels.txt").write_text("q1 0 a 0\nq2 0 a 1\n")
    (found,) = assay.check_files(["result.json"]).findings
    assert (found.kind, found.examples) == ("changed input", ("qrels.txt",))


def test_judgments_and_runs_are_checked_together(folder, tmp_path):
    shutil.copy(folder / "qrels.txt", tmp_path)
    (tmp_path / "short.run").write_text("q01 Q0 tea-121 1 1 t\n")
    found = assay.check_files([tmp_path / "qrels.txt", tmp_path / "short.run"])
    assert "missing query" in {str(one.kind) for one in found.findings}
    assert [one.kind for one in found.files] == ["judgments", "run"]


def test_the_command_says_what_a_file_is_and_exits_with_1_where_something_is_found(call, tmp_path):
    (tmp_path / "q.jsonl").write_text('{"query_id": "a", "text": "tea"}\n')
    assert call("check", "q.jsonl")[:2] == (0, "q.jsonl: queries, 1 query\nnothing found\n")
    (tmp_path / "d.jsonl").write_text('{"doc_id": "a", "text": ""}\n{"doc_id": "b", "text": "tea"}\n')
    code, out, _ = call("check", "d.jsonl", "--lang", "zh")
    assert code == 1
    assert out.splitlines()[:2] == ["d.jsonl：文档，2 个文档", "d.jsonl：警告：没有文本：1 个文档没有文本"]
    assert call("check", "gone.jsonl")[0] == 2
