"""How often A/B tests decided from event logs are wrong, on logs whose truth is known; in full with ASSAY_STRESS=1.

The users' sums are added up from the simulated requests; a first test shows that the path through events comes to the
same numbers. `pytest -s` prints the figures of docs/ab.md.
"""

from __future__ import annotations

import os
import sys

import numpy as np
import polars as pl
import pytest

import assay
from assay.online.guardrails import check_guardrail, read_guardrail
from assay.results.ab_test import MeasureTest, TrialRules
from assay.stats.trials import confidence_sequence
from simulated_logs import MEASURES, add_up, as_events, draw_requests, find_lift
from simulated_looks import find_lifts, half_widths, sums_of_growth

STRESS = os.environ.get("ASSAY_STRESS") == "1"
CASES = 4000 if STRESS else 150
SLACK = 0 if STRESS else 4  # Monte Carlo errors that the reduced counts may be off by
KINDS = [(name, cuped, False) for name in MEASURES for cuped in (False, True)] + [("any_click", False, True)]


def tell(text):
    """Print a figure, for docs/ab.md."""
    sys.stdout.write(f"{text}\n")


def error(rate, cases=CASES):
    return np.sqrt(rate * (1 - rate) / cases)


def called(kind):
    name, cuped, once = kind
    return f"{name}{' with CUPED' if cuped else ''}{', one request each' if once else ''}"


@pytest.mark.parametrize(("cuped", "once"), [(False, False), (True, False), (False, True)])
def test_sums_of_simulated_users_are_those_of_their_events(cuped, once):
    rng = np.random.default_rng(9)
    for _ in range(24 if STRESS else 2):
        requests = draw_requests(rng, users=300, lift=0.1, once=once)
        found = assay.ab_test(as_events(requests), list(MEASURES), control="old", cuped=cuped)
        for name in MEASURES:
            ours, theirs = find_lift(requests, name, cuped=cuped), found.test(name).lift
            assert ours.n == theirs.n
            for one in ("absolute", "relative"):
                a, b = getattr(ours, one), getattr(theirs, one)
                np.testing.assert_allclose([a.low, a.high, ours.pvalue], [b.low, b.high, theirs.pvalue], rtol=1e-9)


@pytest.mark.parametrize("kind", KINDS, ids=called)
def test_two_equal_variants_of_a_log_are_rarely_called_different(kind):
    rng, (name, cuped, once) = np.random.default_rng(1), kind
    found = [find_lift(draw_requests(rng, once=once), name, cuped=cuped) for _ in range(CASES)]
    rate = np.mean([one.pvalue <= 0.05 for one in found])
    covered = np.mean([one.absolute.low <= 0 <= one.absolute.high for one in found])
    tell(f"A/A {called(kind)}: {rate:.4f} +- {error(0.05):.4f}, covered {covered:.4f}")
    assert 0.035 - SLACK * error(0.05) <= rate <= 0.065 + SLACK * error(0.05)
    assert covered >= 0.93 - SLACK * error(0.05)


@pytest.mark.parametrize("cuped", [False, True])
@pytest.mark.parametrize(("rule", "change"), [("query_latency<=+5%", 0.05), ("any_click>=-5%", -0.05)])
def test_a_guardrail_at_its_margin_rarely_holds_or_breaks(rule, change, cuped):
    rng, held, rules = np.random.default_rng(6), read_guardrail(rule), TrialRules()
    how = {"slower": change} if change > 0 else {"lift": change}
    outcomes = []
    for _ in range(CASES):
        found = find_lift(draw_requests(rng, **how), held.measure, cuped=cuped)
        test = MeasureTest(held.measure, "new", "guardrail", held.lower_is_better, found, "open")
        outcomes.append(check_guardrail(test, held, rules).outcome)
    rates = {name: outcomes.count(name) / CASES for name in ("holds", "broken")}
    tell(f"guardrail {rule} cuped={cuped}: {rates} +- {error(0.05):.4f}")
    for rate in rates.values():
        assert 0.035 - SLACK * error(0.05) <= rate <= 0.065 + SLACK * error(0.05)


@pytest.mark.parametrize("kind", KINDS, ids=called)
def test_a_true_lift_of_a_log_is_covered(kind):
    rng, (name, cuped, once) = np.random.default_rng(2), kind
    how = {"slower": 0.2} if name == "query_latency" else {"lift": 0.2}
    mean = {"any_click": 0.32, "clicks": 0.32 * 1.3, "ctr": 0.32 * 1.3 / 5, "query_latency": 100}[name]
    found = [find_lift(draw_requests(rng, once=once, **how), name, cuped=cuped) for _ in range(CASES)]
    covered = np.mean([one.absolute.low <= 0.2 * mean <= one.absolute.high for one in found])
    relative = np.mean([one.relative.low <= 0.2 <= one.relative.high for one in found])
    tell(f"coverage {called(kind)}: absolute {covered:.4f}, relative {relative:.4f} +- {error(0.95):.4f}")
    assert min(covered, relative) >= 0.93 - SLACK * error(0.05)


