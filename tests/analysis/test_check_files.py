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
    "users": ["users.csv"],
    "arms": ["arms.csv"],
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
        ("u.csv", "user,variant,clicks\na,old,1\nb,old,2\n", ["one variant"]),
        ("u.csv", "user,variant,day,clicks\na,old,1/2/26,1\na,new,2026-02-01,x\nb,New,2026-02-01,0\nc,new,2026-02-01,0\n",
         ["cannot be read"] * 4),
    ],
)  # fmt: skip
def test_what_is_doubtful_in_a_file_is_found(name, text, said, tmp_path):
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert [str(one.kind) for one in assay.check_files([tmp_path / name]).findings][: len(said)] == said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("user,variant,clicks\na,old,1\nb,,2\n", "1 row has no variant"),
        ("user,variant,clicks\na,old,1\nb,Old,2\n", "look like the same one"),
        ("user,variant,clicks\na,old,1\na,new,2\n", "1 user is in more than one variant"),
        ("user,variant,clicks\na,old,1\na,old,2\nb,new,1\n", "has several rows"),
        ("user,variant,day,clicks\na,old,yesterday,1\nb,new,2026-11-18,2\n", "'yesterday' is not a day"),
        ("user,variant,clicks\na,old,1\nb,new,\nc,new,2\n", "1 user has no number"),
        ("user,variant,colour\na,old,x\nb,new,y\n", "no column has numbers to compare"),
        ("variant,measure,n,sum,sum_squares\nold,clicks,10,5,5\nnew,bought,10,5,5\n", "clicks has no row of new"),
        ("variant,measure,n,sum,sum_squares\nold,clicks,10,5,5\nold,clicks,10,5,5\n", "clicks of old has two rows"),
        ("variant,measure,n,sum\nold,clicks,ten,5\n", "expected a number"),
    ],
)
def test_a_table_of_an_ab_test_is_checked_by_the_rules_of_its_reader(text, said, tmp_path):
    (tmp_path / "t.csv").write_text(text)
    found = assay.check_files([tmp_path / "t.csv"])
    assert [one.kind for one in found.files] == ["arms" if "sum" in text else "users"]
    assert [said in one.message for one in found.findings if one.error] == [True]


def in_gbk(place: Path) -> bytes:
    """A file with Chinese words added where its format takes them."""
    text = place.read_text(encoding="utf-8")
    head, _, rest = text.partition("\n")
    more = {
        ".toml": lambda: f"# 说明文字\n{text}",
        ".md": lambda: f"{text}\n中文说明\n",
        ".csv": lambda: "\n".join([f"{head},备注", *(f"{row},中文" for row in rest.splitlines())]),
        ".tsv": lambda: "\n".join([f"{head}\t备注", *(f"{row}\t中文" for row in rest.splitlines())]),
        ".json": lambda: text.rstrip()[:-1] + ', "备注": "中文"}',
        ".jsonl": lambda: "\n".join(f'{row[:-1]}, "备注": "中文"}}' for row in text.splitlines()),
    }
    kind = ".jsonl" if place.suffix == ".ndjson" else place.suffix
    return more.get(kind, lambda: text.replace("tea-", "茶叶-"))().encode("gb18030")


@pytest.mark.parametrize(("kind", "name"), [(kind, names[0]) for kind, names in KINDS.items()])
def test_every_kind_of_file_is_read_in_the_encoding_that_is_named(kind, name, folder, tmp_path, call):
    for place in folder.glob("*.json"):  # which some files name
        shutil.copy(place, tmp_path)
    (tmp_path / name).write_bytes(in_gbk(folder / name))
    found = assay.check_files([tmp_path / name], encoding="gb18030")
    assert [one.kind for one in found.files] == [kind]
    assert [one.message for one in found.findings if one.error and "UTF-8" in one.message] == []
    assert found.files[0].holds
    assert "UTF-8" not in "".join(call("check", name, "--encoding", "gb18030")[1:])


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


def test_a_folder_of_documents_is_told_of_copies_and_of_what_stops_its_reading_once(tmp_path):
    for name in "ab":
        (tmp_path / f"{name}.md").write_text("Sencha wants water of 70 degrees.")
    (found,) = assay.check_files([tmp_path]).findings
    assert (found.title, found.examples) == ("repeated document", ("a.md = b.md",))
    (tmp_path / "b.md").write_bytes(b"\xff\xfe\x00\xd8")
    (found,) = assay.check_files([tmp_path]).findings
    assert str(found.message).count(str(tmp_path)) == 1
