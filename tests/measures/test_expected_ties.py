"""Tied scores: expected values over every order, and the best and worst order."""

from __future__ import annotations

import pytest

import assay
from assay.errors import UsageError


def one(measure: str, judgments: dict, run: object, **options: object) -> float:
    return assay.evaluate(judgments, run, [measure], **options)[measure]


@pytest.mark.parametrize("measure", ["err(max_grade=1)", "judged@1", "rbp", "g", "ndcg_rel", "rbp_residual", "f1@1"])
def test_measures_without_an_expected_value_refuse_expected_ties(measure):
    with pytest.raises(UsageError, match="cannot be averaged over orders of tied documents"):
        one(measure, {"q": {"a": 1}}, {"q": {"a": 1.0, "b": 1.0}}, ties="expected")


@pytest.mark.parametrize(("measure", "value"), [("num_ret", 2.0), ("set_recall", 1.0), ("coverage@1", 0.5)])
def test_measures_that_do_not_hang_on_order_have_one(measure, value):
    assert one(measure, {"q": {"a": 1}}, {"q": {"a": 1.0, "b": 1.0}}, ties="expected") == value


def test_expected_graded_average_precision_needs_the_scale_too():
    with pytest.raises(UsageError, match="largest grade"):
        one("average_precision(gain='graded')", {"q": {"a": 2}}, {"q": {"a": 1.0}}, ties="expected")


@pytest.mark.parametrize(
    ("measure", "expected"),
    [("average_precision(gain='graded', max_grade=2)", 0.75 * 0.5 + 0.0), ("recall(capped=true)@1", 0.5), ("precision(over='retrieved')@1", 0.5),
     ("average_precision(over='min_k')@1", 0.5)],
)  # fmt: skip
def test_expected_values_of_variants(measure, expected):
    # One relevant document (grade 1 of 2) tied with another: first or second with equal chance.
    assert one(measure, {"q": {"a": 1}}, {"q": {"a": 1.0, "b": 1.0}}, ties="expected") == pytest.approx(expected)


def test_extreme_orders_of_ties_bound_every_order():
    import itertools

    from assay.data.mappings import rank_mapping

    judgments = assay.Judgments.from_dict({"q": {"a": 2, "b": 1, "c": 0}})
    ranking = rank_mapping(judgments, {"q": dict.fromkeys("abcxy", 1.0)})
    measure = assay.parse("ndcg@3")
    every = [
        assay.evaluate(judgments, {"q": {doc: float(-i) for i, doc in enumerate(order)}}, ["ndcg@3"])["ndcg@3"]
        for order in itertools.permutations("abcxy")
    ]
    assert measure.compute(ranking.extreme(best=True))[0] == pytest.approx(max(every))
    assert measure.compute(ranking.extreme(best=False))[0] == pytest.approx(min(every))
