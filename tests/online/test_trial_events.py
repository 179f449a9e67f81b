"""A/B tests from event logs: the same numbers as from the users that a few lines of Python count in them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import polars as pl
import pytest

import assay
from assay.data.events import Events
from assay.errors import UsageError

START = datetime(2026, 10, 1, 8, tzinfo=UTC)


def make_log(users=600, lift=0.0, seed=0, *, before=False, answer_more=0.0):
    """Requests, clicks and ratings of users who differ, each of one variant, over ten days."""
    rng, rows = np.random.default_rng(seed), []
    for i in range(users):
        variant, habit = ("old", "new")[i % 2], rng.beta(2, 3)
        first = START + timedelta(days=i % 10, minutes=int(rng.integers(600)))
        times = [(first + timedelta(minutes=j), variant) for j in range(1 + rng.poisson(2))]
        earlier = [(START - timedelta(days=3, minutes=j), None) for j in range(rng.poisson(4))] if before else []
        for j, (time, given) in enumerate([*earlier, *times]):
            of = {"query_id": f"{i}-{j}", "user": f"u{i}", "time": time, "variant": given}
            rows.append({**of, "action": "query", "latency_ms": float(rng.gamma(20, 5))})
            if rng.random() < habit * (1 + (lift if given == "new" else 0)):
                rows.append({**of, "action": "click", "doc_id": "d", "position": 1})
            if given and rng.random() < 0.3 + (answer_more if given == "new" else 0):
                rows.append({**of, "action": "rating", "feedback": float(rng.integers(1, 6))})
    return pl.DataFrame(rows, infer_schema_length=None)


def count_users(log):
    """One row per user, counted by hand."""
    found = {}
    for row in log.sort("time").iter_rows(named=True):
        user = found.setdefault(row["user"], {"user_id": row["user"], "variant": None, "day": None, "queries": 0, "clicked": set(),
                                              "queries_before": 0, "clicked_before": set()})  # fmt: skip
        tail = "" if row["variant"] else "_before"
        if row["action"] == "query":
            user[f"queries{tail}"] += 1
        if row["action"] == "click":
            user[f"clicked{tail}"].add(row["query_id"])
        if row["variant"] and user["day"] is None:
            user["variant"], user["day"] = row["variant"], row["time"].date().isoformat()
    return pl.DataFrame([
        {**user, "clicked": len(user["clicked"]), "clicked_before": len(user["clicked_before"])} for user in found.values()
    ])  # fmt: skip


def numbers(test):
    one = test.lift
    return (
        one.control,
        one.treatment,
        one.absolute.low,
        one.absolute.high,
        one.relative.low,
        one.relative.high,
        one.pvalue,
    )


def test_a_log_gives_the_same_lift_as_its_users():
    log = make_log(lift=0.3)
    found = assay.ab_test(Events.of(log), "any_click", control="old")
    expected = assay.ab_test(count_users(log), "clicked/queries", control="old", cuped=False)
    assert numbers(found.test("any_click")) == pytest.approx(numbers(expected.test("clicked/queries")), rel=1e-12)
    assert dict(found.users) == dict(expected.users)
    assert [(one.day, dict(one.users)) for one in found.days] == [(one.day, dict(one.users)) for one in expected.days]


def test_requests_from_before_the_test_correct_the_measure():
    log = make_log(lift=0.3, before=True)
    found = assay.ab_test(Events.of(log), "any_click", control="old")
    expected = assay.ab_test(count_users(log), "clicked/queries", control="old")
    plain = assay.ab_test(Events.of(log), "any_click", control="old", cuped=False)
    assert numbers(found.test("any_click")) == pytest.approx(numbers(expected.test("clicked/queries")), rel=1e-12)
    assert found.test("any_click").lift.standard_error < plain.test("any_click").lift.standard_error
    assert "ab.corrected" in [one.key for one in found.warnings]


def cross(log, share):
    """Let some of the users make their last request under the other variant."""
    last = (
        log.filter(pl.col("action") == "query")
        .group_by("user", maintain_order=True)
        .agg(pl.col("query_id").last(), n=pl.len())
    )
    chosen = last.filter(pl.col("n") > 1)["query_id"].head(int(share * log["user"].n_unique()))
    other = pl.col("variant").replace_strict({"old": "new", "new": "old"})
    return log.with_columns(
        pl.when(pl.col("query_id").is_in(chosen.to_list())).then(other).otherwise("variant").alias("variant")
    )


def test_users_of_two_variants_count_for_the_first_with_all_they_did():
    log = make_log()
    found = assay.ab_test(Events.of(cross(log, 0.008)), "any_click", control="old")
    assert numbers(found.test("any_click")) == pytest.approx(
        numbers(assay.ab_test(Events.of(log), "any_click", control="old").test("any_click"))
    )
    assert [dict(one.values)["n"] for one in found.warnings if one.key == "ab.log_crossed"] == [4]


def test_a_test_with_many_users_of_two_variants_is_invalid():
    found = assay.ab_test(Events.of(cross(make_log(lift=0.5), 0.03)), "any_click", control="old")
    assert (found.decision, found.verdicts[0].reasons[0].key) == ("invalid", "ab.crossed")


def test_few_requests_from_before_the_test_correct_nothing():
    log = make_log(lift=0.3)
    early = {"query_id": "x", "user": "u0", "time": START - timedelta(days=1), "variant": None, "action": "query"}
    more = pl.concat(
        [log, pl.DataFrame([early, {**early, "action": "click"}], schema_overrides={"variant": pl.String})],
        how="diagonal",
    )
    found, plain = (assay.ab_test(Events.of(one), "any_click", control="old") for one in (more, log))
    assert numbers(found.test("any_click")) == pytest.approx(numbers(plain.test("any_click")))
    assert "ab.corrected" not in [one.key for one in found.warnings]


def test_a_time_before_the_test_without_any_click_is_no_reason_to_refuse():
    log = make_log(before=True).filter(pl.col("variant").is_not_null() | (pl.col("action") == "query"))
    assert assay.ab_test(Events.of(log), "any_click", control="old").test("any_click").lift.pvalue is not None


def test_a_measure_that_few_users_have_gets_no_verdict():
    log = make_log(users=400)
    rated = log.filter(pl.col("action") == "rating").with_row_index().filter(pl.col("index") % 12 == 0)["query_id"]
    few = log.filter((pl.col("action") != "rating") | pl.col("query_id").is_in(rated.to_list()))
    found = assay.ab_test(Events.of(few), "satisfaction", control="old")
    assert (found.decision, found.test("satisfaction").outcome) == ("keep_running", "waiting")
    assert "ab.few" in [one.key for one in found.verdicts[0].reasons]


@pytest.mark.parametrize(("hours", "days"), [(13 * 24 + 23.9, 14), (6 * 24 + 0.01, 6), (0.5, 0)])
def test_full_days_are_those_between_the_first_and_the_last_request(hours, days):
    ends = [START, START + timedelta(hours=hours)]
    rows = [
        {
            "query_id": f"{i}",
            "user": f"u{i}",
            "time": ends[i // 2 % 2],
            "variant": ("old", "new")[i % 2],
            "action": "query",
        }
        for i in range(400)
    ]
    log = pl.DataFrame([*rows, {**rows[0], "action": "click"}])
    assert assay.ab_test(Events.of(log), "any_click", control="old").full_days == days


def test_one_of_several_experiments_is_chosen_by_name():
    log = make_log().with_columns(experiment=pl.lit("colour"))
    second = log.with_columns(pl.col("query_id") + "-2", experiment=pl.lit("font"), variant=pl.lit("other"))
    both = Events.of(pl.concat([log, second]))
    with pytest.raises(UsageError, match=r"--experiment .*colour.*font"):
        assay.ab_test(both, "any_click", control="old")
    found = assay.ab_test(both, "any_click", control="old", experiment="colour")
    assert numbers(found.test("any_click")) == pytest.approx(
        numbers(assay.ab_test(Events.of(log), "any_click", control="old").test("any_click"))
    )


def test_requests_of_the_test_without_a_user_are_left_out_and_counted():
    log = make_log()
    nobody = log.head(1).with_columns(user=pl.lit(None, pl.String), query_id=pl.lit("x"), action=pl.lit("query"))
    found = assay.ab_test(Events.of(pl.concat([log, nobody])), "any_click", control="old")
    assert [dict(one.values)["n"] for one in found.warnings if one.key == "ab.log_nobody"] == [1]


def test_a_test_without_a_verdict_says_nothing_about_money():
    found = assay.ab_test(Events.of(make_log(lift=-0.5)), "any_click", control="old", planned=100_000)
    assert found.test("any_click").outcome == "waiting"
    assert assay.roi(found, cost_per_query=0.001, queries_per_day=1000, revenue_per_query=0.01).outcome == "no_interval"


def test_requests_without_a_variant_are_no_part_of_the_test_and_are_counted():
    log = make_log(before=True)
    outside = log.filter(pl.col("variant").is_null() & (pl.col("action") == "query")).height
    found = assay.ab_test(Events.of(log), "any_click", control="old")
    assert [dict(one.values)["n"] for one in found.warnings if one.key == "ab.log_outside"] == [outside]


def test_less_is_better_for_measures_that_say_so():
    found = assay.ab_test(Events.of(make_log()), ["any_click", "query_latency", "abandonment"], control="old")
    assert [one.lower_is_better for one in found.tests] == [False, True, True]


def test_a_guardrail_of_a_log_is_a_click_measure():
    found = assay.ab_test(Events.of(make_log()), "any_click", control="old", guardrails=["query_latency<=+20%"])
    assert found.test("query_latency").outcome == "holds"


def test_ratings_are_compared_where_as_many_requests_are_rated():
    found = assay.ab_test(Events.of(make_log()), "satisfaction", control="old")
    (one,) = found.responses
    assert not one.differs
    log = make_log()
    rated = log.filter(pl.col("action") == "rating", pl.col("variant") == "old").height
    asked = log.filter(pl.col("action") == "query", pl.col("variant") == "old").height
    assert one.control_share == pytest.approx(rated / asked)


def test_no_lift_of_ratings_is_shipped_where_more_people_answer():
    log = make_log(users=2000, answer_more=0.2)
    best = pl.when((pl.col("action") == "rating") & (pl.col("variant") == "new")).then(5.0).otherwise("feedback")
    better = log.with_columns(best.alias("feedback"))
    found = assay.ab_test(Events.of(better), "satisfaction", control="old")
    assert (found.responses[0].differs, found.decision) == (True, "do_not_ship")
    assert "ab.responses_differ" in [one.key for one in found.verdicts[0].reasons]


@pytest.mark.parametrize(
    ("change", "measure", "said"),
    [
        (
            lambda log: log.with_columns(variant=pl.lit(None, pl.String)),
            "any_click",
            "no request of the log has a variant and a user",
        ),
        (lambda log: log, "query_latency(p=95)", "is a percentile"),
        (lambda log: log.drop("user"), "any_click", "the log has no users"),
        (lambda log: log, "thumbs", "needs"),
    ],
)
def test_what_a_log_cannot_decide_is_refused(change, measure, said):
    with pytest.raises(UsageError, match=said):
        assay.ab_test(Events.of(change(make_log(users=40))), measure, control="old")


def test_a_log_needs_a_measure_that_decides():
    with pytest.raises(UsageError, match="which measure decides"):
        assay.ab_test(Events.of(make_log(users=40)), control="old")


def test_a_plan_takes_the_spread_of_last_months_log():
    log = make_log()
    found = assay.plan_ab_test(Events.of(log.drop("variant")), "any_click", lift=0.1)
    users = count_users(log).select("clicked", "queries").to_numpy()
    mean = users[:, 0].sum() / users[:, 1].sum()
    spread = np.std(users[:, 0] - mean * users[:, 1], ddof=1) / users[:, 1].mean()
    assert (found.mean, found.deviation) == pytest.approx((mean, spread))
