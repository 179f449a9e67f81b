"""The coverage that docs/decisions.md names under known limits, from the chances of all counts of failures.

And what is guarded against them: one end alone, which `assay gate --sure` rests on.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from assay.stats.guarded import guard_mean
from assay.stats.intervals import mean_interval


def misses(n: int, failing: float, value: float, level: float, interval=mean_interval) -> tuple[float, float]:
    """Chances that the interval of a mean lies below and above the truth."""
    truth, below, above = (1 - failing) * value, 0.0, 0.0
    for count in range(n + 1):
        chance = binom.pmf(count, n, failing)
        if chance > 1e-9:
            values = np.r_[np.zeros(count), np.full(n - count, value)]
            found = interval(values, bounds=(0.0, 1.0), confidence_level=level)
            below, above = below + chance * (found.high < truth), above + chance * (found.low > truth)
    return below, above


@pytest.mark.parametrize(("n", "failing", "coverage"), [(50, 0.045, 0.893), (100, 0.0225, 0.890)])
def test_a_few_failures_among_equal_values_are_covered_less(n, failing, coverage):
    assert 1 - sum(misses(n, failing, 0.9, 0.95)) == pytest.approx(coverage, abs=0.0006)


SKEWED = [(20, 0.1, 0.95), (50, 0.045, 0.9), (100, 0.0175, 0.95), (300, 0.007, 0.9)]


@pytest.mark.parametrize(("n", "failing", "value"), SKEWED)
def test_one_end_alone_that_is_guarded_is_wrong_as_seldom_as_meant(n, failing, value):
    assert max(misses(n, failing, value, 0.90, guard_mean)) <= 0.05
    assert max(misses(n, failing, value, 0.90)) > 0.065  # without the guard


def test_one_end_alone_without_a_guard_is_too_high_more_often_than_meant():
    assert misses(100, 0.0175, 0.95, 0.90)[1] == pytest.approx(0.171, abs=0.0006)
