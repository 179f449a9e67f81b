"""What `assay.check` finds, in files and in what is in memory."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import assay
from assay.formats.files import Input
from assay.formats.results import load_result
from assay.messages import tell
from assay.results.check import InputCheck

ARCHIVE = Path(__file__).parents[1] / "archive" / "schema-1"


def test_files_and_dicts_are_checked_alike(tmp_path):
    (tmp_path / "x.qrels").write_text("q1 0 d1 1\nq2 0 d1 0\n")
    (tmp_path / "x.run").write_text("q1 Q0 d1 1 2 r\nq3 Q0 d2 1 1 r\n")
    judged, run = {"q1": {"d1": 1}, "q2": {"d1": 0}}, {"q1": {"d1": 2.0}, "q3": {"d2": 1.0}}
    of_files = assay.check(tmp_path / "x.qrels", [tmp_path / "x.run"])
    of_dicts = assay.check(judged, [run])
    kinds = ["no relevant document", "missing query", "query without judgments"]
    assert [one.kind for one in of_files.findings] == [one.kind for one in of_dicts.findings] == kinds
    assert [one.count for one in of_files.findings] == [1, 1, 1]
    assert [one.where for one in of_dicts.findings] == ["judgments", "run", "run"]
    assert not of_files.clean


def test_a_file_is_looked_at_as_it_stands(tmp_path):
    (tmp_path / "x.qrels").write_text("q1 0 d1 1\nq1 0 d1 2\n")
    with pytest.raises(assay.InputError, match="judged twice"):
        assay.evaluate(tmp_path / "x.qrels", {"q1": {"d1": 1.0}}, ["map"])
    (found,) = assay.check(tmp_path / "x.qrels").findings
    assert (found.kind, found.level, found.count) == ("duplicate judgment", "error", 1)


def test_nothing_is_found_in_clean_input():
    found = assay.check({"q1": {"d1": 1}}, [{"q1": {"d1": 2.0}}])
    assert found.clean and found.to_rows() == []


def test_findings_become_a_frame_and_a_file_and_come_back(tmp_path):
    found = assay.check({"q1": {"d1": 0}})
    assert found.to_polars().row(0, named=True)["kind"] == "no relevant document"
    found.save(tmp_path / "check.json")
    assert load_result(Input.at(tmp_path / "check.json")).part(InputCheck) == found


def test_findings_of_an_earlier_version_are_read():
    found = load_result(Input.at(ARCHIVE / "check.json")).part(InputCheck)
    assert found.findings and all(one.count > 0 for one in found.findings)


def test_ids_that_differ_by_width_or_composition_are_named():
    found = assay.check(
        {"问题１": {"a": 1}, "问题2": {"cafe\u0301": 1}}, [{"问题1": {"a": 1.0}, "问题2": {"caf\u00e9": 1.0}}]
    )
    said = {one.kind: one for one in found.findings}
    queries, documents = (one for one in found.findings if one.kind == "ids in other forms")
    assert queries.count == documents.count == 1
    assert queries.examples == ("'问题1', '问题１'",)
    assert "query_id" in queries.message
    assert "doc_id" in documents.message
    assert "全角/半角" in tell(queries.message, "zh")
    assert "missing query" in said


def test_ids_in_other_forms_are_named_where_no_query_is_common():
    found = assay.check({"Ｑ１": {"a": 1}}, [{"Q1": {"a": 1.0}}])
    assert [one.kind for one in found.findings] == ["ids in other forms", "no common query"]


def test_one_id_in_two_forms_is_named():
    found = assay.check({"问题１": {"a": 1}, "问题1": {"a": 1}})
    assert [(one.kind, one.examples) for one in found.findings] == [("ids in two forms", ("'问题1', '问题１'",))]


def test_ids_that_differ_otherwise_are_left_alone():
    found = assay.check({"问题1": {"文档": 1}}, [{"问题1": {"文档": 2.0, "文件": 1.0}}])
    assert not any("forms" in one.kind for one in found.findings)


def test_every_finding_is_told_in_chinese(tmp_path):
    judged, listed = tmp_path / "qrels.txt", tmp_path / "a.run"
    judged.write_text("1 0 a 1\n1 0 a 2\n1 0 b inf\n2 0 a -1\n2 0 c 0.5\n3 0 a 0\n")
    listed.write_text("1 Q0 a 1 2 t\n1 Q0 a 2 3 t\n1 Q0 x 3 nan t\n2 Q0 a#1 1 5 t\n2 Q0 y 2 5 t\n4 Q0 z 1 1 t\n")
    spaced = [("1 ", "a", 1.0), ("1", "b", 2.0)]
    found = [*assay.check(str(judged), [str(listed)]).findings, *assay.check({"1": {"a": 1}}, [spaced]).findings]
    found += assay.check({"1": {"a": 1}}, [{"2": {"a": 1.0}}]).findings
    assert len({one.kind for one in found}) > 12
    for one in found:
        assert one.title == one.kind
        assert all(re.search("[\u4e00-\u9fff]", tell(text, "zh")) for text in (one.title, one.message)), one
