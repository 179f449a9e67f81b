"""How often A/B tests of tables of users are wrong, on users whose truth is known; in full with ASSAY_STRESS=1.

`pytest -s` prints the figures of docs/ab.md.
"""

from __future__ import annotations

import os
import sys

import numpy as np
import polars as pl
import pytest
from scipy.stats import binom

import assay
from assay.online.ab import measure_lift
from assay.online.guardrails import check_guardrail, read_guardrail
from assay.results.ab_test import MeasureTest, TrialRules
from assay.stats.arms import arm_of
from assay.stats.trials import sample_ratio
from simulated_looks import CONSTANT, find_lifts, half_widths, sums_of_steps

STRESS = os.environ.get("ASSAY_STRESS") == "1"
CASES = 4000 if STRESS else 150
SLACK = 0 if STRESS else 4  # Monte Carlo errors that the reduced counts may be off by


def draw_share(rng, n, f=1.0):
    return {"y": rng.binomial(1, 0.2 * f, n)}


def draw_amounts(rng, n, f=1.0):
    """A heavy tail: lognormal."""
    return {"y": f * np.exp(rng.normal(0, 1, n))}


def draw_counts(rng, n, f=1.0):
    """Events of users with rates of their own."""
    return {"y": rng.poisson(f * rng.gamma(2, 1.0, n))}


def draw_ratios(rng, n, f=1.0):
    """Clicks of sessions that hang together by user."""
    habit, sessions = 0.8 * rng.beta(2, 3, n), 1 + rng.negative_binomial(1, 0.3, n)
    return {"y": rng.binomial(sessions, f * habit), "d": sessions}


def draw_amounts_before(rng, n, f=1.0):
    level = rng.gamma(2, 1.0, n)
    return {"y": f * level * rng.exponential(1, n) ** 0.3, "y_before": level * rng.exponential(1, n) ** 0.3}


def draw_counts_before(rng, n, f=1.0):
    rate = rng.gamma(2, 1.5, n)
    return {"y": rng.poisson(f * rate), "y_before": rng.poisson(rate)}


def draw_ratios_before(rng, n, f=1.0):
    habit, sessions = 0.8 * rng.beta(2, 3, n), 1 + rng.negative_binomial(1, 0.3, n)
    earlier = rng.negative_binomial(2, 0.3, n)
    return {"y": rng.binomial(sessions, f * habit), "d": sessions, "y_before": rng.binomial(earlier, habit),
            "d_before": earlier}  # fmt: skip


MEANS = {draw_share: 0.2, draw_amounts: np.exp(0.5), draw_counts: 2.0, draw_ratios: 0.32, draw_counts_before: 3.0,
         draw_ratios_before: 0.32, draw_amounts_before: 2 * 0.8974706963062772}  # fmt: skip
KINDS = pytest.mark.parametrize("draw", list(MEANS), ids=lambda draw: draw.__name__.removeprefix("draw_"))


def tell(text):
    """Print a figure, for docs/ab.md."""
    sys.stdout.write(f"{text}\n")


def error(rate, cases=CASES):
    return np.sqrt(rate * (1 - rate) / cases)


def find_lift(draw, rng, n, f=1.0):
    arms = []
    for factor in (1.0, f):
        one = draw(rng, n, factor)
        before = {"covariate": one.get("y_before"), "covariate_denominator": one.get("d_before")}
        arms.append(arm_of(one["y"], one.get("d"), **before))
    return measure_lift(*arms, 0.95, share=draw is draw_share)


@KINDS
@pytest.mark.parametrize("n", [200, 1000])
def test_two_equal_groups_of_users_are_rarely_called_different(draw, n):
    rng = np.random.default_rng(7)
    found = [find_lift(draw, rng, n) for _ in range(CASES)]
    rate = np.mean([one.pvalue <= 0.05 for one in found])
    both = np.mean([one.pvalue <= 0.05 and one.absolute.excludes(0.0) for one in found])
    tell(f"A/A {draw.__name__} {n} users an arm: {rate:.4f} (decided: {both:.4f}) +- {error(0.05):.4f}")
    assert 0.035 - SLACK * error(0.05) <= both <= rate <= 0.065 + SLACK * error(0.05)


@KINDS
@pytest.mark.parametrize("n", [200, 1000])
def test_true_lifts_of_users_are_covered(draw, n):
    rng, lift = np.random.default_rng(3), 0.15
    found = [find_lift(draw, rng, n, 1 + lift) for _ in range(CASES)]
    covered = np.mean([one.absolute.low <= lift * MEANS[draw] <= one.absolute.high for one in found])
    relative = np.mean([one.relative.low <= lift <= one.relative.high for one in found])
    tell(f"coverage {draw.__name__} {n}: absolute {covered:.4f}, relative {relative:.4f} +- {error(0.95):.4f}")
    assert min(covered, relative) >= 0.93 - SLACK * error(0.05)


