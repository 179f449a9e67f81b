"""A/B tests: what is read, what is decided, and how often a decision is wrong."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest

import assay
from assay.errors import AssayError, InputError, UsageError
from assay.online.guardrails import read_guardrail
from assay.online.trial_reading import read_trial
from assay.stats import share_excess, share_lift


def make_users(n=4000, lift=0.0, seed=0, days=14, slower=0.0):
    rng = np.random.default_rng(seed)
    treated = np.arange(n) % 2
    habit = rng.gamma(2.0, 1.0, n)
    return pl.DataFrame({
        "user_id": [f"u{i}" for i in range(n)],
        "variant": np.where(treated, "new", "old"),
        "day": [f"2026-10-{1 + i * days // n:02d}" for i in range(n)],
        "clicks": rng.poisson(habit * (1 + lift * treated)),
        "clicks_before": rng.poisson(habit),
        "impressions": 5 + rng.poisson(5 * habit),
        "ms": rng.gamma(20.0, 10.0, n) * (1 + slower * treated),
    })  # fmt: skip


def decide(users, **more):
    return assay.ab_test(users, more.pop("measures", "clicks"), control="old", **more)


def test_a_clear_lift_is_shipped():
    found = decide(make_users(lift=0.3), guardrails=["ms<=+5%"], planned=4000)
    assert found.decision == "ship"
    assert [one.outcome for one in found.tests] == ["better", "holds"]


def test_no_lift_at_the_planned_end_is_not_shipped():
    found = decide(make_users(), planned=4000)
    assert found.decision == "do_not_ship"
    assert "ab.primary_inconclusive" in [reason.key for reason in found.verdicts[0].reasons]


def test_before_the_planned_size_there_is_no_verdict_however_large_the_lift():
    found = decide(make_users(lift=0.5), planned=9000)
    assert (found.decision, found.verdicts[0].reasons[0].key) == ("keep_running", "ab.early")


def test_less_than_a_week_keeps_running():
    found = decide(make_users(lift=0.5, days=3))
    assert (found.full_days, found.decision) == (3, "keep_running")
    assert decide(make_users(lift=0.5, days=3).drop("day"), days=9).decision == "ship"


def test_users_in_other_shares_than_planned_make_a_test_invalid():
    users = make_users(lift=0.5)
    lost = users.filter(~((pl.col("variant") == "new") & (pl.int_range(pl.len()) % 10 == 1)))
    assert decide(lost).decision == "invalid"
    assert decide(lost, shares={"old": 2000, "new": 1600}).decision == "ship"


def test_a_broken_guardrail_stops_a_better_treatment():
    found = decide(make_users(lift=0.5, slower=0.2), guardrails=["ms<=+5%"])
    assert (found.decision, found.test("ms").outcome) == ("do_not_ship", "broken")


def test_a_guardrail_that_is_not_shown_to_hold_stops_a_finished_test_and_keeps_a_sequential_one_running():
    users = make_users(n=4000, lift=1.0)
    found = decide(users, guardrails=["ms<=+0.1%"])
    assert (found.decision, found.test("ms").outcome) == ("do_not_ship", "open")
    assert decide(users, guardrails=["ms<=+0.1%"], sequential=True).decision == "keep_running"


def test_a_margin_relative_to_a_control_that_is_not_above_0_decides_nothing():
    rng = np.random.default_rng(1)
    users = pl.DataFrame({"variant": ["old", "new"] * 200, "clicks": rng.poisson(3, 400),
                          "profit": np.tile([-100.0, -99.0], 200) + rng.normal(0, 1, 400)})  # fmt: skip
    assert decide(users, guardrails=["profit>=-2%"], days=9).test("profit").outcome == "open"
    assert decide(users, guardrails=["profit>=-5"], days=9).test("profit").outcome == "holds"


def count_users(*counts):
    """Users of two arms, of whom so many have a 1: (with, without) each."""
    rows = [(name, 1) for name, (k, _) in zip(("old", "new"), counts, strict=True) for _ in range(k)]
    rows += [(name, 0) for name, (_, k) in zip(("old", "new"), counts, strict=True) for _ in range(k)]
    clicks = [i % 7 for i in range(len(rows))]
    return pl.DataFrame({"variant": [a for a, _ in rows], "crash": [b for _, b in rows], "clicks": clicks})


@pytest.mark.parametrize(("old", "new", "outcome"), [
    ((1, 54), (0, 55), "open"),  # none of 55 still allows 5 %
    ((0, 3000), (0, 3000), "holds"),  # no spread, and yet it is known well enough
    ((10, 990), (200, 800), "broken"),
])  # fmt: skip
def test_guardrails_of_shares_hold_by_wilsons_limits(old, new, outcome):
    found = decide(count_users(old, new), guardrails=["crash<=+0.03"], days=9)
    assert found.test("crash").outcome == outcome


def test_the_excess_of_a_share_is_newcombes_interval_where_the_factor_is_1():
    found = share_lift((30, 200), (45, 210), confidence_level=0.9)
    ours = share_excess(found, confidence_level=0.9)
    assert (ours.low, ours.high) == (pytest.approx(found.absolute.low), pytest.approx(found.absolute.high))


def test_a_share_needs_its_test_and_its_interval_to_be_better():
    found = decide(count_users((0, 1000), (4, 996)), measures="crash", lower_is_better=[], days=9)
    assert found.test("crash").lift.pvalue < 0.05
    assert found.test("crash").outcome == "inconclusive"


def test_few_users_get_no_verdict():
    found = decide(make_users(n=60, lift=5.0))
    assert (found.decision, found.test("clicks").outcome) == ("keep_running", "waiting")
    assert [reason.key for reason in found.verdicts[0].reasons] == ["ab.few"]


def test_nothing_is_said_of_better_before_the_planned_end():
    found = decide(make_users(lift=0.5), planned=9000)
    assert {one.outcome for one in found.tests} == {"waiting"}


def test_a_sequential_test_shows_only_what_holds_at_every_look():
    text = assay.show(decide(make_users(lift=0.5), sequential=True), "table")
    row = next(line for line in text.splitlines() if line.startswith("clicks "))
    assert row.count("[") == 1 and "0.0001" not in row


def test_days_are_calendar_days_and_other_texts_are_refused():
    users = make_users(lift=0.5, days=3)
    gap = users.with_columns(pl.col("day").replace("2026-10-03", "2026-10-20"))
    assert decide(gap).full_days == 20
    with pytest.raises(InputError, match="'1/2/2026 0' is not a day"):
        decide(users.with_columns(pl.lit("1/2/2026 01:05").alias("day")))


def test_measures_whose_names_say_so_are_better_when_lower():
    found = decide(make_users(slower=0.2), measures="ms")
    assert (found.test("ms").lower_is_better, found.test("ms").outcome) == (True, "worse")
    with pytest.raises(AssayError, match="unknown measure 'latency'"):
        decide(make_users(n=200), lower_is_better=["latency"])


def test_of_several_treatments_the_one_that_may_be_shipped_decides():
    users = make_users(n=3000).with_columns(pl.Series("variant", ["old", "new", "newer"] * 1000))
    found = decide(users.with_columns(pl.col("clicks") + (pl.col("variant") == "newer").cast(pl.Int64)))
    assert [one.decision for one in found.verdicts] == ["do_not_ship", "ship"]
    assert found.decision == "ship"


def test_a_measure_that_decides_is_no_guardrail():
    with pytest.raises(UsageError, match="both the measure that decides and a guardrail"):
        decide(make_users(n=200), measures=["ms", "clicks"], guardrails=["ms<=+5%"])


@pytest.mark.parametrize(("rows", "said"), [
    ("A,c,10,5,9\nB,c,10,5,9\nA,d,9,5,9\nB,d,10,5,9", "A: d counts 9 users, c 10"),
    ("A,c,10,5,9\nB,c,10,5,9\nA,d,10,5,9", "d has no row of B"),
])  # fmt: skip
def test_sums_of_other_users_than_the_others_are_refused(rows, said, tmp_path):
    place = tmp_path / "arms.csv"
    place.write_text(f"variant,measure,n,sum,sum_squares\n{rows}\n", encoding="utf-8")
    with pytest.raises(InputError, match=said):
        read_trial(place)


def test_a_huge_lift_needs_few_users():
    assert assay.plan_ab_test(mean=3.5, deviation=2.7, lift=5).users <= 20  # they vary by 6 x 2.7 then


def test_a_plan_counts_how_users_of_the_treatment_vary():
    plan = assay.plan_ab_test(mean=0.2, lift=0.1)
    assert plan.treatment_deviation == pytest.approx(math.sqrt(0.22 * 0.78))
    amounts = assay.plan_ab_test(mean=8.0, deviation=2.0, absolute=0.8)
    assert amounts.treatment_deviation == pytest.approx(2.2)
    counts = assay.plan_ab_test(pl.DataFrame({"clicks": [0, 1, 2, 5] * 250}), "clicks", lift=0.5)
    halves = assay.plan_ab_test(pl.DataFrame({"clicks": [0.0, 1.0, 2.0, 5.5] * 250}), "clicks", lift=0.5)
    assert counts.treatment_deviation == pytest.approx(math.sqrt(2.25 * (3.5 - 2) + 1.5 * 2), rel=2e-3)
    assert halves.treatment_deviation == pytest.approx(1.5 * halves.deviation)


def test_a_plan_for_so_many_users_names_the_lift_that_a_plan_for_the_lift_needs_them_for():
    for known in ({"mean": 0.2}, {"mean": 3.0, "deviation": 4.0}):
        needed = assay.plan_ab_test(lift=0.1, **known).users
        assert assay.plan_ab_test(size=needed, **known).relative == pytest.approx(0.1, rel=1e-3)


def test_too_few_users_show_no_lift_of_a_measure_that_varies_by_what_it_is_multiplied_by():
    plan = assay.plan_ab_test(mean=1.0, deviation=10.0, size=100)
    assert plan.lift is None
    assert "too few to detect a lift of any size" in str(plan)


def test_no_share_is_planned_to_rise_above_1():
    with pytest.raises(UsageError, match="cannot be above 1"):
        assay.plan_ab_test(mean=0.8, lift=0.5)
    assert assay.plan_ab_test(mean=0.8, size=12).lift is None


@pytest.mark.parametrize(("text", "margin", "relative", "lower"), [
    ("latency_ms<=+5%", 0.05, True, True), ("revenue >= -2 %", 0.02, True, False), ("errors<=0.001", 0.001, False, True),
])  # fmt: skip
def test_a_guardrail_is_read(text, margin, relative, lower):
    found = read_guardrail(text)
    assert (found.margin, found.relative, found.lower_is_better) == (pytest.approx(margin), relative, lower)


@pytest.mark.parametrize("text", ["latency", "latency=5%", "latency<=-5%", "revenue>=+2%", "revenue>=0%"])
def test_a_guardrail_without_a_sense_is_refused(text):
    with pytest.raises(UsageError, match="write NAME<=\\+5%"):
        read_guardrail(text)


def test_users_and_sums_give_the_same_test(tmp_path):
    users = make_users(lift=0.1)
    rows = ["variant,measure,n,sum,sum_squares,denominator_sum,denominator_sum_squares,sum_products"]
    for name in ("old", "new"):
        a, b = (
            users.filter(pl.col("variant") == name)[column].to_numpy().astype(float)
            for column in ("clicks", "impressions")
        )
        rows.append(f"{name},ctr,{len(a)},{a.sum()},{a @ a},{b.sum()},{b @ b},{a @ b}")
    (tmp_path / "arms.csv").write_text("\n".join(rows), encoding="utf-8")
    one = decide(users, measures="clicks/impressions").tests[0].lift
    other = decide(tmp_path / "arms.csv", measures="ctr", days=14).tests[0].lift
    np.testing.assert_allclose(
        [one.control, one.treatment, one.absolute.low, one.absolute.high, one.relative.low, one.pvalue],
        [other.control, other.treatment, other.absolute.low, other.absolute.high, other.relative.low, other.pvalue],
        rtol=1e-9,
    )


def test_a_covariate_makes_the_interval_shorter_and_is_named():
    users = make_users(n=8000)
    plain, sharp = (decide(users, cuped=cuped).test("clicks").lift for cuped in (False, True))
    assert sharp.absolute.high - sharp.absolute.low < plain.absolute.high - plain.absolute.low
    assert 0.2 < sharp.reduction < 0.5
    assert "ab.corrected" in [text.key for text in decide(users).warnings]


def test_several_treatments_and_measures_are_corrected_together():
    users = make_users(n=3000, seed=3)
    three = users.with_columns(pl.Series("variant", ["old", "new", "newer"] * 1000))
    found = decide(three, measures=["clicks", "impressions", "ms"])
    primary = [one for one in found.tests if one.role == "primary"]
    low = min(primary, key=lambda one: one.lift.pvalue)
    assert low.adjusted == pytest.approx(min(2 * low.lift.pvalue, 1.0))
    assert [one.role for one in found.tests].count("secondary") == 4


@pytest.mark.parametrize(("change", "said"), [
    (lambda u: pl.concat([u, u[:1].with_columns(pl.lit("new").alias("variant"))]), "1 user is in more than one variant"),
    (lambda u: pl.concat([u, u[:1]]), "user 'u0' has several rows"),
    (lambda u: u.with_columns(pl.when(pl.int_range(pl.len()) == 0).then(None).otherwise(pl.col("clicks")).alias("clicks")), "'clicks': 1 user has no number"),
    (lambda u: u.with_columns(pl.when(pl.int_range(pl.len()) == 0).then(pl.lit("Old ")).otherwise(pl.col("variant")).alias("variant")), "look like the same one"),
    (lambda u: u.with_columns(pl.when(pl.int_range(pl.len()) < 3).then(None).otherwise(pl.col("variant")).alias("variant")), "3 rows have no variant"),
    (lambda u: u.drop("clicks"), "there is no column 'clicks'"),
    (lambda u: u.drop("variant"), "variant"),
    (lambda u: u.filter(pl.col("variant") == "old"), "one variant only"),
])  # fmt: skip
def test_a_faulty_table_of_users_is_refused_in_one_line(change, said):
    with pytest.raises(AssayError, match=said):
        decide(change(make_users(n=100)))


@pytest.mark.parametrize(("row", "said"), [
    ("A,c,x,1,1", "n = 'x': expected a number"), ("A,c,10,,1", "needs n"), ("A,c,10,100,10", "do not fit together"),
    ("A,c,10,5,9\nA,c,10,5,9", "c of A has two rows"),
])  # fmt: skip
def test_faulty_sums_are_refused_with_their_line(row, said, tmp_path):
    place = tmp_path / "arms.csv"
    place.write_text(f"variant,measure,n,sum,sum_squares\nB,c,10,5,9\n{row}\n", encoding="utf-8")
    with pytest.raises(InputError, match=said) as caught:
        read_trial(place)
    assert caught.value.line is not None


def test_users_of_a_large_file_are_reduced_as_numpy_does_it(tmp_path, monkeypatch):
    monkeypatch.setattr("assay.formats.trials._SCANNED", 0)
    users = make_users(n=3000).with_columns(pl.col("ms") + 1e7, flat=pl.lit(0.1))
    users.write_parquet(tmp_path / "users.parquet")
    data = read_trial(tmp_path / "users.parquet", ["clicks/impressions", "ms", "flat"])
    assert data.variants == ("old", "new")
    for name, arms in ((name, data.arms(name)) for name in data.measures):
        for variant, arm in arms.items():
            rows = users.filter(pl.col("variant") == variant)
            columns = [rows[one].to_numpy().astype(float) for one in name.split("/")]
            assert [*arm.means[: len(columns)]] == pytest.approx([one.mean() for one in columns], rel=1e-12)
            assert arm.covariances[0][0] == pytest.approx(np.var(columns[0], ddof=1), rel=1e-9, abs=1e-30)
            if len(columns) > 1:
                assert arm.covariances[0][1] == pytest.approx(np.cov(*columns)[0, 1], rel=1e-9)


def test_a_large_file_of_users_with_damaged_values_is_refused_in_one_line(tmp_path, monkeypatch):
    monkeypatch.setattr("assay.formats.trials._SCANNED", 0)
    place = tmp_path / "users.parquet"
    make_users(n=3000).write_parquet(place, compression="zstd")
    data = bytearray(place.read_bytes())
    data[2000:9000] = bytes(7000)
    place.write_bytes(data)
    with pytest.raises(InputError) as caught:
        read_trial(place)
    assert "\n" not in str(caught.value)


def test_a_column_of_lists_is_no_measure():
    users = make_users(n=100).with_columns(clicks=pl.concat_list("clicks", "ms"))
    with pytest.raises(InputError, match="cannot be read as a table"):
        decide(users)


def test_the_control_must_be_known():
    with pytest.raises(UsageError, match="which variant is the control"):
        assay.ab_test(make_users(n=50), "clicks")
    named = make_users(n=50).with_columns(pl.col("variant").replace("old", "control"))
    assert assay.ab_test(named, "clicks").control == "control"
