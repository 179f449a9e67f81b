"""Evaluation sets as folders: what was written is what is read, and what was changed by hand is named."""

from __future__ import annotations

import hashlib
import json
import os
from typing import TYPE_CHECKING

import pytest

import assay
from assay.curation import sets
from assay.errors import AssayError, InputError, UsageError
from assay.formats.set_folders import find_changes, read_manifest

if TYPE_CHECKING:
    from pathlib import Path

QUERIES = [
    {"query_id": "q1", "text": "green tea", "made_by": "person"},
    {"query_id": "q2", "text": "black tea", "made_by": "model", "facets": ["a", "b"]},
]
DOCUMENTS = {"d1": "Green tea is steamed.", "d2": "Black tea is oxidised."}
GOLD = [{"query_id": "q1", "doc_id": "d1", "start": 0, "end": 9, "text": "Green tea", "grade": 2}]


def write(folder: Path, **others: object) -> assay.EvaluationSet:
    given = {"queries": QUERIES, "documents": DOCUMENTS, "gold": GOLD, "name": "tea", "language": "en", **others}
    return assay.write_set(folder, **given)  # type: ignore[arg-type]


def test_a_set_is_read_as_it_was_written(tmp_path):
    judged = assay.Judgments.from_dict({"q1": {"d1": 2, "d2": 0}, "q2": {"d2": 1}})
    write(tmp_path / "tea", judgments=judged, nuggets=[{"query_id": "q1", "text": "steamed"}], labels=[{"a": 1}])
    found = assay.read_set(tmp_path / "tea")
    assert (found.name, found.manifest.language) == ("tea", "en")
    assert found.queries.texts() == {"q1": "green tea", "q2": "black tea"}
    assert found.documents == DOCUMENTS
    assert found.judgments is not None
    assert found.judgments.to_dict() == {"q1": {"d1": 2.0, "d2": 0.0}, "q2": {"d2": 1.0}}
    assert [(one.query_id, one.doc_id, one.start, one.end, one.grade) for one in found.spans] == [("q1", "d1", 0, 9, 2)]
    assert found.rows("queries")[1]["facets"] == ["a", "b"]
    assert found.rows("nuggets") == ({"query_id": "q1", "text": "steamed"},)
    assert found.rows("labels") == ({"a": 1},)


def test_its_files_are_plain_and_other_commands_read_them(tmp_path):
    write(tmp_path / "tea", judgments=assay.Judgments.from_dict({"q1": {"d1": 1}}))
    assert (tmp_path / "tea" / "judgments.qrels").read_text() == "q1 0 d1 1\n"
    lines = (tmp_path / "tea" / "documents.jsonl").read_text().splitlines()
    assert [json.loads(line)["doc_id"] for line in lines] == ["d1", "d2"]


def test_the_version_is_a_hash_over_the_contents_alone(tmp_path):
    first = write(tmp_path / "one", provenance=sets.Provenance("person", made_at="2020-01-01T00:00:00Z"))
    again = write(tmp_path / "two", name="other name")
    other = write(tmp_path / "three", gold=[{**GOLD[0], "grade": 1}])
    assert first.version == again.version != other.version
    lines = sorted(
        f"{path.name} {hashlib.sha256(path.read_bytes()).hexdigest()}\n" for path in (tmp_path / "one").glob("*.jsonl")
    )
    assert first.version == hashlib.sha256("".join(lines).encode()).hexdigest()[:12]


def test_the_manifest_counts_who_made_the_queries(tmp_path):
    found = write(tmp_path / "tea").manifest
    assert found.files["queries.jsonl"].made_by == {"person": 1, "model": 1}
    assert found.kinds() == {"real": 1, "model": 1}


def test_provenance_names_models_and_sources(tmp_path):
    origin = tmp_path / "handbook.txt"
    origin.write_text("text")
    told = sets.Provenance("model", ("qwen-plus",), (sets.source_of(origin),))
    found = write(tmp_path / "tea", provenance={"gold": told})
    assert found.manifest.files["gold.jsonl"].models == ("qwen-plus",)
    assert found.manifest.files["gold.jsonl"].sources == (
        f"handbook.txt {hashlib.sha256(b'text').hexdigest()[:16]}",
    )  # fmt: skip
    assert str(tmp_path) not in (tmp_path / "tea" / "set.json").read_text()


@pytest.mark.parametrize("name", ["queries.jsonl", "documents.jsonl", "gold.jsonl"])
def test_a_file_changed_by_hand_is_refused_by_name(tmp_path, name):
    write(tmp_path / "tea")
    path = tmp_path / "tea" / name
    path.write_text(path.read_text().replace("tea", "TEA"))
    with pytest.raises(InputError, match=rf"{name} is not what was written .*--accept"):
        assay.read_set(tmp_path / "tea")


