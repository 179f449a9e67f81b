"""Values that belong together: intervals and tests by whole clusters, against statsmodels and plain Python."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import scipy.stats
import statsmodels.api as sm

from assay.errors import InputError, UsageError
from assay.stats import (
    bounded_equivalence,
    bounded_pvalue,
    correct_level,
    design,
    detectable_difference,
    difference_interval,
    equivalence,
    mean_interval,
    moments,
    paired_power,
    paired_t,
    randomised_tukey,
    sample_size,
    sign_flip,
    upper_bound,
)
from assay.stats.inputs import cluster_codes
from assay.stats.moments import ONE_CLUSTER

NAN = math.nan
RNG = np.random.default_rng(5)
SIZES = np.array([1, 7, 3, 5, 2, 2, 8, 4, 1, 6])
UNEVEN = np.repeat(np.arange(10), SIZES)
X = RNG.normal(0, 1, 10)[UNEVEN] + RNG.normal(0, 0.5, 39)
W = RNG.lognormal(0, 0.7, 39)
EVEN = np.repeat(np.arange(8), 5)
Y = RNG.normal(0.3, 1, 8)[EVEN] + RNG.normal(0, 0.5, 40)


def robust_error(x, clusters, weights=None):
    """The cluster-robust standard error of least squares with nothing but a constant, without a correction."""
    model = sm.WLS(x, np.ones(len(x)), weights=1.0 if weights is None else weights)
    return model.fit(cov_type="cluster", cov_kwds={"groups": clusters, "use_correction": False}).bse[0]


def test_with_clusters_of_one_size_the_error_is_that_of_statsmodels_with_its_correction():
    fit = sm.OLS(Y, np.ones(40)).fit(cov_type="cluster", cov_kwds={"groups": EVEN}, use_t=True)
    of = moments(Y, clusters=EVEN)
    # statsmodels corrects by G/(G - 1) * (N - 1)/(N - 1) and takes G - 1 degrees of freedom
    assert of.standard_error == pytest.approx(fit.bse[0], rel=1e-12)
    assert (of.n, of.clusters, of.df, of.effective_n) == (40, 8, 7.0, 8.0)
    found = difference_interval(Y, clusters=EVEN)
    assert (found.low, found.high, found.n) == (*(pytest.approx(end, rel=1e-9) for end in fit.conf_int()[0]), 40)
    assert paired_t(Y, clusters=EVEN).pvalue == pytest.approx(fit.pvalues[0], rel=1e-9)


@pytest.mark.parametrize("weights", [None, W])
def test_with_uneven_clusters_the_error_is_the_robust_one_made_unbiased(weights):
    u = np.bincount(UNEVEN, weights=weights) / np.sum(np.ones(39) if weights is None else weights)
    factor = 1 - 2 * np.sum(u**3) / np.sum(u**2) + np.sum(u**2)
    of = moments(X, weights, clusters=UNEVEN)
    assert of.mean == pytest.approx(np.average(X, weights=weights), rel=1e-12)
    assert of.standard_error == pytest.approx(robust_error(X, UNEVEN, weights) / math.sqrt(factor), rel=1e-12)
    assert of.effective_n == pytest.approx(1 / np.sum(u**2), rel=1e-12)
    assert 1 < of.df < 9


def test_clusters_of_one_value_change_nothing():
    alone = RNG.permutation(39)
    assert moments(X, W, clusters=alone).standard_error == moments(X, W).standard_error
    assert mean_interval(X, clusters=alone) == mean_interval(X)
    table = RNG.normal(size=(39, 3))
    assert np.array_equal(sign_flip(table, clusters=np.arange(39)).pvalue, sign_flip(table).pvalue)


def test_names_of_clusters_and_the_order_of_values_do_not_matter():
    order = RNG.permutation(39)
    named = np.array([f"passage {code}" for code in UNEVEN])
    a, b = moments(X, W, clusters=UNEVEN), moments(X[order], W[order], clusters=named[order])
    assert (a.mean, a.standard_error, a.df) == pytest.approx((b.mean, b.standard_error, b.df), rel=1e-12)
    assert cluster_codes(["b", "a", "b"], 3).tolist() == [1, 0, 1]
    assert cluster_codes(np.array(["b", 7, "b"], dtype=object), 3).tolist() == [1, 0, 1]


def test_absent_values_and_weight_0_leave_a_value_out_of_its_cluster():
    x, w = np.append(X, [NAN, 9.0]), np.append(W, [1.0, 0.0])
    assert moments(x, w, clusters=np.append(UNEVEN, [3, 99])) == moments(X, W, clusters=UNEVEN)


def test_the_score_interval_of_clusters_is_that_of_their_means():
    values = RNG.beta(5, 1, 8)[EVEN]
    found = mean_interval(values, clusters=EVEN, bounds=(0, 1))
    alone = mean_interval(values[::5], bounds=(0, 1))
    assert (found.low, found.high, found.n) == (pytest.approx(alone.low), pytest.approx(alone.high), 40)
    assert found.high - found.low > 1.5 * (
        mean_interval(values, bounds=(0, 1)).high - mean_interval(values, bounds=(0, 1)).low
    )


def test_the_bootstrap_draws_whole_clusters():
    means = np.array([Y[g == EVEN].mean() for g in range(8)])
    found = mean_interval(Y, clusters=EVEN, method="bca", n_resamples=500, rng=3)
    alone = mean_interval(means, method="bca", n_resamples=500, rng=3)
    assert (found.low, found.high, found.n) == (pytest.approx(alone.low), pytest.approx(alone.high), 40)


def test_one_cluster_tells_nothing_about_the_spread():
    assert moments([1.0, 2.0, 4.0], clusters=["a", "a", "a"]).reason == ONE_CLUSTER
    assert mean_interval([1.0, 0.5], clusters=["a", "a"], bounds=(0, 1)).reason == ONE_CLUSTER
    assert paired_t([1.0, 2.0], clusters=["a", "a"]).pvalue is None


@pytest.mark.parametrize("weights", [None, W])
@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
def test_signs_are_flipped_by_whole_cluster(alternative, weights):
    x = X + 0.3
    w = np.ones(39) if weights is None else weights
    sums = [sum(w[i] * x[i] for i in range(39) if UNEVEN[i] == g) for g in range(10)]

    def reached(signs):
        total = sum(sign * value for sign, value in zip(signs, sums, strict=True))
        statistic = {"two-sided": abs, "greater": float, "less": lambda v: -v}[alternative]
        return statistic(total) >= statistic(sum(sums)) - 1e-9

    expected = sum(reached(signs) for signs in itertools.product((1, -1), repeat=10)) / 2**10
    found = sign_flip(x[:, None], weights=weights, clusters=UNEVEN, alternative=alternative)
    assert found.exact[0]
    assert (found.pvalue[0], found.n[0]) == (pytest.approx(expected, rel=1e-12), 39)
    assert found.estimate[0] == pytest.approx(np.average(x, weights=weights))


def test_tukeys_test_relabels_whole_clusters():
    cube = RNG.normal(size=(39, 3, 1)) + 0.5 * RNG.normal(size=(10, 3, 1))[UNEVEN]
    sums = np.stack([cube[g == UNEVEN].sum(axis=0) for g in range(10)])
    found = randomised_tukey(cube, clusters=UNEVEN, n_resamples=2000, rng=1)
    assert found.mean[0] == pytest.approx(cube[:, :, 0].mean(axis=0))
    assert found.n[0] == 39
    assert found.pvalue == pytest.approx(randomised_tukey(sums, n_resamples=2000, rng=1).pvalue)


def test_the_bounded_tests_take_clusters_for_one_value_each():
    change = np.zeros(300)
    passages = np.repeat(np.arange(60), 5)
    assert bounded_equivalence(change, 0.01, clusters=passages).pvalue == pytest.approx(0.99**60, rel=1e-9)
    assert bounded_equivalence(change, 0.01, clusters=passages).n == 300
    assert upper_bound(change, upper=1.0, clusters=passages) == pytest.approx(1 - 0.05 ** (1 / 60), rel=1e-9)
    assert bounded_pvalue(change, 0.05, upper=1.0, clusters=passages) == pytest.approx(0.95**60, rel=1e-9)
    assert equivalence(Y, 5.0, clusters=EVEN).pvalue > equivalence(Y, 5.0).pvalue


def test_the_design_effect_is_kishs():
    size, strong = 5, np.repeat(RNG.normal(size=60), 5)
    found = design(strong, clusters=np.repeat(np.arange(60), 5))
    # values of a cluster that are all the same: 1 + (size - 1) * 1, but for the factor G/(G - 1) and N - 1
    assert found.design_effect == pytest.approx(size * (299 / 300) / (59 / 60), rel=1e-9)
    assert found.effective_n == pytest.approx(300 / found.design_effect)
    assert found.deviation == pytest.approx(strong.std(ddof=1))
    plain = design(strong)
    assert (plain.design_effect, plain.effective_n) == (pytest.approx(1), pytest.approx(300))
    assert design([0.0, 0.0]).deviation == 0
    assert design([1.0]).deviation is None


def test_a_design_effect_takes_so_many_times_more_pairs():
    plain = sample_size(0.02, 0.1)
    clustered = sample_size(0.02, 0.1, design_effect=3.0)
    assert 3 * (plain.n - 1) < clustered.n <= 3 * plain.n
    assert detectable_difference(0.1, 300, design_effect=3.0).difference == detectable_difference(0.1, 100).difference
    assert paired_power(0.02, 0.1, n=300, design_effect=3.0).power == paired_power(0.02, 0.1, n=100).power
    assert paired_power(0.02, 0.1, n=5, design_effect=3.0).power is None
    with pytest.raises(UsageError, match="design effect"):
        sample_size(0.02, 0.1, design_effect=0)


def test_the_corrected_level_is_the_first_step():
    assert correct_level(0.05, 5) == correct_level(0.05, 5, method="benjamini-hochberg") == pytest.approx(0.01)
    assert correct_level(0.05, 5, method="none") == 0.05
    needed = sample_size(0.02, 0.1, alpha=correct_level(0.05, 5))
    power = scipy.stats.nct.sf(scipy.stats.t.ppf(0.995, needed.n - 1), needed.n - 1, 0.2 * math.sqrt(needed.n))
    assert power == pytest.approx(0.8, abs=0.005)
    assert needed.n > sample_size(0.02, 0.1).n
    with pytest.raises(UsageError):
        correct_level(0.05, 0)


def test_clusters_that_do_not_fit_are_refused():
    for clusters in (["a"], [["a"], ["b"]]):
        with pytest.raises(UsageError, match="one cluster per value"):
            mean_interval([1.0, 2.0], clusters=clusters)
    for clusters in ([None, "a"], [NAN, 1.0], ["", "a"]):
        with pytest.raises(InputError, match="without a cluster"):
            sign_flip([[1.0], [2.0]], clusters=clusters)
