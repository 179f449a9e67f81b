"""What `assay.explain` shows of one query."""

from __future__ import annotations

import math

import pytest

import assay
from assay.formats.files import Input
from assay.formats.results import load_result
from assay.results.explanation import Explanation

JUDGED, RUN = {"q": {"a": 2, "b": 1}, "r": {"a": 1}}, {"q": {"x": 3.0, "a": 2.0, "b": 1.0}}


def test_a_calculation_is_shown_rank_by_rank():
    found = assay.explain(JUDGED, RUN, "q", "dcg@10")
    assert found.value == pytest.approx(2 / math.log2(3) + 1 / math.log2(4))
    rows = found.to_rows()
    assert [row["document"] for row in rows] == ["x", "a", "b"]
    assert [row["grade"] for row in rows] == ["-", "2", "1"]
    assert found.protocol == "trec"


def test_rules_of_a_protocol_change_what_is_shown():
    assert assay.explain(JUDGED, RUN, "q", "P@2").value == 0.5
    assert assay.explain(JUDGED, RUN, "q", "P@3", min_relevance=2).value == pytest.approx(1 / 3)


def test_a_query_that_is_not_there_is_named():
    with pytest.raises(assay.InputError, match="is not in the run"):
        assay.explain(JUDGED, RUN, "r")
    with pytest.raises(assay.InputError, match="is not judged"):
        assay.explain(JUDGED, {"z": {"a": 1.0}}, "z")


def test_an_explanation_is_kept_in_a_file_even_without_a_value(tmp_path):
    found = assay.explain({"q": {"a": 0}}, {"q": {"a": 1.0}}, "q", "recall@5")
    assert found.value is None
    found.save(tmp_path / "why.json")
    assert load_result(Input.at(tmp_path / "why.json")).part(Explanation) == found
