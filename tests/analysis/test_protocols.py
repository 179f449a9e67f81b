"""Protocols: what they set, and what is set beside them."""

from __future__ import annotations

import json
import math

import pytest

import assay


def one(measure: str, judgments: dict, run: object, **options: object) -> float:
    return assay.evaluate(judgments, run, [measure], **options)[measure]


def test_a_parameter_that_is_given_stays_given_under_a_protocol_with_other_defaults(tmp_path):
    path = tmp_path / "p.toml"
    path.write_text(
        'name = "p"\nmin_relevance = 2\n[measures]\np1 = "precision(min_relevance=1)@1"\nlin = "ndcg(gain=\'linear\')@10"\n'
        'exp = "ndcg@10"\n[defaults.ndcg]\ngain = "exp"\n'
    )
    judgments, run = {"q": {"a": 1, "b": 2}}, {"q": {"a": 2.0, "b": 1.0}}
    scores = assay.evaluate(judgments, run, protocol=str(path))
    second = 1 / math.log2(3)
    assert scores["p1"] == 1.0
    assert scores["lin"] == pytest.approx((1 + 2 * second) / (2 + second))
    assert scores["exp"] == pytest.approx((1 + 3 * second) / (3 + second))
    assay.write_result(scores, tmp_path / "r.json")
    again = assay.evaluate(judgments, run, protocol=assay.read_result(tmp_path / "r.json")[0].protocol)
    assert again.mean() == scores.mean()


def test_both_variants_can_be_asked_for_under_a_protocol():
    scores = assay.evaluate(
        {"q": {"a": 1, "b": 2}},
        {"q": {"a": 2.0, "b": 1.0}},
        ["ndcg@10", "ndcg(gain='linear')@10"],
        protocol="graded-012",
    )
    assert scores["ndcg@10"] < scores["ndcg(gain='linear')@10"]


@pytest.mark.parametrize(("protocol", "label"), [("graded-012", "p@1"), ("rerank", "reciprocal_rank")])
def test_protocols_that_count_any_grade_above_0(protocol, label):
    assert assay.evaluate({"q": {"a": 0.5, "b": 0}}, {"q": {"a": 2.0, "b": 1.0}}, protocol=protocol)[label] == 1.0
    assert assay.evaluate({"q": {"a": 0, "b": 1}}, {"q": {"a": 2.0, "b": 1.0}}, protocol=protocol)[label] < 1.0


def test_overrides_of_a_protocol_are_told(tmp_path):
    scores = assay.evaluate({"q": {"a": 2}}, {"q": {"a": 1.0}}, protocol="graded-012", ties="given", min_relevance=2)
    assert str(scores.protocol) == "graded-012 (min_relevance = 2, ties = given)"
    assay.write_result(scores, tmp_path / "r.json")
    assert json.loads((tmp_path / "r.json").read_text())["protocol"]["overrides"] == {
        "min_relevance": 2,
        "ties": "given",
    }


@pytest.mark.parametrize("protocol", ["trec", "rerank"])
def test_a_threshold_of_0_makes_every_judged_document_relevant(protocol):
    judgments, run = {"q": {"a": 0, "b": 1, "c": -1}}, {"q": {"a": 3.0, "c": 2.0, "b": 1.0}}
    assert one("precision@3", judgments, run, protocol=protocol, min_relevance=0) == pytest.approx(2 / 3)
