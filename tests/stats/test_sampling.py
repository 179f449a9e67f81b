"""Samples with known, unequal probabilities: beside the shares of many draws, and sums whose truth is known."""

import numpy as np
import pytest
from scipy import stats

from assay.errors import UsageError
from assay.stats.sampling import (
    Jackknife,
    inclusion_probabilities,
    pareto_order,
    sampling_covariance,
    sampling_error,
    spend,
)

DRAWS = 4000


def test_documents_are_drawn_with_the_probabilities_that_are_told():
    odds, rng = 1 / np.arange(1.0, 13.0), np.random.default_rng(1)
    found = np.zeros(12)
    for _ in range(DRAWS):
        found[pareto_order(odds, rng.random(12))[:5]] += 1
    told = inclusion_probabilities(odds, 5)
    assert np.abs(found / DRAWS - told).max() < 0.03
    assert told.sum() == pytest.approx(5)
    assert told[0] > 2 * told[-1]


def test_a_larger_sample_contains_the_smaller_one_and_all_of_it_is_certain():
    odds, rng = np.array([1.0, 2.0, 4.0]), np.random.default_rng(2)
    order = pareto_order(odds, rng.random(3))
    assert sorted(order.tolist()) == [0, 1, 2]
    assert inclusion_probabilities(odds, 3).tolist() == [1, 1, 1]
    assert inclusion_probabilities(odds, 0).tolist() == [0, 0, 0]
    with pytest.raises(UsageError, match="a sample of 4 of 3 items"):
        inclusion_probabilities(odds, 4)


def test_the_variance_of_a_total_is_that_of_many_samples():
    rng = np.random.default_rng(3)
    odds, values = 1 / np.arange(1.0, 41.0), rng.random(40)
    chance = inclusion_probabilities(odds, 15)
    totals, variances = [], []
    for _ in range(DRAWS):
        rows = pareto_order(odds, rng.random(40))[:15]
        totals.append((values[rows] / chance[rows]).sum())
        group = np.zeros(15, dtype=np.int64)
        variances.append(sampling_covariance(values[rows], values[rows], chance[rows], group, 1)[0])
    assert np.mean(totals) == pytest.approx(values.sum(), rel=0.01)
    assert np.mean(variances) == pytest.approx(np.var(totals), rel=0.08)


def test_the_parts_of_an_error_level_never_add_up_to_more():
    assert sum(spend(0.05, look) for look in range(1, 10_000)) == pytest.approx(0.05, abs=1e-5)
    with pytest.raises(UsageError, match="look 0"):
        spend(0.05, 0)


def groups(rng):
    """Two groups of a sample: probabilities, groups, values; some values are 0."""
    chance = np.concatenate([rng.uniform(0.2, 0.9, 7), [1.0], rng.uniform(0.1, 0.6, 5)])
    return chance, np.repeat([0, 1], [8, 5]), np.where(rng.random(13) < 0.5, rng.integers(1, 4, 13), 0).astype(float)


def test_the_jackknife_of_a_total_is_the_total_and_has_the_variance_of_hajek():
    chance, group, values = groups(np.random.default_rng(5))
    drawn = Jackknife.of(chance, group, values > 0, 2)
    found, influence = drawn.combine(
        np.bincount(drawn.replicate, weights=drawn.weight * values[drawn.item], minlength=drawn.size)
    )
    np.testing.assert_allclose(found, np.bincount(group, weights=values / chance))
    np.testing.assert_allclose(
        sampling_covariance(influence, influence, chance, group, 2),
        sampling_covariance(values, values, chance, group, 2),
    )


def test_the_jackknife_of_a_ratio_is_that_of_a_loop_over_documents():
    chance, group, values = groups(np.random.default_rng(6))
    useful = values > 0

    def share(weight, value):
        return (weight * (value > 1)).sum() / (weight * (value > 0)).sum()

    expected = []
    for g in (0, 1):
        p, v = chance[group == g], values[group == g]
        total = (1 - p).sum()
        weight = (1 + (1 - p) / total) / p
        without = [share(weight - np.eye(len(p))[i] / p, v) for i in range(len(p))]
        bias = len(p) / (len(p) - 1) * ((1 - p) * (np.array(without) - share(1 / p, v))).sum()
        expected.append(share(1 / p, v) - bias)
    drawn = Jackknife.of(chance, group, useful, 2)
    above, below = (
        np.bincount(drawn.replicate, weights=drawn.weight * (values[drawn.item] > least), minlength=drawn.size)
        for least in (1, 0)
    )
    np.testing.assert_allclose(drawn.combine(above / below)[0], expected)


def test_the_jackknife_takes_the_bias_out_of_a_square():
    rng = np.random.default_rng(8)
    odds, values = 1 / np.arange(1.0, 31.0), rng.random(30)
    chance, plain, mended = inclusion_probabilities(odds, 10), [], []
    for _ in range(DRAWS):
        rows = pareto_order(odds, rng.random(30))[:10]
        drawn = Jackknife.of(chance[rows], np.zeros(10, dtype=np.int64), np.ones(10, dtype=bool), 1)
        squares = np.bincount(drawn.replicate, weights=drawn.weight * values[rows][drawn.item]) ** 2
        plain.append(squares[0])
        mended.append(drawn.combine(squares)[0][0])
    truth = values.sum() ** 2
    bias = np.mean(plain) - truth
    assert bias > 4 * np.std(plain) / DRAWS**0.5
    assert abs(np.mean(mended) - truth) < 0.2 * bias + 3 * np.std(mended) / DRAWS**0.5


def test_the_interval_of_a_sum_has_the_degrees_of_freedom_of_welch():
    rng = np.random.default_rng(9)
    one, two = rng.normal(size=5), rng.normal(size=9) * 3
    variances = np.array([one.var(ddof=1) / 5, two.var(ddof=1) / 9])
    error, reach = sampling_error(variances, np.array([4.0, 8.0]), 0.9)
    found = stats.ttest_ind(one, two, equal_var=False).confidence_interval(0.9)
    assert reach == pytest.approx((found.high - found.low) / 2)
    assert sampling_error(variances, None, 0.9)[1] == pytest.approx(stats.norm.ppf(0.95) * error)
    assert sampling_error(np.zeros(2), np.ones(2), 0.9) == (0, 0)
