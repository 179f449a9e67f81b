"""Reports and charts from Python, of records and of files."""

from __future__ import annotations

import pytest

import assay

JUDGED = {"q1": {"a": 1}, "q2": {"b": 2}}
RUN = {"q1": {"doc-nine": 2.0, "a": 1.0}, "q2": {"b": 1.0}}


@pytest.fixture
def scores():
    return assay.evaluate(JUDGED, RUN, ["mrr", "ndcg@10"], name="bm25")


def test_a_report_of_a_record_is_returned_and_written(scores, tmp_path):
    text = assay.write_report(scores, tmp_path / "r.html", title="My report")
    assert (tmp_path / "r.html").read_text(encoding="utf-8") == text
    assert "My report" in text and "bm25" in text and "0.7500" in text
    assert "doc-nine" not in text
    assert assay.write_report(scores, kind="markdown").startswith("#")
    with pytest.raises(assay.UsageError, match="cannot tell the format"):
        assay.write_report(scores, tmp_path / "r.docx")
    for show in (assay.show, assay.plot, assay.write_report):
        with pytest.raises(assay.UsageError, match="'de': expected one of en, zh"):
            show(scores, lang="de")


def test_lists_are_shown_where_runs_are_given(scores):
    assert "doc-nine" in assay.write_report(scores, runs={"bm25": RUN})
    with pytest.raises(assay.UnknownName, match="dense"):
        assay.write_report(scores, runs={"dense": RUN})
    with pytest.raises(assay.NotComparable, match="their content differs"):
        assay.write_report(scores, judgments={"q1": {"a": 1}})


def test_files_and_records_go_into_one_report(scores, tmp_path):
    other = assay.evaluate(JUDGED, {"q1": {"a": 1.0}, "q2": {"b": 1.0}}, ["mrr", "ndcg@10"], name="dense")
    scores.save(tmp_path / "bm25.json")
    text = assay.write_report([tmp_path / "bm25.json", other], kind="markdown")
    assert "bm25" in text and "dense" in text
    (tmp_path / "bm25.html").write_text((tmp_path / "bm25.json").read_text())
    with pytest.raises(assay.UsageError, match="is also an input"):
        assay.write_report(tmp_path / "bm25.html", tmp_path / "bm25.html")


def test_charts_are_listed_drawn_and_saved(scores, tmp_path):
    pytest.importorskip("vl_convert")
    better = assay.evaluate(JUDGED, {"q1": {"a": 1.0}, "q2": {"b": 1.0}}, ["mrr", "ndcg@10"], name="dense")
    scores = assay.compare([scores, better])
    found = assay.plot(scores)
    name = next(iter(found))
    assert name in str(found) and "<table" in found._repr_html_()
    one = assay.plot(scores, name)
    assert one._repr_svg_().startswith("<svg")
    one.save(tmp_path / "x.svg")
    one.save(tmp_path / "x.png", scale=1)
    assert (tmp_path / "x.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(assay.UsageError, match=r"use \.svg, \.png"):
        one.save(tmp_path / "x.pdf")
    with pytest.raises(assay.UnknownName, match="nothing"):
        assay.plot(scores, "nothing")
