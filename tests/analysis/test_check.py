"""What `assay.check` finds, in files and in what is in memory."""

from __future__ import annotations

from pathlib import Path

import pytest

import assay
from assay.formats.files import Input
from assay.formats.results import load_result
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
