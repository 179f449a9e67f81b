"""Grades of several raters on the scale of trusted labels: no label predicts itself, and intervals hold the truth."""

from __future__ import annotations

import os

import numpy as np
import pytest

import assay
from assay.stats import cross_fit, cross_fitted_mean

STRESS = os.environ.get("ASSAY_STRESS") == "1"
BOUNDS = (0.0, 3.0)


def draw(seed: int, groups: int = 60, size: int = 10, labelled: int = 20):
    """Raters who are too kind, too strict and erratic, and labels of some groups drawn at random."""
    rng = np.random.default_rng(seed)
    codes = np.repeat(np.arange(groups), size)
    truth = 1.0 + rng.normal(0, 0.35, groups)[codes] + rng.normal(0, 1, len(codes))
    people = np.clip(np.round(truth), 0, 3)
    raters = [
        np.clip(np.round(truth * slope + shift + rng.normal(0, spread, len(codes))), 0, 3)
        for slope, shift, spread in ((0.8, 0.7, 0.5), (1.0, -0.3, 0.9), (1.2, 0.7, 0.7))
    ]
    ratings = np.stack(raters, axis=1)
    ratings[rng.random(ratings.shape) < 0.05] = np.nan
    drawn = np.isin(codes, rng.choice(groups, labelled, replace=False))
    return ratings, people, np.where(drawn, people, np.nan), codes


def test_no_label_has_a_part_in_the_predictions_of_its_group():
    ratings, _, labels, codes = draw(1)
    before = cross_fit(ratings, labels, groups=codes, bounds=BOUNDS).predictions
    group = int(codes[~np.isnan(labels)][0])
    turned = np.where((codes == group) & ~np.isnan(labels), 3 - labels, labels)
    after = cross_fit(ratings, turned, groups=codes, bounds=BOUNDS).predictions
    own = codes == group
    assert np.array_equal(before[own], after[own], equal_nan=True)
    assert not np.array_equal(before[~own], after[~own], equal_nan=True)


def test_the_model_of_all_labels_is_least_squares():
    linear = pytest.importorskip("sklearn.linear_model")
    ratings, _, labels, codes = draw(2)
    found = cross_fit(ratings, labels, groups=codes, bounds=BOUNDS)
    rows = ~np.isnan(labels) & ~np.isnan(ratings).any(axis=1)
    other = linear.LinearRegression(positive=True).fit(ratings[rows], labels[rows])
    assert found.weights == pytest.approx(tuple(other.coef_), abs=1e-9)
    assert found.constant == pytest.approx(other.intercept_, abs=1e-9)


def test_a_rater_that_turns_the_scale_round_gets_no_weight():
    ratings, people, labels, codes = draw(3)
    ratings[:, 0] = 3 - people
    assert cross_fit(ratings, labels, groups=codes, bounds=BOUNDS).weights[0] == 0.0


def test_rows_without_a_rating_have_no_prediction_and_others_stay_within_the_bounds():
    ratings, _, labels, codes = draw(4)
    ratings[5] = np.nan
    found = cross_fit(10 * ratings - 9, labels, groups=codes, bounds=BOUNDS).predictions
    assert np.isnan(found[5])
    kept = np.delete(found, 5)
    assert kept[~np.isnan(kept)].min() >= 0.0 and kept[~np.isnan(kept)].max() <= 3.0


def test_with_too_few_rows_for_a_model_the_prediction_is_the_mean_of_the_other_labels():
    ratings = np.array([[0.0, 1.0], [3.0, 0.0], [1.0, 2.0], [2.0, 2.0]])
    labels = np.array([0.0, 3.0, 2.0, np.nan])
    found = cross_fit(ratings, labels, groups=["a", "b", "c", "d"], bounds=BOUNDS)
    assert found.predictions == pytest.approx([2.5, 1.0, 1.5, 5 / 3])
    assert (found.folds, found.weights) == (3, (0.0, 0.0))


def test_labels_of_one_group_are_refused():
    with pytest.raises(assay.UsageError, match="one group alone"):
        cross_fit([[1.0], [2.0]], [1.0, 2.0], groups=["q", "q"], bounds=BOUNDS)


def test_the_interval_is_that_of_clustered_least_squares_where_predictions_are_constant():
    models = pytest.importorskip("statsmodels.api")
    _, people, _, codes = draw(5)
    found = cross_fitted_mean(np.full(len(people), 1.25), people, groups=codes, bounds=BOUNDS)
    other = models.OLS(people, np.ones(len(people))).fit(
        cov_type="cluster", cov_kwds={"groups": codes, "df_correction": True}, use_t=True
    )
    low, high = other.conf_int()[0]
    assert found.estimate == pytest.approx(people.mean())
    assert (found.low, found.high) == pytest.approx((low, high), rel=1e-9)


def test_labels_that_the_predictions_get_right_leave_the_mean_prediction():
    predictions, labels = [1.0, 2.0, 0.0, 3.0], [1.0, 2.0, np.nan, np.nan]
    found = cross_fitted_mean(predictions, labels, groups=["a", "b", "c", "d"], bounds=BOUNDS)
    assert found.estimate == pytest.approx(1.5)


@pytest.mark.parametrize("labelled", [15, 30])
def test_the_calibrated_mean_is_closer_to_the_truth_than_the_raters_and_its_interval_holds_it(labelled):
    """The mean of 200,000 other rows is the truth; a share of 93 % at the least would be lower in 1 of 1,000 tries."""
    runs = 1000 if STRESS else 60
    truth = float(np.mean([draw(10_000 + i, groups=4000)[1].mean() for i in range(5)]))
    held, means, raw, errors = 0, [], [], []
    for seed in range(runs):
        ratings, people, labels, codes = draw(seed, labelled=labelled)
        fitted = cross_fit(ratings, labels, groups=codes, bounds=BOUNDS, rng=seed)
        found = cross_fitted_mean(fitted.predictions, labels, groups=codes, bounds=BOUNDS)
        held += found.low <= truth <= found.high
        means.append(found.estimate)
        raw.append(np.nanmean(ratings))
        errors.append([np.nanmean((column - people) ** 2) for column in (fitted.predictions, *ratings.T)])
    bias, plain = abs(np.mean(means) - truth), abs(np.mean(raw) - truth)
    assert bias < plain / 5
    mine, *theirs = np.mean(errors, axis=0)
    assert mine < min(theirs)
    assert held / runs >= (0.93 if STRESS else 0.85)
