"""Comparisons before releases beside the A/B tests after them."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest
from scipy.stats import kendalltau

import assay
from assay.errors import AssayError

JUDGED = {f"q{i}": {"d1": 1} for i in range(40)}


def compare(name, places):
    """A system that puts the one relevant document first in some queries and second in the others."""
    base = {query: {"d1": 1.0, "d2": 2.0} for query in JUDGED}
    run = {query: {"d1": 3.0 if i < places else 1.0, "d2": 2.0} for i, query in enumerate(JUDGED)}
    return assay.compare(
        [assay.evaluate(JUDGED, base, ["rr"], name="base"), assay.evaluate(JUDGED, run, ["rr"], name=name)]
    )


def trial(name, more, control="base", lower=()):
    """A test of 2,000 users: every second one clicks in the control, and `more` of 1,000 of the treatment."""
    clicks = [i % 2 for i in range(1000)] + [int(i < 500 + more) for i in range(1000)]
    users = pl.DataFrame({"variant": [control] * 1000 + [name] * 1000, "clicks": clicks})
    return assay.ab_test(users, "clicks", control=control, days=14, lower_is_better=lower)


def test_a_prediction_is_right_wrong_or_open():
    found = assay.ab_history([
        compare("a", 30), trial("a", 100), compare("b", 30), trial("b", -100), compare("c", 30), trial("c", 2),
    ])  # fmt: skip
    assert [(one.name, one.prediction) for one in found.releases] == [("a", "right"), ("b", "wrong"), ("c", "open")]
    assert [found.count(kind) for kind in ("right", "wrong", "open")] == [1, 1, 1]


def test_numbers_are_those_of_the_comparison_and_of_the_test():
    (one,) = assay.ab_history([(compare("a", 30), trial("a", 100))]).releases
    assert one.offline.estimate == pytest.approx(30 / 40 * 0.5)  # from rank 2 to rank 1 in 30 of 40 queries
    assert one.online.estimate == pytest.approx(0.6 / 0.5 - 1)
    assert (one.offline_measure, one.online_measure) == ("rr", "clicks")


def test_the_share_of_equal_directions_and_the_order_count_every_release():
    places, more = [5, 20, 10, 30], [20, 60, -40, 90]
    given = [one for i in range(4) for one in (compare(f"s{i}", places[i]), trial(f"s{i}", more[i]))]
    found = assay.ab_history(given)
    assert found.same_way.estimate == pytest.approx(3 / 4)
    assert found.order.value == pytest.approx(kendalltau(places, more).statistic)
    assert found.too_few


def test_a_measure_of_which_less_is_better_is_turned_round():
    (one,) = assay.ab_history([compare("a", 30), trial("a", -100, lower=["clicks"])]).releases
    assert one.online.estimate == pytest.approx(0.2)
    assert one.online.low < 0.2 < one.online.high
    assert one.prediction == "right"


def test_one_system_and_one_treatment_are_a_pair_under_any_names():
    (one,) = assay.ab_history([(compare("bm25+rerank", 30), trial("green", 100))]).releases
    assert one.name == "green"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (lambda: [trial("a", 5)], "no comparison has a system called a"),
        (lambda: [compare("a", 5), compare("a", 6), trial("a", 5)], "several comparisons"),
        (lambda: [(trial("a", 5), compare("a", 5))], "the first result is an A/B test"),
        (lambda: [(compare("a", 5), compare("a", 5))], "the second result is a comparison"),
        (lambda: [compare("a", 5)], "there is no release"),
    ],
)
def test_results_that_do_not_belong_together_are_refused_with_the_cure(given, said):
    with pytest.raises(AssayError, match=said):
        assay.ab_history(given())


def test_an_invalid_test_is_refused():
    bad = trial("a", 5)
    bad = replace(bad, verdicts=tuple(replace(one, decision="invalid") for one in bad.verdicts))
    with pytest.raises(AssayError, match="is invalid"):
        assay.ab_history([(compare("a", 5), bad)])
    with pytest.raises(AssayError, match="is invalid"):
        assay.roi(bad, cost_per_query=0.001, queries_per_day=1000, revenue_per_query=0.01)


def test_money_takes_the_measured_lift_with_its_interval(tmp_path):
    test = trial("a", 100)
    lift = test.test("clicks").lift.relative
    test.save(tmp_path / "ab.json")
    given = {"cost_per_query": 0.001, "queries_per_day": 1000, "revenue_per_query": 0.01}
    found = assay.roi(tmp_path / "ab.json", **given)
    assert (str(found.method), found.gain.relative.value) == ("a instead of base", pytest.approx(0.2))
    assert found.revenue.value == pytest.approx(1000 * 0.01 * 0.2)
    assert (found.revenue.low, found.revenue.high) == pytest.approx((10 * lift.low, 10 * lift.high))
    assert 0.05 < lift.low < 0.15 < lift.high  # a gain of 5 % is shown, one of 15 % is not
    assert assay.roi(test, **given | {"cost_per_query": 0.0005}).outcome == "pays"
    assert assay.roi(test, **given | {"cost_per_query": 0.0015}).outcome == "open"
    assert assay.roi(trial("a", 2), **given | {"cost_per_query": 0.0}).outcome == "open"


def test_the_interval_of_a_sequential_test_is_as_much_wider_for_money():
    users = pl.DataFrame({"variant": ["base"] * 1000 + ["a"] * 1000,
                          "clicks": [i % 2 for i in range(1000)] + [int(i < 600) for i in range(1000)]})  # fmt: skip
    test = assay.ab_test(users, "clicks", control="base", days=14, sequential=True)
    one = test.test("clicks")
    found = assay.roi(test, cost_per_query=0.001, queries_per_day=1000, revenue_per_query=0.01).gain.relative
    wider = (one.always.high - one.always.low) / (one.lift.absolute.high - one.lift.absolute.low)
    assert wider > 1
    assert found.high - found.low == pytest.approx(wider * (one.lift.relative.high - one.lift.relative.low))


def test_money_of_a_measure_of_which_less_is_better_is_refused():
    with pytest.raises(AssayError, match="better when it is lower"):
        assay.roi(trial("a", 5, lower=["clicks"]), cost_per_query=0.001, queries_per_day=1000, revenue_per_query=0.01)