def with_before(requests, name):
    """One row per user, as a plan with CUPED takes it."""
    _, columns = add_up(requests, name, cuped=True)
    return pl.DataFrame(dict(zip(("y", "d", "y_before", "d_before"), columns, strict=True)))


@pytest.mark.parametrize("kind", KINDS, ids=called)
def test_the_power_that_is_planned_from_a_log_is_reached(kind):
    rng, (name, cuped, once) = np.random.default_rng(4), kind
    last = draw_requests(rng, users=40_000 if STRESS else 10_000, once=once)
    lift = 0.04 if name == "query_latency" else 0.15
    last_log = draw_requests(rng, users=len(np.unique(last.of)), earlier=0, once=once) if not cuped else last
    plan = (
        assay.plan_ab_test(with_before(last, name), "y/d", lift=lift)
        if cuped
        else assay.plan_ab_test(as_events(last_log), name, lift=lift)
    )
    how = {"slower": lift} if name == "query_latency" else {"lift": lift}
    users = plan.users + plan.users % 2
    found = [find_lift(draw_requests(rng, users, once=once, **how), name, cuped=cuped) for _ in range(CASES)]
    power = np.mean([one.pvalue <= 0.05 and one.absolute.low > 0 for one in found])
    tell(f"planned {plan.users} users for a power of 0.8 {called(kind)}: {power:.4f} +- {error(0.8):.4f}")
    assert power == pytest.approx(0.8, abs=0.03 + SLACK * error(0.8))


def look_at(requests, name, days):
    """Whose users are seen on each of so many days, and the sums of each arm of their requests until then."""
    above, below = requests.parts(name)
    cell = requests.of * days + requests.hours // 24
    table = np.stack([
        np.cumsum(np.bincount(cell, weights=one, minlength=requests.users * days).reshape(-1, days), axis=1).T
        for one in (above, below)
    ], axis=2)  # fmt: skip
    there = table[:, :, 1] > 0
    whole = np.concatenate([table, np.zeros_like(there)[:, :, None], there[:, :, None]], axis=2)
    return [sums_of_growth(whole[:, i::2], there[:, i::2]) for i in range(2)]


def test_a_look_at_simulated_requests_is_that_of_the_log_until_then():
    requests = draw_requests(np.random.default_rng(8), users=400, earlier=0, days=10)
    for day in (3, 7):
        log = as_events(requests.before(24 * day))
        found = assay.ab_test(log, "any_click", control="old", sequential=True, tuning=1000).test("any_click")
        ours = find_lift(requests.before(24 * day), "any_click")
        always = confidence_sequence(ours.absolute.estimate, ours.standard_error, n=sum(ours.n), tuning=1000)
        assert (found.always.low, found.always.high) == pytest.approx((always.low, always.high))


def test_many_looks_at_simulated_requests_are_each_of_them():
    requests = draw_requests(np.random.default_rng(8), users=400, earlier=0, days=10)
    estimates, errors = find_lifts(*look_at(requests, "ctr", 10))
    for day in range(1, 11):
        found = find_lift(requests.before(24 * day), "ctr")
        assert (found.absolute.estimate, found.standard_error**2) == pytest.approx(
            (estimates[day - 1], errors[day - 1])
        )


@pytest.mark.parametrize("name", MEASURES)
def test_a_sequential_test_of_a_log_has_its_level_over_fifty_days(name):
    rng, days, least, ever, later = np.random.default_rng(5), 50, 50, 0, 0
    cases = CASES if STRESS else 30
    for _ in range(cases):
        arms = look_at(draw_requests(rng, users=1000, earlier=0, days=days), name, days)
        estimates, errors = find_lifts(*arms)
        alarms = np.abs(estimates) > half_widths(arms[0][0] + arms[1][0], tuning=1000) * np.sqrt(errors)
        ever += alarms.any()
        later += (alarms & (np.minimum(arms[0][0], arms[1][0]) >= least)).any()
    tell(
        f"sequential {name}, 50 days of a log: {ever / cases:.4f}, of {least} users an arm {later / cases:.4f} +- {error(0.05, cases):.4f}"
    )
    assert later / cases <= 0.05 + SLACK * error(0.05, cases)
