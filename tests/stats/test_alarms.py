"""The rule of alarms: its budget and its delay, against simulations and sums over all sequences."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.stats import norm

from assay.errors import UsageError
from assay.stats.alarms import chance_of_alarm, find_alarms, plan_alarms, power_quantile


@pytest.mark.parametrize("windows", [365.25, 8766, 105_192])
def test_alarms_of_a_truth_at_the_target_begin_as_often_as_the_budget_allows(windows):
    """A million windows that are past the target with the probability of the level, independent of each other."""
    rule = plan_alarms(windows)
    past = np.random.default_rng(3).random(1_000_000) < rule.level
    rate = len(find_alarms(past.tolist(), rule.run)) / len(past)
    allowed = rule.false_alarms / windows
    assert rate <= allowed + 4 * np.sqrt(allowed / len(past))
    assert rule.expected <= rule.false_alarms * (1 + 1e-9)


def test_a_shorter_window_asks_for_a_longer_row_or_a_stricter_bound():
    hourly, minutely = plan_alarms(8766), plan_alarms(8766 * 60)
    assert (hourly.run, minutely.run) == (2, 3)
    assert plan_alarms(8766, run=1).level < hourly.level < plan_alarms(8766, run=4).level
    assert plan_alarms(8766, false_alarms=0.1, run=2).level < hourly.level


def test_the_chance_of_a_row_is_the_sum_over_all_sequences_that_hold_one():
    share, run, windows = 0.3, 3, 7
    found = 0.0
    for sequence in product((True, False), repeat=windows):
        if find_alarms(sequence, run):
            found += share ** sum(sequence) * (1 - share) ** (windows - sum(sequence))
    assert chance_of_alarm(share, run, windows) == pytest.approx(found, abs=1e-12)


@pytest.mark.parametrize("run", [1, 2, 4])
def test_a_shift_of_the_stated_size_is_found_within_the_stated_delay(run):
    """Estimates around a truth that lies the stated shift past the target, with bounds of the level of the rule."""
    rule = plan_alarms(8766, run=run)
    shift = 2.0 * (norm.isf(rule.level) + power_quantile(rule))
    low = np.random.default_rng(5).normal(shift, 2.0, (20_000, rule.delay)) - norm.isf(rule.level) * 2.0
    found = np.mean([bool(find_alarms(row, run)) for row in (low > 0).tolist()])
    assert found == pytest.approx(0.9, abs=0.01)


def test_an_alarm_ends_with_the_first_window_that_is_not_past_the_target():
    assert find_alarms([False, True, True, True, False, True, False, True, True], 2) == [(2, 4), (8, None)]
    assert find_alarms([], 2) == []
    assert find_alarms([True], 1) == [(0, None)]


@pytest.mark.parametrize("given", [{"windows": 0.5}, {"windows": 10, "false_alarms": 0}, {"windows": 100, "run": 0}])
def test_a_rule_that_cannot_be_is_refused(given):
    with pytest.raises(UsageError):
        plan_alarms(**given)
