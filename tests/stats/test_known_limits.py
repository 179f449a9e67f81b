"""Coverage where a few queries fail and all others are alike, from the chances of all counts of failures.

With the score interval alone, with the bounds that `mean_interval` adds, and of one end alone, which `assay gate --sure`
rests on; docs/decisions.md has the figures.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from assay.stats.guarded import guard_mean
from assay.stats.intervals import mean_interval, score_interval
from assay.stats.moments import moments


def unguarded(values, *, bounds, confidence_level):
    """The score interval alone."""
    return score_interval(moments(values), confidence_level, bounds=bounds)


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


FAILING = [(50, 0.045, 0.893, 0.993), (100, 0.0225, 0.890, 0.992)]


@pytest.mark.parametrize(("n", "failing", "before", "coverage"), FAILING)
def test_a_few_failures_among_equal_values_are_covered(n, failing, before, coverage):
    assert 1 - sum(misses(n, failing, 0.9, 0.95, unguarded)) == pytest.approx(before, abs=0.0006)
    assert 1 - sum(misses(n, failing, 0.9, 0.95)) == pytest.approx(coverage, abs=0.0006)


def test_the_worst_share_of_failures_that_was_found_is_covered():
    """The lowest of 1,500 shares for each of 8 values and 20 to 1,000 queries."""
    assert 1 - sum(misses(100, 0.10425, 0.95, 0.95)) == pytest.approx(0.9265, abs=0.0006)


def test_targets_are_called_met_or_missed_wrongly_in_at_most_one_of_twenty_samples():
    """`assay diagnose` goes by one end of the 95 % interval; the score interval alone would be wrong in 11 to 12 %."""
    for n, failing, value in ((50, 0.045, 0.9), (100, 0.0225, 0.9), (300, 0.007, 0.9)):
        assert max(misses(n, failing, value, 0.95)) <= 0.05
        assert max(misses(n, failing, value, 0.95, unguarded)) > 0.1


SKEWED = [(20, 0.1, 0.95), (50, 0.045, 0.9), (100, 0.0175, 0.95), (300, 0.007, 0.9)]


@pytest.mark.parametrize(("n", "failing", "value"), SKEWED)
def test_one_end_alone_that_is_guarded_is_wrong_as_seldom_as_meant(n, failing, value):
    assert max(misses(n, failing, value, 0.90, guard_mean)) <= 0.05
    assert max(misses(n, failing, value, 0.90, unguarded)) > 0.065  # without bounds


def test_one_end_alone_without_a_guard_is_too_high_more_often_than_meant():
    assert misses(100, 0.0175, 0.95, 0.90, unguarded)[1] == pytest.approx(0.171, abs=0.0006)
