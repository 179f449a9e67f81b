"""How often A/B tests decided from event logs are wrong, on logs whose truth is known; in full with ASSAY_STRESS=1."""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime

import numpy as np
import polars as pl
import pytest

import assay
from assay.data.events import Events

STRESS = os.environ.get("ASSAY_STRESS") == "1"
CASES = 1000 if STRESS else 40
SLACK = 0 if STRESS else 4  # Monte Carlo errors that the reduced counts may be off by
START = datetime(2026, 10, 5, tzinfo=UTC)
MEASURES = ("any_click", "clicks", "query_latency")


def draw_log(rng, users=400, *, lift=0.0, earlier=3.0):
    """A log of users with habits of their own, and as many requests as they like, before the test and in it."""
    habit, delay = rng.beta(2, 3, users), rng.gamma(20, 5, users)
    parts = []
    for tested, mean in ((False, earlier), (True, 3.0)):
        least = 1 if tested else 0
        sizes = least + rng.negative_binomial(1, 1 / (1 + mean - least), users)
        of = np.repeat(np.arange(users), sizes)
        parts.append((of, np.full(len(of), tested)))
    of, tested = (np.concatenate(column) for column in zip(*parts, strict=True))
    treated = tested & (of % 2 == 1)
    hours = np.where(tested, rng.integers(0, 24 * 10, len(of)), -rng.integers(1, 24 * 7, len(of)))
    requests = pl.DataFrame({
        "query_id": np.arange(len(of)).astype(str),
        "user": of.astype(str),
        "hours": hours,
        "variant": np.where(of % 2 == 1, "new", "old"),
        "latency_ms": rng.gamma(5, delay[of] / 5),
    }).with_columns(
        (pl.lit(START) + pl.duration(hours="hours")).alias("time"),
        pl.when(pl.Series(tested)).then("variant"),
        action=pl.lit("query"),
    )  # fmt: skip
    chance = habit[of] * np.where(treated, 1 + lift, 1)
    first = requests.filter(pl.Series(rng.random(len(of)) < chance))
    clicks = [first, first.filter(pl.Series(rng.random(len(first)) < 0.3))]
    rows = [one.drop("latency_ms").with_columns(action=pl.lit("click"), position=pl.lit(i + 1), doc_id=pl.lit(str(i)))
            for i, one in enumerate(clicks)]  # fmt: skip
    return Events.of(pl.concat([requests, *rows], how="diagonal"))


def lifts(rng, cases, *, cuped, **log):
    """The lifts of every measure in so many logs."""
    found = [assay.ab_test(draw_log(rng, **log), list(MEASURES), control="old", cuped=cuped) for _ in range(cases)]
    return {name: [one.test(name).lift for one in found] for name in MEASURES}


def tell(text):
    """Print a figure, for docs/ab.md: pytest -s shows it."""
    sys.stdout.write(f"{text}\n")


def error(rate, cases):
    return np.sqrt(rate * (1 - rate) / cases)


@pytest.mark.parametrize("cuped", [False, True])
def test_two_equal_variants_of_a_log_are_rarely_called_different(cuped):
    for name, found in lifts(np.random.default_rng(1), CASES, cuped=cuped).items():
        rate = np.mean([one.pvalue <= 0.05 for one in found])
        covered = np.mean([one.absolute.low <= 0 <= one.absolute.high for one in found])
        tell(f"A/A {name} cuped={cuped}: {rate:.4f} +- {error(0.05, CASES):.4f}, covered {covered:.4f}")
        slack = SLACK * error(0.05, CASES)
        assert 0.035 - slack <= rate <= 0.065 + slack, (name, rate)
        assert covered >= 0.93 - slack


def test_a_true_lift_of_a_log_is_covered():
    found = lifts(np.random.default_rng(2), CASES, cuped=True, lift=0.2)["any_click"]
    # Both arms draw habits alike; a chance above 1 cannot be, so that the truth is that of many users.
    habit = np.random.default_rng(3).beta(2, 3, 4_000_000)
    truth = np.minimum(habit * 1.2, 1).mean() - habit.mean()
    covered = np.mean([one.absolute.low <= truth <= one.absolute.high for one in found])
    relative = np.mean([one.relative.low <= truth / habit.mean() <= one.relative.high for one in found])
    tell(f"coverage: absolute {covered:.4f}, relative {relative:.4f} +- {error(0.95, CASES):.4f}")
    assert min(covered, relative) >= 0.93 - SLACK * error(0.05, CASES)


def test_the_power_that_is_planned_from_a_log_is_reached():
    rng = np.random.default_rng(4)
    plan = assay.plan_ab_test(draw_log(rng, users=20_000, earlier=0.0), "any_click", absolute=0.06)
    share = 0.06 / 0.4  # of the mean habit; no chance is above 1 by much
    found = lifts(rng, CASES, cuped=False, users=plan.users, lift=share)["any_click"]
    power = np.mean([one.pvalue <= 0.05 for one in found])
    tell(f"planned {plan.users} users for 0.8: {power:.4f} +- {error(0.8, CASES):.4f}")
    assert power == pytest.approx(0.8, abs=0.03 + 2 * error(0.8, CASES))


def test_a_sequential_test_of_a_log_has_its_level_over_its_days():
    rng, cases, alarms = np.random.default_rng(5), CASES // 2, 0
    for _ in range(cases):
        found = assay.ab_test(draw_log(rng, earlier=0.0), "any_click", control="old", sequential=True, tuning=1000)
        alarms += any(day.lifts["new"].excludes(0.0) for day in found.days if day.lifts)
    tell(f"sequential, every day: {alarms / cases:.4f} +- {error(0.05, cases):.4f}")
    assert alarms / cases <= 0.05 + SLACK * error(0.05, cases)
