"""Checks of evaluation sets: each fault is found, counted and shown by an example, and a sound set has none."""

from __future__ import annotations

import json
import shutil

import pytest

import assay
from commands import run_assay

DOCUMENTS = {"d1": "Green tea is steamed. Green tea is green.", "d2": "Black tea is oxidised."}
QUERIES = [{"query_id": "q1", "text": "green tea"}, {"query_id": "q2", "text": "black tea"}]
GOLD = [
    {"query_id": "q1", "doc_id": "d1", "start": 0, "end": 9, "text": "Green tea"},
    {"query_id": "q2", "doc_id": "d2", "text": "oxidised"},
]


def write(folder, **others):
    given = {"queries": QUERIES, "documents": DOCUMENTS, "gold": GOLD, **others}
    assay.write_set(folder, **given)
    return str(folder)


def kinds(folder):
    found = assay.check_files([folder])
    assert found.files[0].kind == "set"
    return {str(one.kind): (one.count, one.examples) for one in found.findings}


def test_a_sound_set_has_no_findings(tmp_path):
    found = assay.check_files([write(tmp_path / "tea")])
    assert found.clean
    assert found.files[0].holds.startswith("tea, version ")


@pytest.mark.parametrize(
    ("others", "kind", "count", "example"),
    [
        ({"gold": [*GOLD, {"query_id": "q1", "doc_id": "d9", "text": "x"}]}, "unknown document", 1, "q1 d9"),
        ({"gold": [*GOLD, {"query_id": "q9", "doc_id": "d1", "text": "steamed"}]}, "unknown query", 1, "q9"),
        ({"gold": [*GOLD, {"query_id": "q1", "doc_id": "d1", "text": "rolled"}]}, "gold that is gone", 1, "q1 d1: rolled"),
        ({"gold": [*GOLD, {"query_id": "q1", "doc_id": "d1", "start": 3, "end": 10, "text": "steamed"}]}, "gold that moved", 1, "q1 d1: steamed"),
        ({"gold": [*GOLD, {"query_id": "q1", "doc_id": "d1", "start": 99, "end": 109}]}, "gold that is gone", 1, "q1 d1: 99-109"),
        ({"gold": [*GOLD, {"query_id": "q1", "doc_id": "d1", "text": "Green tea"}]}, "gold in several places", 1, "q1 d1: Green tea"),
        ({"gold": [*GOLD, GOLD[1]]}, "repeated gold", 1, "q2 d2"),
        ({"gold": GOLD[:1]}, "query without gold", 1, "q2"),
        ({"queries": [*QUERIES, {"query_id": "q3", "text": "black  tea"}]}, "repeated query", 1, "q2 = q3"),
        ({"documents": {**DOCUMENTS, "d3": DOCUMENTS["d1"]}}, "repeated document", 1, "d1 = d3"),
        ({"documents": {"d1": DOCUMENTS["d1"]}, "gold": GOLD[:1]}, "one document", 1, "d1"),
        ({"judgments": assay.Judgments.from_dict({"q1": {"d1#3": 1, "d2#1": 0}})}, "unknown document", 2, "q1 d1#3"),
    ],
)  # fmt: skip
def test_a_fault_is_found_and_shown(tmp_path, others, kind, count, example):
    found = kinds(write(tmp_path / "tea", **others))
    assert found[kind][0] == count
    assert found[kind][1][0] == example


def test_an_occurrence_says_which_place_is_meant(tmp_path):
    gold = [*GOLD, {"query_id": "q1", "doc_id": "d1", "text": "Green tea", "occurrence": 2}]
    assert not kinds(write(tmp_path / "tea", gold=gold))


def test_files_that_changed_since_are_named(tmp_path):
    folder = write(tmp_path / "tea")
    (tmp_path / "tea" / "documents.jsonl").write_text('{"doc_id": "d1", "text": "White tea."}\n')
    (tmp_path / "tea" / "labels.jsonl").write_text("{}\n")
    found = kinds(folder)
    assert found["changed file"] == (1, ("documents.jsonl",))
    assert found["file of no version"] == (1, ("labels.jsonl",))
    assert found["gold that is gone"][0] == 1
    (tmp_path / "tea" / "gold.jsonl").unlink()
    assert kinds(folder)["missing file"] == (1, ("gold.jsonl",))


@pytest.mark.parametrize("kind", ["empty", "bare", "damaged", "twice"])
def test_folders_that_are_no_set_get_one_line(tmp_path, kind):
    folder = tmp_path / "tea"
    if kind == "empty":
        folder.mkdir()
    else:
        write(folder)
    if kind == "bare":
        (folder / "set.json").unlink()
    if kind == "damaged":
        (folder / "set.json").write_text('{"set_schema": "x"}')
    if kind == "twice":
        (folder / "queries.jsonl").write_text(json.dumps(QUERIES[0]) * 1 + "\n" + json.dumps(QUERIES[0]) + "\n")
    done = run_assay("check", "tea", cwd=tmp_path)
    assert done.returncode in {1, 2}
    assert "Traceback" not in done.stderr + done.stdout
    assert ("error" in done.stdout) or done.stderr.startswith("assay: ")


def test_results_on_two_versions_of_a_set_are_compared_with_a_warning(tmp_path):
    judged = assay.Judgments.from_dict({"q1": {"d1": 1}, "q2": {"d2": 1}})
    write(tmp_path / "tea", judgments=judged)
    shutil.copytree(tmp_path / "tea", tmp_path / "old")
    place = tmp_path / "tea" / "documents.jsonl"
    place.write_text(place.read_text() + '{"doc_id": "d3", "text": "Coffee."}\n')
    new = assay.describe_set(tmp_path / "tea", accept=True)
    (tmp_path / "a.run").write_text("q1 Q0 d1 1 2 t\nq2 Q0 d2 1 2 t\n")
    (tmp_path / "b.run").write_text("q1 Q0 d2 1 2 t\nq2 Q0 d2 1 2 t\n")
    for folder, run in (("old", "a"), ("tea", "b"), ("tea", "a")):
        run_assay("evaluate", folder, f"{run}.run", "-m", "mrr", "-o", f"{folder}-{run}.json", "-q", cwd=tmp_path)
    done = run_assay("compare", "old-a.json", "tea-b.json", "-o", "both.json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "different versions of evaluation sets" in " ".join(done.stdout.split())
    assert f"tea {new.version}" in " ".join(done.stdout.split())
    same = run_assay("compare", "tea-a.json", "tea-b.json", "-o", "same.json", cwd=tmp_path)
    assert "different versions" not in " ".join(same.stdout.split())
    found = json.loads((tmp_path / "same.json").read_text())
    assert [one["of_set"] for one in found["inputs"]] == [f"tea {new.version}"]
