"""Student's t for paired values and two one-sided tests, against SciPy and statsmodels."""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest
import scipy.stats
from statsmodels.stats.weightstats import ttost_paired

from assay.errors import InputError, UnknownName, UsageError
from assay.stats import equivalence, mean_interval, moments, paired_t
from assay.stats.moments import NO_SPREAD, NO_VALUES, ONE_VALUE

NAN = math.nan
RNG = np.random.default_rng(11)
A, B = RNG.normal(0.3, 1, 30), RNG.normal(0, 1, 30)
D = A - B
W = RNG.lognormal(0, 0.8, 30)


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
def test_the_paired_t_test_is_that_of_scipy(alternative):
    found, theirs = paired_t(D, alternative=alternative), scipy.stats.ttest_rel(A, B, alternative=alternative)
    assert (found.statistic, found.pvalue) == pytest.approx((theirs.statistic, theirs.pvalue), rel=1e-11)
    assert (found.df, found.n, found.alternative, found.reason) == (29.0, 30, alternative, "")
    assert found.estimate == pytest.approx(D.mean(), rel=1e-13)
    assert found.standard_error == pytest.approx(scipy.stats.sem(D), rel=1e-13)
    assert found.interval == mean_interval(D)


def test_the_default_is_two_sided_at_95_percent():
    assert paired_t(D) == paired_t(D, alternative="two-sided", confidence_level=0.95)
    assert paired_t(D, confidence_level=0.8).interval == mean_interval(D, confidence_level=0.8)
    assert paired_t(-D).pvalue == paired_t(D).pvalue


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
def test_the_weighted_t_test_uses_the_weighted_moments(alternative):
    of, found = moments(D, W), paired_t(D, weights=W, alternative=alternative)
    t = of.mean / of.standard_error
    expected = {
        "two-sided": 2 * scipy.stats.t.sf(abs(t), of.df),
        "greater": scipy.stats.t.sf(t, of.df),
        "less": scipy.stats.t.cdf(t, of.df),
    }
    assert (found.statistic, found.pvalue, found.df) == pytest.approx((t, expected[alternative], of.df), rel=1e-12)
    assert found.interval == mean_interval(D, weights=W)


def test_pairs_with_a_nan_or_weight_0_are_left_out():
    assert paired_t(np.append(D, NAN)) == paired_t(D)
    assert paired_t(np.append(D, 99), weights=[1] * 30 + [0]) == paired_t(D)


@pytest.mark.parametrize(
    ("differences", "estimate", "reason"), [([], None, NO_VALUES), ([NAN], None, NO_VALUES), ([0.5], 0.5, ONE_VALUE)]
)
def test_too_few_differences_have_no_p(differences, estimate, reason):
    found = paired_t(differences)
    assert (found.estimate, found.standard_error, found.statistic, found.df, found.pvalue, found.reason) == (
        estimate,
        None,
        None,
        None,
        None,
        reason,
    )
    assert (found.interval.low, found.interval.reason) == (None, reason)


def test_two_differences_are_enough():
    theirs = scipy.stats.ttest_1samp([0.5, 1.5], 0)
    assert paired_t([0.5, 1.5]).pvalue == pytest.approx(theirs.pvalue, rel=1e-12)


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
def test_differences_that_are_all_0_give_p_1(alternative):
    found = paired_t([0.0] * 5, alternative=alternative)
    assert (found.statistic, found.pvalue, found.estimate, found.standard_error, found.df) == (0.0, 1.0, 0.0, 0.0, 4.0)
    assert not found.interval.excludes(0)
    assert found.reason == NO_SPREAD


def test_differences_that_are_all_the_same_have_no_p():
    found = paired_t([0.1] * 5)
    assert (found.statistic, found.pvalue, found.standard_error, found.reason) == (None, None, 0.0, NO_SPREAD)
    assert found.estimate == pytest.approx(0.1)
    assert not found.interval.excludes(0)


def test_p_is_never_0():
    x = 1 + 1e-9 * RNG.normal(size=2000)
    assert scipy.stats.ttest_1samp(x, 0).pvalue == 0
    assert paired_t(x).pvalue == sys.float_info.min
    assert paired_t(x, alternative="less").pvalue == 1
    assert equivalence(x, 10.0).pvalue == sys.float_info.min


@pytest.mark.parametrize("scale", [1e300, 1e-300])
def test_the_unit_of_the_differences_does_not_matter(scale):
    assert paired_t(D * scale).pvalue == pytest.approx(paired_t(D).pvalue, rel=1e-12)


@pytest.mark.parametrize("margin", [0.5, (-0.2, 0.9), (0.1, 0.7)])
def test_equivalence_is_that_of_statsmodels(margin):
    low, high = margin if isinstance(margin, tuple) else (-margin, margin)
    theirs, above, below = ttost_paired(A, B, low, high)
    found = equivalence(D, margin)
    assert (found.pvalue, found.pvalue_low, found.pvalue_high) == pytest.approx((theirs, above[1], below[1]), rel=1e-11)
    assert (found.low, found.high, found.n, found.reason) == (low, high, 30, "")
    assert found.interval == mean_interval(D, confidence_level=0.9)
    assert found.estimate == moments(D).mean


def test_equivalence_at_alpha_is_an_interval_within_the_margins():
    x = RNG.normal(0.02, 0.1, 50)
    for margin in (0.03, 0.04, 0.05, 0.06, 0.1):
        for alpha in (0.01, 0.05, 0.2):
            found = equivalence(x, margin, alpha=alpha)
            within = found.interval.low > -margin and found.interval.high < margin
            assert (found.pvalue < alpha) == within
            assert found.interval.confidence_level == pytest.approx(1 - 2 * alpha)


def test_weighted_equivalence_is_two_weighted_t_tests():
    of, found = moments(D, W), equivalence(D, 0.8, weights=W)
    above = scipy.stats.t.sf((of.mean + 0.8) / of.standard_error, of.df)
    below = scipy.stats.t.cdf((of.mean - 0.8) / of.standard_error, of.df)
    assert (found.pvalue_low, found.pvalue_high, found.pvalue) == pytest.approx(
        (above, below, max(above, below)), rel=1e-12
    )


@pytest.mark.parametrize(
    ("differences", "reason"), [([], NO_VALUES), ([1.0], ONE_VALUE), ([0.0, 0.0], NO_SPREAD), ([0.1] * 3, NO_SPREAD)]
)
def test_equivalence_without_variation_has_no_p(differences, reason):
    found = equivalence(differences, 1)
    assert (found.pvalue, found.pvalue_low, found.pvalue_high, found.reason, found.n) == (
        None,
        None,
        None,
        reason,
        len(differences),
    )


@pytest.mark.parametrize("call", [
    lambda: equivalence(D, 0), lambda: equivalence(D, -0.1), lambda: equivalence(D, (0.2, 0.1)), lambda: equivalence(D, (0.1, 0.1)), lambda: equivalence(D, math.inf), lambda: equivalence(D, (-math.inf, 1)),
    lambda: equivalence(D, NAN), lambda: equivalence(D, 1, alpha=0.5), lambda: equivalence(D, 1, alpha=0), lambda: paired_t(D, confidence_level=1.0), lambda: paired_t(D, weights=[1]),
])  # fmt: skip
def test_calls_that_make_no_sense_are_refused(call):
    with pytest.raises(UsageError):
        call()


def test_infinite_differences_and_unknown_alternatives_are_refused():
    with pytest.raises(InputError, match="finite"):
        paired_t([1, math.inf])
    with pytest.raises(UnknownName, match="two-sided, greater, less"):
        paired_t(D, alternative="larger")
