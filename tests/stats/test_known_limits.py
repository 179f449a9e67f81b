"""The coverage that docs/decisions.md names under known limits, from the chances of all counts of failures."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from assay.stats.intervals import mean_interval


def misses(n: int, failing: float, value: float, level: float) -> tuple[float, float]:
    """Chances that the interval of a mean lies below and above the truth."""
    truth, below, above = (1 - failing) * value, 0.0, 0.0
    for count in range(n + 1):
        chance = binom.pmf(count, n, failing)
        if chance > 1e-9:
            values = np.r_[np.zeros(count), np.full(n - count, value)]
            found = mean_interval(values, bounds=(0.0, 1.0), confidence_level=level)
            below, above = below + chance * (found.high < truth), above + chance * (found.low > truth)
    return below, above


@pytest.mark.parametrize(("n", "failing", "coverage"), [(50, 0.045, 0.893), (100, 0.0225, 0.890)])
def test_a_few_failures_among_equal_values_are_covered_less(n, failing, coverage):
    assert 1 - sum(misses(n, failing, 0.9, 0.95)) == pytest.approx(coverage, abs=0.0006)


def test_one_end_alone_is_too_high_more_often_than_meant():
    assert misses(100, 0.0175, 0.95, 0.90)[1] == pytest.approx(0.171, abs=0.0006)
