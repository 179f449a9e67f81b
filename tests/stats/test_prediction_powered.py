"""Prediction-powered means against their formulas and the plain interval."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats

from assay.errors import InputError, UsageError
from assay.stats import mean_interval, moments, prediction_powered_mean
from assay.stats.moments import NO_SPREAD, NO_VALUES, ONE_VALUE

NAN = math.nan
RNG = np.random.default_rng(41)
TRUTH = RNG.normal(0.6, 0.2, 540)
JUDGE = 0.8 * TRUTH + RNG.normal(0.2, 0.1, 540)
Y, F, G = TRUTH[:40], JUDGE[:40], JUDGE[40:]
U, V = RNG.lognormal(0, 0.7, 40), RNG.lognormal(0, 0.7, 500)


def powered(y, f, g, **options):
    return prediction_powered_mean(y, f, unlabelled=g, **options)


def plain(y, f, g, level=0.95):
    """Estimate, standard error, lambda and interval from the formulas of the paper, with t instead of z."""
    n, m = len(y), len(g)
    factor = np.cov(y, f)[0, 1] / ((1 + n / m) * np.var(np.concatenate([f, g]), ddof=1))
    a, b = np.var(y - factor * f, ddof=1) / n, factor**2 * np.var(g, ddof=1) / m
    df = (a + b) ** 2 / (a**2 / (n - 1) + b**2 / (m - 1))
    estimate = np.mean(y) - factor * (np.mean(f) - np.mean(g))
    return estimate, math.sqrt(a + b), factor, scipy.stats.t.interval(level, df, estimate, math.sqrt(a + b))


@pytest.mark.parametrize("level", [0.9, 0.95])
def test_the_estimate_is_that_of_the_formulas(level):
    estimate, error, factor, interval = plain(Y, F, G, level)
    found = powered(Y, F, G, confidence_level=level)
    assert (found.estimate, found.standard_error, found.tuning) == pytest.approx((estimate, error, factor), rel=1e-11)
    assert (found.interval.low, found.interval.high) == pytest.approx(interval, rel=1e-11)
    assert found.effective_n == pytest.approx(np.var(Y, ddof=1) / error**2, rel=1e-11)
    assert (found.n_labelled, found.n_unlabelled, found.reason) == (40, 500, "")
    assert (found.interval.method, found.interval.n, found.interval.confidence_level, found.interval.estimate) == (
        "prediction-powered",
        40,
        level,
        found.estimate,
    )


def test_the_default_level_is_95_percent():
    assert powered(Y, F, G).interval.confidence_level == 0.95


def test_good_predictions_are_worth_labels():
    found = powered(Y, F, G)
    classical = mean_interval(Y)
    assert found.effective_n > 80
    assert found.interval.high - found.interval.low < 0.75 * (classical.high - classical.low)


def test_the_tuned_lambda_has_nearly_the_smallest_standard_error():
    best = powered(Y, F, G)
    errors = [powered(Y, F, G, tuning=best.tuning + step).standard_error for step in (-0.4, 0.4)]
    assert best.standard_error < min(errors)


def test_lambda_0_is_students_interval_of_the_labels():
    found, classical = powered(Y, F, G, tuning=0.0), mean_interval(Y)
    assert (found.interval.low, found.interval.high, found.estimate) == (
        classical.low,
        classical.high,
        classical.estimate,
    )
    assert found.effective_n == pytest.approx(40)


def test_lambda_1_is_prediction_powered_inference_as_first_published():
    found = powered(Y, F, G, tuning=1.0)
    assert found.estimate == pytest.approx(np.mean(G) + np.mean(Y - F), rel=1e-12)
    assert found.standard_error == pytest.approx(
        math.sqrt(np.var(Y - F, ddof=1) / 40 + np.var(G, ddof=1) / 500), rel=1e-12
    )
    assert found.tuning == 1.0


@pytest.mark.parametrize("scale", [10.0, -3.0, 1e200, 1e-200])
def test_the_scale_of_the_predictions_does_not_matter(scale):
    found, other = powered(Y, F, G), powered(Y, F * scale + 0.0, G * scale)
    assert (other.estimate, other.standard_error, other.tuning * scale) == pytest.approx(
        (found.estimate, found.standard_error, found.tuning), rel=1e-10
    )
    assert powered(Y * abs(scale), F, G).standard_error == pytest.approx(found.standard_error * abs(scale), rel=1e-10)


def test_weights_take_the_weighted_moments_and_effective_numbers():
    found = powered(Y, F, G, weights=U, unlabelled_weights=V)
    u, v = U / U.sum(), V / V.sum()
    together = np.sum(u * (Y - u @ Y) * (F - u @ F)) / (1 - u @ u)
    both, shares = np.concatenate([F, G]), np.concatenate([40 * u, 500 * v]) / 540
    pooled = np.sum(shares * (both - shares @ both) ** 2) / (1 - shares @ shares)
    factor = together / ((1 + (v @ v) / (u @ u)) * pooled)
    rest, bulk = moments(Y - factor * F, U), moments(factor * G, V)
    assert found.tuning == pytest.approx(factor, rel=1e-10)
    assert found.estimate == pytest.approx(rest.mean + bulk.mean, rel=1e-12)
    assert found.standard_error == pytest.approx(math.hypot(rest.standard_error, bulk.standard_error), rel=1e-12)
    assert found.effective_n == pytest.approx(
        moments(Y, U).effective_n * (moments(Y, U).standard_error / found.standard_error) ** 2, rel=1e-10
    )
    equal = powered(Y, F, G, weights=[2] * 40, unlabelled_weights=[3] * 500)
    assert equal == powered(Y, F, G)


def test_items_with_a_nan_or_weight_0_are_left_out():
    found = powered(
        np.append(Y, [NAN, 1, 5]),
        np.append(F, [1, NAN, 5]),
        np.append(G, [NAN, 7]),
        weights=[1] * 42 + [0],
        unlabelled_weights=[1] * 501 + [0],
    )
    assert found == powered(Y, F, G)


@pytest.mark.parametrize(("f", "g"), [(F, []), (F, [0.5]), (F, [NAN, 0.5]), (np.full(40, 0.7), np.full(500, 0.7))])
def test_predictions_that_tell_nothing_leave_the_labels_alone(f, g):
    found, classical = powered(Y, f, g), mean_interval(Y)
    assert (found.tuning, found.estimate, found.interval.low) == (0.0, classical.estimate, classical.low)
    assert found.effective_n == pytest.approx(40)


def test_two_unlabelled_predictions_are_used():
    assert powered(Y, F, [0.5, 0.7]).tuning != 0
    assert powered(Y[:2], F[:2], G).tuning != 0


@pytest.mark.parametrize(
    ("y", "f", "estimate", "reason"),
    [([], [], None, NO_VALUES), ([NAN], [1], None, NO_VALUES), ([0.4], [0.5], 0.4, ONE_VALUE)],
)
def test_too_few_labels_have_no_interval(y, f, estimate, reason):
    found = powered(y, f, G)
    assert (found.estimate, found.standard_error, found.effective_n, found.tuning, found.reason) == (
        estimate,
        None,
        None,
        0.0,
        reason,
    )
    assert (found.interval.low, found.interval.high, found.interval.reason) == (None, None, reason)


@pytest.mark.parametrize(("y", "f", "g", "estimate", "reason"), [
    ([], [], G, None, NO_VALUES), (Y, F, [], None, NO_VALUES), ([0.4], [0.5], [0.5, 0.7], 0.5, ONE_VALUE), ([0.4, 0.6], [0.5, 0.6], [0.75], 0.7, ONE_VALUE),
])  # fmt: skip
def test_a_given_lambda_needs_both_sets(y, f, g, estimate, reason):
    found = powered(y, f, g, tuning=1.0)
    assert found.estimate == (None if estimate is None else pytest.approx(estimate))
    assert (found.standard_error, found.effective_n, found.interval.low, found.reason) == (None, None, None, reason)


def test_labels_that_do_not_vary_give_no_interval():
    found = powered([0.5] * 5, [0.1, 0.2, 0.3, 0.4, 0.5], [0.2, 0.3])
    assert (found.estimate, found.interval.low, found.interval.high, found.effective_n, found.reason) == (
        0.5,
        None,
        None,
        None,
        NO_SPREAD,
    )
    assert not found.interval.excludes(0)
    both = powered([0.5] * 5, [0.25] * 5, [0.25] * 4, tuning=2.0)
    assert (both.estimate, both.standard_error, both.interval.low, both.reason) == (0.5, 0.0, None, NO_SPREAD)


def test_a_perfect_judge_leaves_only_the_spread_of_the_unlabelled():
    y = np.array([0.25, 0.5, 0.75, 1.0])
    found = powered(y, y, [0.5, 0.25, 1.0, 0.75, 0.5], tuning=1.0)
    assert found.estimate == pytest.approx(0.6)
    assert found.standard_error == pytest.approx(scipy.stats.sem([0.5, 0.25, 1.0, 0.75, 0.5]), rel=1e-12)
    assert found.reason == ""


@pytest.mark.parametrize(
    "options",
    [{"tuning": math.inf}, {"tuning": NAN}, {"confidence_level": 1}, {"weights": [1]}, {"unlabelled_weights": [1]}],
)
def test_calls_that_make_no_sense_are_refused(options):
    with pytest.raises(UsageError):
        powered(Y, F, G, **options)


def test_sets_that_cannot_be_used_are_refused():
    with pytest.raises(UsageError, match="the same length"):
        powered(Y, F[:-1], G)
    for y, f, g in (([math.inf], [1], [1]), ([1], [math.inf], [1]), ([1], [1], [math.inf])):
        with pytest.raises(InputError, match="finite"):
            powered(y, f, g)


def test_the_interval_stays_within_the_bounds_of_the_labels():
    labels, judge = [1.0, 1.0, 0.9, 1.0, 0.5], [0.9, 1.0, 1.0, 0.8, 0.6]
    free = prediction_powered_mean(labels, judge, unlabelled=[1.0, 0.9, 1.0])
    held = prediction_powered_mean(labels, judge, unlabelled=[1.0, 0.9, 1.0], bounds=(0, 1))
    assert free.interval.high > 1
    assert (held.interval.low, held.interval.high, held.estimate) == (free.interval.low, 1, free.estimate)
