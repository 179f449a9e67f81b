"""Relative changes: Fieller's interval, against its quadratic written out, and what has none."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats

from assay.errors import InputError, UnknownName, UsageError
from assay.stats import Interval, difference_interval, relative_interval
from assay.stats.intervals import skew_interval
from assay.stats.moments import NO_SPREAD, NO_VALUES, ONE_CLUSTER, ONE_VALUE, moments
from assay.stats.relative import NO_BASELINE, UNSURE_BASELINE

NAN = math.nan
RNG = np.random.default_rng(17)
B = RNG.beta(2, 3, 40)
X = np.clip(B + RNG.normal(0.05, 0.2, 40), 0, 1)
W = RNG.lognormal(0, 0.7, 40)


def fieller(x, b, level):
    """The ends of the ratio as roots of (mean x - q mean b)^2 = t^2 var(x - q b)/n, a quadratic in q."""
    n, cov = len(x), np.cov(x, b)
    t2 = scipy.stats.t.ppf(0.5 + level / 2, n - 1) ** 2
    return np.sort(
        np.roots(
            [
                b.mean() ** 2 - t2 * cov[1, 1] / n,
                -2 * (x.mean() * b.mean() - t2 * cov[0, 1] / n),
                x.mean() ** 2 - t2 * cov[0, 0] / n,
            ]
        )
    )


@pytest.mark.parametrize("level", [0.8, 0.95])
def test_without_bounds_the_relative_interval_is_fiellers(level):
    found = relative_interval(X, B, confidence_level=level)
    assert found.estimate == pytest.approx(X.mean() / B.mean() - 1, rel=1e-12)
    assert (found.low, found.high) == pytest.approx(tuple(fieller(X, B, level) - 1), rel=1e-9)
    assert (found.method, found.n, found.confidence_level, found.reason) == ("fieller", 40, level, "")
    assert relative_interval(X, B, bounds=(0, 1), method="t", confidence_level=level) == found
    assert relative_interval(X, B).confidence_level == 0.95


@pytest.mark.parametrize("clusters", [None, np.arange(40) // 2])
@pytest.mark.parametrize("weights", [None, W])
def test_with_bounds_an_end_is_where_the_interval_of_the_rest_touches_0(weights, clusters):
    found = relative_interval(X, B, weights=weights, clusters=clusters, bounds=(0, 1))
    rest = [moments(X - (1 + r) * B, weights, clusters=clusters) for r in (found.low, found.high)]
    assert skew_interval(rest[0], 0.95).low == pytest.approx(0, abs=1e-9)
    assert skew_interval(rest[1], 0.95).high == pytest.approx(0, abs=1e-9)
    assert found.low < found.estimate < found.high


def test_a_relative_change_that_few_oppose_counts_on_what_was_not_seen():
    """At an end, values that were not seen bring the mean of x - (1 + r) b to 0 with a chance of 5 %."""
    baseline = np.linspace(0.3, 0.7, 30)
    after = 1.03 * baseline + np.linspace(0, 0.01, 30)
    found, plain = (relative_interval(after, baseline, bounds=(0, 1), method=method) for method in ("auto", "t"))
    weights = np.random.default_rng(1).dirichlet(np.ones(31), 200_000)
    for r, side, upper in ((found.low, -1, 1 + found.low), (found.high, 1, 1.0)):
        means = weights @ np.append(side * (after - (1 + r) * baseline), upper)
        assert np.mean(means >= 0) == pytest.approx(0.05, abs=0.002)
    assert found.low < 0 < plain.low < plain.high < found.high
    assert found.is_bounded and not plain.is_bounded
    assert found.excludes(0) == difference_interval(after - baseline, reach=1.0).excludes(0)


@pytest.mark.parametrize("lost", [0, 1, 2, 3])
def test_the_relative_change_excludes_0_where_the_difference_does(lost):
    baseline = np.linspace(0.3, 0.7, 60)
    for gain in (0.01, 0.03, 0.05, 0.1, 0.2):
        after = baseline + gain * np.linspace(0.9, 1.1, 60)
        after[:lost] = 0.2
        relative, change = relative_interval(after, baseline, bounds=(0, 1)), after - baseline
        assert relative.excludes(0) == difference_interval(change, reach=1.0).excludes(0), gain


def test_pairs_that_are_not_whole_and_weights_of_0_are_left_out():
    longer = relative_interval(np.append(X, [NAN, 1, 2]), np.append(B, [1, NAN, 2]), weights=np.append(W, [1, 1, 0]))
    assert longer == relative_interval(X, B, weights=W)


def test_signs_and_sizes_of_both_do_not_matter():
    plain = relative_interval(X, B)
    for factor in (-1.0, 1e-200, 1e200):
        found = relative_interval(factor * X, factor * B)
        assert (found.estimate, found.low, found.high) == pytest.approx((plain.estimate, plain.low, plain.high))


def test_what_cannot_be_negative_cannot_lose_more_than_everything():
    x = np.zeros(12)
    x[0] = 1.0
    b = np.full(12, 0.5) + np.arange(12) / 100
    assert relative_interval(x, b).low < -1
    assert relative_interval(x, b, bounds=(0, 1)).low == -1
    assert relative_interval(x, b, bounds=(-1, 1)).low < -1


def test_odd_relative_differences():
    assert relative_interval([], []).reason == NO_VALUES
    assert relative_interval([NAN], [1.0]) == Interval(None, None, None, 0.95, "fieller", 0, NO_VALUES)
    for baseline in ([0.0, 0.0], [-1.0, 1.0], [0.1 + 0.2, -0.3]):
        assert relative_interval([1.0, 2.0], baseline) == Interval(None, None, None, 0.95, "fieller", 2, NO_BASELINE)
    one = relative_interval([3.0], [2.0])
    assert (one.estimate, one.low, one.high, one.reason) == (0.5, None, None, ONE_VALUE)
    assert relative_interval([3.0, 1.0], [2.0, 2.0], clusters=["a", "a"]).reason == ONE_CLUSTER
    b = np.array([0.1, 0.2, 0.3, 0.7])
    double = relative_interval(3 * b, b)
    assert (double.low, double.high, double.reason) == (None, None, NO_SPREAD)
    assert double.estimate == pytest.approx(2)
    assert not double.excludes(0)


def test_a_baseline_that_may_be_0_leaves_the_change_open():
    b = np.array([1.0, 2, 3, 6])  # mean 3, standard error 1.080, and t = 3.182 with 3 degrees of freedom
    found = relative_interval([2.0, 2, 3, 6], b)
    assert (found.low, found.high, found.reason) == (None, None, UNSURE_BASELINE)
    clear = relative_interval([2.0, 2, 3, 6], b + 0.5)
    assert (clear.low, clear.high) == pytest.approx(
        tuple(fieller(np.array([2.0, 2, 3, 6]), b + 0.5, 0.95) - 1), rel=1e-9
    )


def test_a_baseline_that_does_not_vary_gives_the_interval_of_the_mean():
    found = relative_interval(X, np.full(40, 0.5))
    ends = scipy.stats.t.interval(0.95, 39, X.mean(), scipy.stats.sem(X))
    assert (found.low, found.high) == pytest.approx(tuple(np.array(ends) / 0.5 - 1), rel=1e-9)


def test_calls_that_make_no_sense_are_refused():
    for call in (lambda: relative_interval([1], [1, 2]), lambda: relative_interval([], [], confidence_level=2)):
        with pytest.raises(UsageError):
            call()
    with pytest.raises(InputError):
        relative_interval([1, 2], [1, math.inf])
    with pytest.raises(UnknownName, match="auto, t"):
        relative_interval([1, 2], [1, 3], method="delta")