def test_a_missing_file_and_a_new_one_are_told_apart(tmp_path):
    write(tmp_path / "tea")
    (tmp_path / "tea" / "gold.jsonl").unlink()
    (tmp_path / "tea" / "nuggets.jsonl").write_text("{}\n")
    changes = find_changes(tmp_path / "tea", read_manifest(tmp_path / "tea"))
    assert [(one.name, one.kind) for one in changes] == [("gold.jsonl", "missing"), ("nuggets.jsonl", "new")]


def test_ids_with_blanks_are_kept(tmp_path):
    judged = assay.Judgments.from_dict({"q one": {"d": 1}})
    found = write(tmp_path / "tea", judgments=judged)
    assert found.manifest.name_of("judgments") == "judgments.jsonl"
    assert assay.read_set(tmp_path / "tea").judgments.to_dict() == {"q one": {"d": 1.0}}  # type: ignore[union-attr]


def test_judgments_of_a_model_keep_its_name(tmp_path):
    judged = assay.Judgments.of(
        assay.Judgments.from_dict({"q1": {"d1": 1}}).frame, judge="qwen-plus · relevance"
    )  # fmt: skip
    write(tmp_path / "tea", judgments=judged)
    found = assay.read_set(tmp_path / "tea")
    assert found.judgments.judge == "qwen-plus · relevance"  # type: ignore[union-attr]
    assert found.manifest.files["judgments.qrels"].made_by == {"model": 1}


def test_documents_kept_elsewhere_are_compared_with_their_hashes(tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.txt").write_text("Green tea.")
    write(tmp_path / "tea", documents={"a.txt": "Green tea."}, gold=(), documents_at=tmp_path / "docs")
    assert not (tmp_path / "tea" / "documents.jsonl").exists()
    assert assay.read_set(tmp_path / "tea").documents == {"a.txt": "Green tea."}
    (tmp_path / "docs" / "a.txt").write_text("Green tea!")
    with pytest.raises(InputError, match=r"another text than the set was made with, such as 'a\.txt'"):
        _ = assay.read_set(tmp_path / "tea").documents
    (tmp_path / "docs" / "a.txt").rename(tmp_path / "docs" / "b.txt")
    with pytest.raises(InputError, match="1 document of the set is not here"):
        _ = assay.read_set(tmp_path / "tea").documents


def test_a_set_whose_writing_fails_leaves_nothing(tmp_path, monkeypatch):
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(InputError, match="cannot be written"):
        write(tmp_path / "tea")
    assert list(tmp_path.iterdir()) == []


def test_a_set_is_never_written_over_something(tmp_path):
    write(tmp_path / "tea")
    before = (tmp_path / "tea" / "set.json").read_bytes()
    with pytest.raises(UsageError, match="is there already"):
        write(tmp_path / "tea")
    assert (tmp_path / "tea" / "set.json").read_bytes() == before


@pytest.mark.parametrize(
    ("rows", "what"),
    [
        ([], "at least one query"),
        ([{"text": "a"}], "needs a query_id"),
        ([{"query_id": 1, "text": "a"}, {"query_id": "1", "text": "b"}], "two queries have the id '1'"),
        ([{"query_id": 1, "text": "a", "made_by": "nobody"}], "expected one of person, log, model"),
    ],
)
def test_rows_that_are_no_queries_are_refused(tmp_path, rows, what):
    with pytest.raises(UsageError, match=what):
        assay.write_set(tmp_path / "tea", queries=rows)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("manifest", "what"),
    [
        ("{", "not valid JSON"),
        ("[]", "the manifest is damaged"),
        ('{"set_schema": 1}', "missing"),
        ('{"set_schema": 2}', "newer version"),
        ('{"set_schema": 1, "name": "a", "version": "b", "files": {"../x": {"role": "gold", "sha256": "", "rows": 0}}}',
         "not the name of a file"),
        ('{"set_schema": 1, "name": "a", "version": "b", "files": {"x": {"role": "vote", "sha256": "", "rows": 0}}}',
         "damaged"),
    ],
)  # fmt: skip
def test_a_damaged_manifest_is_one_line(tmp_path, manifest, what):
    (tmp_path / "set.json").write_text(manifest)
    with pytest.raises(AssayError, match=what):
        assay.read_set(tmp_path)


def test_a_folder_without_a_manifest_is_no_set(tmp_path):
    with pytest.raises(InputError, match=r"holds no evaluation set: set\.json is missing"):
        assay.read_set(tmp_path)
