"""Strengths of systems from comparisons two by two: against statsmodels, by simulation, and where there are none."""

from __future__ import annotations

import os
from itertools import combinations

import numpy as np
import pytest

import assay
from assay.stats.bradley_terry import APART, ONE_SIDED, bradley_terry

STRESS = os.environ.get("ASSAY_STRESS") == "1"


def compared(seed: int, questions: int = 60) -> tuple[list[int], list[int], np.ndarray, list[int]]:
    """Four systems on questions that suit some of them; one comparison in five is a tie."""
    rng = np.random.default_rng(seed)
    rows = []
    for question in range(questions):
        level = np.array([0.6, 0.1, -0.2, -0.5]) + rng.normal(0, 0.8, 4)
        for i, j in combinations(range(4), 2):
            won = rng.random() < 1 / (1 + np.exp(level[j] - level[i]))
            rows.append((i, j, 0.5 if rng.random() < 0.2 else float(won), question))
    first, second, share, group = map(list, zip(*rows, strict=True))
    return first, second, np.array(share), group


def fit(first, second, share, group):
    return bradley_terry(first, second, shares=share, groups=group, systems=4)


def test_strengths_and_intervals_are_those_of_a_logistic_regression_with_clusters():
    models = pytest.importorskip("statsmodels.api")
    first, second, share, group = compared(0)
    found = fit(first, second, share, group)
    design = np.zeros((len(first), 4))
    design[np.arange(len(first)), first] = 1.0
    design[np.arange(len(first)), second] = -1.0
    whole = np.vstack([np.eye(3), -np.ones((1, 3))])  # three parameters; the fourth is what makes the sum 0
    other = models.GLM(share, design @ whole, family=models.families.Binomial()).fit(
        cov_type="cluster", cov_kwds={"groups": group, "df_correction": True}, use_t=True
    )
    n = len(first)
    assert [one.estimate for one in found.strengths] == pytest.approx(list(whole @ other.params), abs=1e-7)
    errors = np.sqrt(np.diag(whole @ other.cov_params() @ whole.T) * (n - 3) / (n - 1))  # without its factor for n
    from scipy.stats import t

    widths = [(one.high - one.low) / 2 / t.ppf(0.975, 59) for one in found.strengths]
    assert widths == pytest.approx(list(errors), rel=1e-5)


def test_two_systems_have_the_log_odds_of_the_win_rate():
    share = [1.0, 1.0, 0.0, 0.5, 1.0]
    found = bradley_terry([0] * 5, [1] * 5, shares=share, groups=range(5), systems=2)
    rate = sum(share) / 5
    assert found.strengths[0].estimate - found.strengths[1].estimate == pytest.approx(np.log(rate / (1 - rate)))


def test_intervals_hold_the_strengths_that_many_questions_give():
    truth = np.mean(
        [[one.estimate for one in fit(*compared(900 + i, 3000)).strengths] for i in range(2)],
        axis=0,
    )
    runs = 1000 if STRESS else 60
    held = np.zeros(4)
    for seed in range(runs):
        found = fit(*compared(seed)).strengths
        held += [one.low <= value <= one.high for one, value in zip(found, truth, strict=True)]
    assert (held / runs).min() >= (0.925 if STRESS else 0.85)


def test_a_system_that_never_lost_has_a_finite_strength_without_an_interval():
    found = bradley_terry([0, 0, 1, 1], [1, 2, 2, 2], shares=[1.0, 1.0, 0.0, 1.0], groups=range(4), systems=3)
    assert (found.regularised, found.reason) == (True, ONE_SIDED)
    assert found.strengths[0].estimate > max(one.estimate for one in found.strengths[1:])
    assert all(one.low is None and one.reason == ONE_SIDED for one in found.strengths)


def test_systems_that_no_comparison_links_have_no_strengths():
    found = bradley_terry([0, 2], [1, 3], shares=[0.5, 0.5], groups=[1, 2], systems=4)
    assert found.reason == APART
    assert [one.estimate for one in found.strengths] == [None] * 4


def test_shares_beyond_0_and_1_are_refused():
    with pytest.raises(assay.InputError, match="between 0 and 1"):
        bradley_terry([0], [1], shares=[2.0], groups=[1], systems=2)
