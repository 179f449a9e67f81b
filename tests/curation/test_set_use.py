"""Sets where commands take judgments, queries, documents or gold: results name the set and its version."""

from __future__ import annotations

import json

import pytest

import assay
from assay.errors import InputError
from assay.formats.documents import read_documents
from assay.formats.queries import read_queries
from assay.pipeline.documents import read_collection
from assay.pipeline.experiment import load_experiment, read_data
from commands import run_assay

DOCUMENTS = {"d1": "Green tea is steamed.", "d2": "Black tea is oxidised.", "d3": "Coffee is roasted."}
QUERIES = [
    {"query_id": "q1", "text": "green tea", "made_by": "person"},
    {"query_id": "q2", "text": "black tea", "made_by": "person"},
]
GOLD = [
    {"query_id": "q1", "doc_id": "d1", "start": 0, "end": 9, "text": "Green tea", "grade": 1},
    {"query_id": "q1", "doc_id": "d1", "start": 13, "end": 20, "text": "steamed", "grade": 3},
    {"query_id": "q2", "doc_id": "d2", "text": "Black tea"},
]


@pytest.fixture
def folder(tmp_path):
    judged = assay.Judgments.from_dict({"q1": {"d1": 1}, "q2": {"d2": 1}})
    assay.write_set(tmp_path / "tea", queries=QUERIES, documents=DOCUMENTS, judgments=judged, gold=GOLD)
    (tmp_path / "mine.trec").write_text("q1 Q0 d1 1 2 t\nq2 Q0 d3 1 2 t\nq2 Q0 d2 2 1 t\n")
    return tmp_path


def test_readers_take_a_set(folder):
    assert read_documents(folder / "tea") == DOCUMENTS
    assert {one.id: one.text for one in read_collection(folder / "tea")} == DOCUMENTS
    assert read_queries(folder / "tea").texts() == {"q1": "green tea", "q2": "black tea"}
    assert assay.read_judgments(folder / "tea").to_dict() == {"q1": {"d1": 1.0}, "q2": {"d2": 1.0}}


def test_a_set_without_judgments_is_judged_by_its_gold(tmp_path):
    assay.write_set(tmp_path / "tea", queries=QUERIES, documents=DOCUMENTS, gold=GOLD)
    found = assay.read_judgments(tmp_path / "tea")
    assert found.to_dict() == {"q1": {"d1": 3.0}, "q2": {"d2": 1.0}}
    assert any("documents that hold its gold are relevant" in note for note in found.notes)


def test_a_set_changed_by_hand_is_refused_wherever_it_is_read(folder):
    (folder / "tea" / "judgments.qrels").write_text("q1 0 d1 0\n")
    with pytest.raises(InputError, match=r"judgments\.qrels is not what was written"):
        assay.read_judgments(folder / "tea")
    assert read_queries(folder / "tea").texts()["q1"] == "green tea"


def test_evaluate_names_the_set_and_its_version(folder):
    done = run_assay("evaluate", "tea", "mine.trec", "-m", "mrr", "-o", "result.json", cwd=folder)
    assert done.returncode == 0, done.stderr
    found = json.loads((folder / "result.json").read_text())
    assert found["metrics"] == {"mrr": 0.75}
    version = assay.read_set(folder / "tea").version
    assert [one["of_set"] for one in found["inputs"]] == [f"tea {version}", None]


def test_evaluate_warns_where_a_set_mixes_kinds_of_queries(folder):
    mixed = [QUERIES[0], {**QUERIES[1], "made_by": "model"}]
    assay.write_set(folder / "mixed", queries=mixed, documents=DOCUMENTS, gold=GOLD)
    done = run_assay("evaluate", "mixed", "mine.trec", "-m", "mrr", cwd=folder)
    assert "mixes kinds of queries" in " ".join(done.stdout.split())
    assert "mixes" not in run_assay("evaluate", "tea", "mine.trec", "-m", "mrr", cwd=folder).stdout


EXPERIMENT = '[data]\nset = "tea"\n[[retrieve]]\nmethod = "bm25"\n[evaluate]\nmeasures = ["mrr@3"]\n'


def test_an_experiment_takes_a_set(folder):
    (folder / "try.toml").write_text(EXPERIMENT)
    read = read_data(load_experiment(folder / "try.toml"))
    assert [one.id for one in read.documents] == ["d1", "d2", "d3"]
    assert [one.id for one in read.queries] == ["q1", "q2"]
    assert len(read.spans) == 3
    assert read.judgments.source.of_set == f"tea {assay.read_set(folder / 'tea').version}"


def test_the_result_of_an_experiment_names_the_set_and_warns_of_a_mixture(folder):
    mixed = [QUERIES[0], {**QUERIES[1], "made_by": "known_items"}]
    made = assay.write_set(folder / "mixed", queries=mixed, documents=DOCUMENTS, gold=GOLD)
    (folder / "try.toml").write_text(EXPERIMENT.replace('"tea"', '"mixed"'))
    found = assay.run_experiment(folder / "try.toml").to_result()
    assert f"mixed {made.version}" in [one.of_set for one in found.origin.inputs]
    assert any("simulated known items" in text for text in found.warnings)


def test_an_experiment_may_replace_a_part_of_a_set(folder):
    (folder / "other.qrels").write_text("q1 0 d2 1\n")
    (folder / "try.toml").write_text(EXPERIMENT.replace("[[retrieve", 'judgments = "other.qrels"\n[[retrieve', 1))
    read = read_data(load_experiment(folder / "try.toml"))
    assert read.judgments.to_dict() == {"q1": {"d2": 1.0}}
    assert read.spans == ()


def test_compare_warns_where_a_set_mixes_kinds_of_queries(folder):
    mixed = [QUERIES[0], {**QUERIES[1], "made_by": "model"}]
    assay.write_set(folder / "mixed", queries=mixed, documents=DOCUMENTS, gold=GOLD)
    (folder / "other.trec").write_text("q1 Q0 d2 1 2 t\nq2 Q0 d2 1 2 t\n")
    for command in (["evaluate", "mixed", "mine.trec", "other.trec"], ["compare", "mixed", "mine.trec", "other.trec"]):
        done = run_assay(*command, "-m", "mrr", cwd=folder)
        assert "mixes kinds of queries" in " ".join((done.stdout + done.stderr).split()), command


@pytest.mark.parametrize("other", ["model", "known_items", "person"])
def test_an_experiment_says_where_a_file_of_queries_mixes_kinds(folder, other):
    rows = [QUERIES[0], {**QUERIES[1], "made_by": other}]
    for name, lines in (
        ("q", rows),
        ("d", [{"doc_id": doc, "text": text} for doc, text in DOCUMENTS.items()]),
        ("g", [{"query_id": row["query_id"], "doc_id": row["doc_id"], "text": row["text"]} for row in GOLD]),
    ):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in lines))
    (folder / "try.toml").write_text(
        '[data]\ndocuments = "d.jsonl"\nqueries = "q.jsonl"\ngold = "g.jsonl"\n[[retrieve]]\nmethod = "bm25"\n'
    )
    found = assay.run_experiment(folder / "try.toml").to_result()
    assert any("of several kinds" in text for text in found.warnings) == (other != "person")