@KINDS
@pytest.mark.parametrize("lift", [0.05, 0.15])
def test_a_test_that_is_planned_for_a_power_has_it(draw, lift):
    if lift < 0.1 and not STRESS:
        pytest.skip("many users: in full with ASSAY_STRESS=1")
    rng = np.random.default_rng(17)
    last = pl.DataFrame(draw(rng, 200_000 if STRESS else 50_000))
    plan = assay.plan_ab_test(last, "y/d" if "d" in last.columns else "y", lift=lift)
    found = [find_lift(draw, rng, -(-plan.users // 2), 1 + lift) for _ in range(CASES)]
    power = np.mean([one.pvalue <= 0.05 and one.absolute.low > 0 for one in found])
    tell(f"planned {plan.users} users {draw.__name__}, lift {lift}: {power:.4f} +- {error(0.8):.4f}")
    assert power == pytest.approx(0.8, abs=0.03 + SLACK * error(0.8))


@KINDS
@pytest.mark.parametrize("n", [200, 1000])
def test_a_guardrail_of_users_at_its_margin_rarely_holds_or_breaks(draw, n):
    rng, rule, rules = np.random.default_rng(23), read_guardrail("y>=-10%"), TrialRules()
    tests = (
        MeasureTest("y", "new", "guardrail", rule.lower_is_better, find_lift(draw, rng, n, 0.9), "open")
        for _ in range(CASES)
    )
    outcomes = [check_guardrail(test, rule, rules).outcome for test in tests]
    rates = {name: outcomes.count(name) / CASES for name in ("holds", "broken")}
    tell(f"guardrail {draw.__name__} {n}: {rates} +- {error(0.05):.4f}")
    for rate in rates.values():
        assert 0.035 - SLACK * error(0.05) <= rate <= 0.065 + SLACK * error(0.05)


def as_table(one):
    columns = (one.get(name) for name in ("y", "d", "y_before", "d_before"))
    n = len(one["y"])
    return np.stack([np.full(n, c) if x is None else x * 1.0 for x, c in zip(columns, CONSTANT, strict=True)], axis=1)


@KINDS
def test_simulated_looks_are_those_of_the_analysis(draw):
    rng = np.random.default_rng(12)
    old, new = (as_table(draw(rng, 400)) for _ in range(2))
    estimates, errors = find_lifts(sums_of_steps(old, 100), sums_of_steps(new, 100))
    for look in range(4):
        arms = [arm_of(one[:, 0], one[:, 1], covariate=one[:, 2], covariate_denominator=one[:, 3])
                for one in (old[: 100 * look + 100], new[: 100 * look + 100])]  # fmt: skip
        found = measure_lift(*arms, 0.95, share=draw is draw_share)
        error_of = np.sqrt(
            errors[look] * (99 + 100 * look) / (100 + 100 * look) if draw is draw_share else errors[look]
        )
        assert (found.absolute.estimate, found.standard_error) == pytest.approx((estimates[look], error_of))


@KINDS
def test_a_sequential_test_of_users_has_its_level_over_fifty_looks(draw):
    rng, looks, step = np.random.default_rng(11), 50, 20
    half, alarms = half_widths(2 * step * np.arange(1, looks + 1), tuning=1000), []
    for _ in range(CASES):
        estimates, errors = find_lifts(*(sums_of_steps(as_table(draw(rng, looks * step)), step) for _ in range(2)))
        alarms.append((np.abs(estimates) > half * np.sqrt(errors)) & (errors > 0))
    ever, later = np.any(alarms, axis=1).mean(), np.any(np.array(alarms)[:, 2:], axis=1).mean()
    tell(f"sequential {draw.__name__}, 50 looks: {ever:.4f}, from 60 users an arm on {later:.4f} +- {error(0.05):.4f}")
    assert later <= 0.05 + SLACK * error(0.05)


@pytest.mark.parametrize(("users", "share"), [(100, 0.5), (1000, 0.5), (5000, 0.1), (100_000, 0.5)])
def test_an_alarm_of_the_sample_ratio_is_as_rare_as_it_says(users, share):
    level = 0.001
    k = np.arange(users + 1)
    near = k[np.abs(k - users * share) <= 12 * np.sqrt(users * share * (1 - share))].tolist()
    alarms = [one for one in near if sample_ratio([one, users - one], [share, 1 - share]).pvalue < level]
    rate = binom.pmf(alarms, users, share).sum()
    tell(f"sample ratio {users} users, share {share}: {rate:.5f}")
    assert rate == pytest.approx(level, abs=4e-4)


def test_alarms_of_the_sample_ratio_by_day_are_as_rare_together():
    rng, days, cases = np.random.default_rng(5), 14, 200_000 if STRESS else 20_000
    split = rng.binomial(500, 0.5, (cases, days))
    alarm = {k: sample_ratio([k, 500 - k]).pvalue < 0.001 / days for k in np.unique(split).tolist()}
    odd = np.isin(split, [k for k, found in alarm.items() if found]).any(axis=1)
    rate = odd.mean()
    tell(f"sample ratio by day, any of {days} days: {rate:.5f} +- {error(0.001, cases):.5f}")
    assert rate <= 0.001 + (3 if STRESS else 4) * error(0.001, cases)
    log = pl.DataFrame({
        "variant": ["old", "new"] * 250 + ["old"] * 300 + ["new"] * 200,
        "day": ["2026-11-02"] * 500 + ["2026-11-03"] * 500,
        "y": [0, 1] * 500,
    })  # fmt: skip
    found = assay.ab_test(log, "y", control="old")
    assert any("2026-11-03" in text and "2026-11-02" not in text for text in map(str, found.warnings))
