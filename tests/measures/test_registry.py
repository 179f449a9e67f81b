"""What makes a measure: its parameters, its name, its values."""

from __future__ import annotations

import pytest

import assay
from assay.errors import UsageError


@pytest.mark.parametrize(
    "text",
    ["rbp(p=2)", "rbp_residual(p=0)", "P(rel=2,rel=3)@5", "ndcg@nan", "ndcg@inf", "ndcg(gain={[1]: 2})", "ndcg@10,20"],
)
def test_senseless_parameters_are_refused(text):
    with pytest.raises(UsageError):
        assay.evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}, [text])


def test_a_users_measure_cannot_hide_a_built_in_one():
    with pytest.raises(UsageError, match="there is already a measure called ndcg"):

        @assay.measure
        def ndcg(ranking, k):
            return ranking


def test_a_measure_must_return_one_number_per_query():
    from assay.measures import REGISTRY

    try:

        @assay.measure
        def lonely(ranking, k):
            return 1.0

        with pytest.raises(UsageError, match="must return one number per query"):
            assay.evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}, [lonely])
    finally:
        REGISTRY.pop("lonely", None)
