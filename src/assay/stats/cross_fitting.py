"""Grades of several raters made into one on the scale of trusted labels, so that no label predicts itself."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from assay.errors import UsageError
from assay.messages import say
from assay.stats.inputs import Bools, Floats, Ints, check_share, table, vector
from assay.stats.intervals import Bounds, Interval
from assay.stats.moments import NO_SPREAD, NO_VALUES, ONE_CLUSTER
from assay.stats.resampling import stream

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

FOLDS = 10
_ROWS_A_WEIGHT = 5  # labelled rows that a model needs for each of its numbers


@dataclass(frozen=True)
class CrossFitted:
    """Predicted labels of all rows, and the model of all labels: `constant` + sum of `weights` times ratings.

    Each prediction is by a model that has seen no label of the row's group. `folds` is how many such models there are.
    """

    predictions: Floats
    constant: float
    weights: tuple[float, ...]
    folds: int


def cross_fit(
    ratings: ArrayLike, labels: ArrayLike, *, groups: ArrayLike, bounds: Bounds, folds: int = FOLDS, rng: int = 0
) -> CrossFitted:
    """Predict labels from ratings: a row per unit, a column per rater, NaN where there is none.

    The labelled groups are dealt into folds, and the rows of a group are predicted by a model of the other folds; those
    of groups without any label by the mean of all these models (cross-prediction, Zrnic & Candes 2024). A model is
    least squares with weights of 0 or more and a free constant, for each combination of raters that occurs, fitted on
    all rows that have these raters and a label; with fewer than five such rows for each of its numbers it is the mean
    of the labels. Predictions end at the bounds; a row without any rating has none.
    """
    x, y = table(ratings, "ratings", dimensions=2), vector(labels, "labels")
    codes = np.unique(np.asarray(groups), return_inverse=True)[1].astype(np.int64)
    if not len(x) == len(y) == len(codes):
        raise UsageError(say("ratings, labels and groups must have the same length"))
    known = ~np.isnan(y) & ~np.isnan(x).all(axis=1)
    labelled = np.unique(codes[known])
    if len(labelled) < 2:  # noqa: PLR2004
        raise UsageError(say("labels of one group alone cannot be held against another's"))
    count = min(folds, len(labelled))
    order = np.random.Generator(stream(rng, 0)).permutation(len(labelled))
    fold_of = np.full(int(codes.max()) + 1, -1)
    fold_of[labelled[order]] = np.arange(len(labelled)) % count
    fold = fold_of[codes]
    raters, kinds = np.unique(~np.isnan(x), axis=0, return_inverse=True)
    made = np.stack(
        [_predict(x, y, known & (fold != number), raters, kinds.ravel()) for number in range(count)], axis=1
    )
    own = made[np.arange(len(x)), np.maximum(fold, 0)]
    found: Floats = np.where(fold < 0, made.mean(axis=1), own)
    constant, weights = _fit(x, y, known, np.ones(x.shape[1], dtype=bool))
    return CrossFitted(np.clip(found, *bounds), constant, tuple(weights.tolist()), count)


def _predict(x: Floats, y: Floats, train: Bools, combinations: Bools, kinds: Ints) -> Floats:
    """Predict every row by the model of its combination of raters; NaN where no rater is in it."""
    found = np.full(len(x), np.nan)
    for kind, raters in enumerate(combinations):
        if raters.any():
            rows = kinds == kind
            constant, weights = _fit(x, y, train, raters)
            found[rows] = constant + x[rows][:, raters] @ weights[raters]
    return found


def _fit(x: Floats, y: Floats, train: Bools, raters: Bools) -> tuple[float, Floats]:
    """Constant and weights (0 for other raters) of the rows to train on that have all of these raters."""
    from scipy.optimize import nnls

    weights = np.zeros(x.shape[1])
    rows = train & ~np.isnan(x[:, raters]).any(axis=1)
    if rows.sum() < _ROWS_A_WEIGHT * (raters.sum() + 1):
        return float(y[train].mean()), weights
    a, b = x[rows][:, raters], y[rows]
    weights[raters] = nnls(a - a.mean(axis=0), b - b.mean())[0]
    return float(b.mean() - a.mean(axis=0) @ weights[raters]), weights


def cross_fitted_mean(
    predictions: ArrayLike, labels: ArrayLike, *, groups: ArrayLike, bounds: Bounds, confidence_level: float = 0.95
) -> Interval:
    """Mean label of all rows: the mean prediction plus the mean error of the predictions on the labelled rows.

    Labels must be of rows or groups drawn at random, and predictions cross-fitted. Groups are the units: with
    z_g = sum over a group's N_g rows (f - mean f)/N + sum over its n_g labelled rows (e - mean e)/n, the squared
    standard error is sum(z_g^2) L/(L - 1) for L labelled groups; Student's t with L - 1 degrees of freedom.
    """
    from scipy.special import stdtrit

    check_share(confidence_level, "confidence_level")
    f, y = vector(predictions, "predictions"), vector(labels, "labels")
    codes = np.unique(np.asarray(groups), return_inverse=True)[1].astype(np.int64)
    kept = ~np.isnan(f)
    known = kept & ~np.isnan(y)
    n, units = int(known.sum()), len(np.unique(codes[known]))
    if units < 2:  # noqa: PLR2004
        return Interval(None, None, None, confidence_level, "cross-fitted", n, ONE_CLUSTER if n else NO_VALUES)
    errors = y[known] - f[known]
    estimate = float(f[kept].mean() + errors.mean())
    z = _shares(codes[kept], f[kept], len(f)) + _shares(codes[known], errors, len(f))
    error = math.sqrt(float(z @ z) * units / (units - 1))
    if not error:
        return Interval(estimate, None, None, confidence_level, "cross-fitted", n, NO_SPREAD)
    half = float(stdtrit(units - 1, 0.5 + confidence_level / 2)) * error
    low, high = max(estimate - half, bounds[0]), min(estimate + half, bounds[1])
    return Interval(min(max(estimate, bounds[0]), bounds[1]), low, high, confidence_level, "cross-fitted", n)


def _shares(codes: Ints, values: Floats, size: int) -> Floats:
    """What each group adds to the deviation of the mean."""
    found: Floats = np.bincount(codes, weights=values - values.mean(), minlength=size) / len(values)
    return found
