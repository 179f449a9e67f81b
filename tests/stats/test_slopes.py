"""Slopes by Theil and Sen."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import theilslopes

from assay.stats.slopes import slope_interval


@pytest.mark.parametrize("n", [6, 10, 20, 33])
@pytest.mark.parametrize("level", [0.9, 0.95, 0.99])
def test_slope_and_ends_are_those_of_scipy(n, level):
    rng = np.random.default_rng(n)
    x = np.sort(rng.uniform(0, 10, n))
    for y in (rng.normal(size=n) + 0.3 * x, np.round(rng.normal(size=n)), np.ones(n)):
        expected = theilslopes(y, x, alpha=level)
        found = slope_interval(x, y, confidence_level=level)
        assert (found.estimate, found.low, found.high) == pytest.approx((expected[0], expected[2], expected[3]))


def test_few_points_have_no_interval():
    found = slope_interval([0, 1, 2], [0, 2, 4])
    assert (found.estimate, found.low, found.high) == (2.0, None, None)
    assert found.reason
