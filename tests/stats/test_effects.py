"""Effect sizes and power, against definitions and statsmodels."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats
from statsmodels.stats.power import TTestPower

from assay.errors import UsageError
from assay.stats import (
    WinsTiesLosses,
    cohen_dz,
    detectable_difference,
    moments,
    paired_power,
    sample_size,
    superiority,
    wins_ties_losses,
)
from assay.stats.moments import NO_SPREAD, NO_VALUES, ONE_VALUE
from assay.stats.power import NO_DEVIATION, OTHER_SIDE, TOO_FEW, TOO_MANY

NAN = math.nan
RNG = np.random.default_rng(21)
D = RNG.normal(0.2, 1, 35)
W = RNG.lognormal(0, 1, 35)
ALTERNATIVES = ["two-sided", "greater", "less"]


def test_d_z_is_the_mean_in_standard_deviations():
    assert cohen_dz(D).value == pytest.approx(D.mean() / D.std(ddof=1), rel=1e-13)
    assert cohen_dz(np.append(D, NAN)) == cohen_dz(D)
    of = moments(D, W)
    assert cohen_dz(D, weights=W).value == pytest.approx(of.mean / of.deviation, rel=1e-14)
    assert (cohen_dz(D).n, cohen_dz(D).reason) == (35, "")


@pytest.mark.parametrize(
    ("x", "value", "reason"),
    [([], None, NO_VALUES), ([1.0], None, ONE_VALUE), ([0.0, 0.0], 0.0, NO_SPREAD), ([0.1, 0.1, 0.1], None, NO_SPREAD)],
)
def test_odd_effect_sizes(x, value, reason):
    found = cohen_dz(x)
    assert (found.value, found.n, found.reason) == (value, len(x), reason)


def test_superiority_counts_ties_half():
    assert superiority([1, 2, -1, 0]).value == 0.625
    assert superiority([1, 2, -1, 0, NAN]).n == 4
    assert superiority([0.0, 0.0]).value == 0.5
    assert superiority([1, -1, -1], weights=[2, 1, 1]).value == 0.5
    assert superiority([0.5, 0.6, -0.5, -0.6], tolerance=0.5).value == 0.5
    assert superiority([0.5, 0.6, 0.5, -0.4], tolerance=0.5).value == 0.625
    assert (superiority([]).value, superiority([]).reason, superiority([]).n) == (None, NO_VALUES, 0)


def test_wins_ties_and_losses():
    x = [0.5, 0.01, 0, -0.01, -0.02, NAN]
    assert wins_ties_losses(x) == WinsTiesLosses(2, 1, 2)
    assert wins_ties_losses(x, tolerance=0.01) == WinsTiesLosses(1, 3, 1)
    assert wins_ties_losses([]) == WinsTiesLosses(0, 0, 0)
    for tolerance in (-0.1, math.inf, NAN):
        with pytest.raises(UsageError, match="tolerance"):
            wins_ties_losses(x, tolerance=tolerance)
        with pytest.raises(UsageError, match="tolerance"):
            superiority(x, tolerance=tolerance)


SIDES = {"two-sided": "two-sided", "greater": "larger", "less": "smaller"}


@pytest.mark.parametrize("alternative", ALTERNATIVES)
@pytest.mark.parametrize("n", [3, 10, 50, 200, 6980])
@pytest.mark.parametrize("difference", [-0.05, 0.0, 0.01, 0.05, 0.2])
def test_power_is_that_of_statsmodels(difference, n, alternative):
    found = paired_power(difference, 0.25, n=n, alternative=alternative)
    theirs = TTestPower().power(difference / 0.25, n, 0.05, alternative=SIDES[alternative])
    if not math.isnan(theirs):  # it is for far tails
        assert found.power == pytest.approx(theirs, abs=1e-12)
    assert (found.difference, found.deviation, found.n, found.alpha, found.alternative, found.reason) == (
        difference,
        0.25,
        n,
        0.05,
        alternative,
        "",
    )


def test_power_far_out_is_0_or_1():
    assert paired_power(1.0, 0.1, n=6980).power == 1
    assert paired_power(1.0, 0.1, n=6980, alternative="greater").power == 1
    assert paired_power(1.0, 0.1, n=6980, alternative="less").power == pytest.approx(0, abs=1e-15)
    assert paired_power(100.0, 0.1, n=1e6).power == 1
    assert paired_power(0.0, 1, n=30).power == pytest.approx(0.05, abs=1e-12)
    assert paired_power(0.0, 1, n=30, alpha=0.01).power == pytest.approx(0.01, abs=1e-12)


def test_power_is_how_often_the_test_is_significant():
    rng = np.random.default_rng(5)
    p = scipy.stats.ttest_1samp(rng.normal(0.5, 1, (20_000, 20)), 0, axis=1).pvalue
    assert np.mean(p < 0.05) == pytest.approx(paired_power(0.5, 1, n=20).power, abs=3 * 0.5 / math.sqrt(20_000))


@pytest.mark.parametrize("alternative", ALTERNATIVES)
@pytest.mark.parametrize("n", [2, 3, 10, 200, 6980, 57.3])
def test_the_detectable_difference_has_just_the_power(n, alternative):
    found = detectable_difference(0.25, n, alternative=alternative)
    assert (found.difference < 0) == (alternative == "less")
    assert paired_power(found.difference, 0.25, n=n, alternative=alternative).power == pytest.approx(0.8, abs=1e-10)
    assert (found.power, found.alpha, found.n, found.deviation, found.reason) == (0.8, 0.05, n, 0.25, "")


@pytest.mark.parametrize(("n", "power", "alpha"), [(10, 0.8, 0.05), (200, 0.9, 0.01), (50, 0.5, 0.1)])
def test_the_detectable_difference_has_its_power_in_statsmodels(n, power, alpha):
    for alternative in ("two-sided", "greater"):
        found = detectable_difference(2.0, n, power=power, alpha=alpha, alternative=alternative)
        theirs = TTestPower().power(found.difference / 2, n, alpha, alternative=SIDES[alternative])
        assert theirs == pytest.approx(power, abs=1e-11)


@pytest.mark.parametrize("alternative", ALTERNATIVES)
@pytest.mark.parametrize("effect", [0.03, 0.2, 0.5, 1, 3, 20])
def test_the_sample_size_is_the_smallest_with_the_power(effect, alternative):
    difference = -effect if alternative == "less" else effect
    found = sample_size(difference, 1.0, alternative=alternative)
    assert found.n == int(found.n) >= 2
    assert paired_power(difference, 1.0, n=found.n, alternative=alternative).power >= 0.8
    assert found.n == 2 or paired_power(difference, 1.0, n=found.n - 1, alternative=alternative).power < 0.8
    if alternative == "two-sided" and found.n > 5:
        assert found.n == math.ceil(TTestPower().solve_power(effect, None, 0.05, 0.8))
    assert (found.power, found.alpha, found.difference, found.deviation) == (0.8, 0.05, difference, 1.0)


def test_both_signs_of_a_difference_need_the_same_sample():
    assert sample_size(-0.1, 1).n == sample_size(0.1, 1).n == 787


@pytest.mark.parametrize(
    ("found", "reason"),
    [(paired_power(1, 1, n=1), TOO_FEW), (paired_power(1, 1, n=1.99), TOO_FEW), (paired_power(1, 0, n=5), NO_DEVIATION), (detectable_difference(1, 1), TOO_FEW), (detectable_difference(1, 0), TOO_FEW),
     (detectable_difference(0, 9), NO_DEVIATION), (sample_size(1, 0), NO_DEVIATION), (sample_size(0, 1), OTHER_SIDE), (sample_size(-1, 1, alternative="greater"), OTHER_SIDE),
     (sample_size(1, 1, alternative="less"), OTHER_SIDE), (sample_size(1e-9, 1), TOO_MANY)],
)  # fmt: skip
def test_designs_that_cannot_be_judged_have_a_reason(found, reason):
    assert found.reason == reason
    assert None in (found.power, found.difference, found.n)
    assert paired_power(1, 1, n=2).power is not None


@pytest.mark.parametrize("call", [
    lambda: paired_power(1, -1, n=5), lambda: paired_power(1, math.inf, n=5), lambda: paired_power(1, NAN, n=5), lambda: paired_power(1, 1, n=5, alpha=0), lambda: paired_power(1, 1, n=5, alternative="x"),
    lambda: detectable_difference(1, 5, power=1), lambda: detectable_difference(1, 5, power=0.05), lambda: sample_size(1, 1, power=0.01), lambda: sample_size(1, 1, alpha=1.0),
])  # fmt: skip
def test_designs_that_make_no_sense_are_refused(call):
    with pytest.raises(UsageError):
        call()
