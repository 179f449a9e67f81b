"""Sets of other tools: what was written is read again, and what has no place there is said."""

from __future__ import annotations

import json

import polars as pl
import pytest

import assay
from assay.errors import AssayError

DOCUMENTS = {"d1": "Green tea is steamed.", "d2": "Black tea is oxidised."}
QUERIES = [
    {"query_id": "q1", "text": "green?", "reference": "Steamed."},
    {"query_id": "q2", "text": "黑茶?", "reference": "Oxidised."},
]
JUDGED = {"q1": {"d1": 1.0}, "q2": {"d2": 1.0, "d1": 1.0}}


@pytest.fixture
def folder(tmp_path):
    assay.write_set(tmp_path / "tea", queries=QUERIES, documents=DOCUMENTS, judgments=assay.Judgments.from_dict(JUDGED))
    return tmp_path


@pytest.mark.parametrize(("kind", "name"), [("beir", "out"), ("autorag", "out"), ("llamaindex", "out.json")])
def test_sets_with_ids_come_back_as_they_were(folder, kind, name):
    assay.convert_set(folder / "tea", folder / name, kind)
    assay.convert_set(folder / name, folder / "again")
    found = assay.read_set(folder / "again")
    assert (found.documents, found.judgments.to_dict()) == (DOCUMENTS, JUDGED)
    assert found.queries.texts() == {"q1": "green?", "q2": "黑茶?"}


@pytest.mark.parametrize(
    ("kind", "name"), [("ragas", "out.csv"), ("ragas", "out.jsonl"), ("llamaindex-rag", "out.json")]
)
def test_sets_of_contexts_come_back_with_their_texts(folder, kind, name):
    assert assay.convert_set(folder / "tea", folder / name, kind)
    assay.convert_set(folder / name, folder / "again")
    found = assay.read_set(folder / "again")
    assert list(found.queries.texts().values()) == ["green?", "黑茶?"]
    assert sorted(found.documents.values()) == sorted(DOCUMENTS.values())
    assert len(found.spans) == 3
    assert [row["reference"] for row in found.rows("queries")] == ["Steamed.", "Oxidised."]


def test_groups_of_documents_survive_autorag(folder):
    rows = {"qid": ["q"], "query": ["both?"], "retrieval_gt": [[["d1", "d2"], ["d3"]]], "generation_gt": [["a", "b"]]}
    (folder / "auto").mkdir()
    pl.DataFrame(rows).write_parquet(folder / "auto" / "qa.parquet")
    pl.DataFrame({"doc_id": ["d1", "d2", "d3"], "contents": ["x", "y", "z"]}).write_parquet(
        folder / "auto" / "corpus.parquet"
    )
    assay.convert_set(folder / "auto", folder / "mine")
    assay.convert_set(folder / "mine", folder / "back", "autorag")
    found = pl.read_parquet(folder / "back" / "qa.parquet").to_dicts()[0]
    assert found == {"qid": "q", "query": "both?", "retrieval_gt": [["d1", "d2"], ["d3"]], "generation_gt": ["a", "b"]}


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        "{}",
        "no json",
        json.dumps({"examples": [1]}),
        json.dumps({"queries": 1, "corpus": {}, "relevant_docs": {}}),
    ],
)
def test_files_that_are_no_sets_are_refused_in_one_line(folder, text):
    (folder / "odd.json").write_text(text)
    with pytest.raises(AssayError):
        assay.convert_set(folder / "odd.json", folder / "out")
    assert not (folder / "out").exists()
