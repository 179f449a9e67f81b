"""Samples with known, unequal probabilities: beside the shares of many draws, and sums whose truth is known."""

import numpy as np
import pytest

from assay.errors import UsageError
from assay.stats.sampling import inclusion_probabilities, pareto_order, sampling_covariance, spend

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
