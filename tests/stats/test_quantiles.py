"""Intervals of quantiles by order statistics, beside scipy and the binomial distribution."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from assay.errors import InputError, UsageError
from assay.stats import least_values, quantile_interval


@pytest.mark.parametrize("n", [1, 5, 6, 40, 71, 72, 100, 367, 368, 1000])
@pytest.mark.parametrize("share", [0.5, 0.9, 0.95, 0.99])
@pytest.mark.parametrize("level", [0.9, 0.95])
def test_the_ends_are_the_closest_ranks_with_enough_confidence(n, share, level):
    found = quantile_interval(np.arange(1, n + 1), share, confidence_level=level)
    below = stats.binom(n, share)  # how many values lie below the quantile
    tail = (1 - level) / 2
    low = max((r for r in range(1, n + 1) if below.cdf(r - 1) <= tail), default=None)
    high = min((r for r in range(1, n + 1) if below.sf(r - 1) <= tail), default=None)
    assert (found.low, found.high) == (low, high)
    assert bool(found.reason) == (low is None or high is None)


@pytest.mark.parametrize("share", [0.5, 0.95])
def test_the_interval_is_scipys(share):
    values = np.random.default_rng(7).lognormal(size=400)
    theirs = stats.quantile_test(values, p=share).confidence_interval(confidence_level=0.95)
    found = quantile_interval(values, share)
    assert found.low == theirs.low
    assert found.high == theirs.high
    assert found.estimate == np.percentile(values, 100 * share)


def test_the_estimate_interpolates_linearly():
    assert quantile_interval([4.0, 1.0, 3.0, 2.0], 0.5).estimate == 2.5
    assert quantile_interval([10.0, 20.0], 0.95).estimate == pytest.approx(19.5, abs=1e-12)


@pytest.mark.parametrize(("share", "needed"), [(0.5, 6), (0.95, 72), (0.99, 368), (0.01, 368)])
def test_how_many_values_both_ends_need(share, needed):
    assert least_values(share) == needed
    for n in (needed - 1, needed):
        found = quantile_interval(np.arange(n), share)
        assert (found.low is not None and found.high is not None) == (n == needed)


def test_intervals_cover_as_often_as_they_say(stress):
    rng, rounds = np.random.default_rng(1), 20_000 if stress else 2_000
    truth = stats.lognorm(1).ppf(0.95)
    inside = 0
    for values in rng.lognormal(size=(rounds, 150)):
        found = quantile_interval(values, 0.95)
        inside += found.low <= truth <= found.high
    assert inside / rounds >= 0.95 - 4 * math.sqrt(0.95 * 0.05 / rounds)


def test_absent_values_are_left_out():
    assert quantile_interval([1.0, math.nan, 3.0], 0.5).estimate == 2.0
    nothing = quantile_interval([math.nan], 0.5)
    assert (nothing.estimate, nothing.n) == (None, 0)
    with pytest.raises(InputError, match="finite"):
        quantile_interval([1.0, math.inf], 0.5)
    with pytest.raises(UsageError, match="between 0 and 1"):
        quantile_interval([1.0], 1.0)
