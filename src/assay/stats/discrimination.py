"""How well scores separate two classes: area under the ROC curve, balanced accuracy, with bootstrap intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from assay.errors import InputError
from assay.messages import say
from assay.stats.agreement import NO_PAIRS, Agreement, pairs, with_interval
from assay.stats.inputs import Floats, Ints, vector

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

ONE_CLASS = "all rows are of one class"
_FOLDS = 5


class _Ranked(NamedTuple):
    """Rows with both values: the place of each score among the different ones, and whether it is positive."""

    values: Floats
    places: Ints
    positive: Floats
    groups: Ints

    @classmethod
    def of(cls, scores: ArrayLike, labels: ArrayLike, groups: ArrayLike | None) -> _Ranked:
        found, truth, numbered = pairs(scores, labels, groups)
        if not np.isin(truth, (0.0, 1.0)).all():
            raise InputError(say("labels must be 0 or 1"))
        values, places = np.unique(found, return_inverse=True)
        return cls(values, places.astype(np.int64), truth, numbered)

    @property
    def reason(self) -> str:
        return ONE_CLASS if len(self.places) else NO_PAIRS

    def counts(self, repeats: Ints) -> tuple[Floats, Floats]:
        """How many positive and negative rows have each score."""
        size = len(self.values)
        hits = np.bincount(self.places, weights=repeats * self.positive, minlength=size).astype(np.float64)
        every = np.bincount(self.places, weights=repeats, minlength=size).astype(np.float64)
        return hits, every - hits


def auroc(
    scores: ArrayLike,
    labels: ArrayLike,
    *,
    groups: ArrayLike | None = None,
    confidence_level: float = 0.95,
    n_resamples: int = 0,
    rng: int = 0,
) -> Agreement:
    """Probability that a positive row has a higher score than a negative one; equal scores count a half."""
    rows = _Ranked.of(scores, labels, groups)
    resampling = (confidence_level, n_resamples, rng)
    return with_interval(_area(rows), rows.groups, "auroc", rows.reason, resampling)


def auroc_difference(
    scores: ArrayLike,
    others: ArrayLike,
    *,
    labels: ArrayLike,
    groups: ArrayLike | None = None,
    confidence_level: float = 0.95,
    n_resamples: int = 0,
    rng: int = 0,
) -> Agreement:
    """Area of some scores less that of others on the rows that have both; the interval is that of the pairs."""
    first, second = vector(scores, "scores"), vector(others, "others")
    both = ~(np.isnan(first) | np.isnan(second))
    one = _Ranked.of(np.where(both, first, np.nan), labels, groups)
    other = _Ranked.of(np.where(both, second, np.nan), labels, groups)
    mine, theirs = _area(one), _area(other)

    def statistic(repeats: Ints) -> float | None:
        a, b = mine(repeats), theirs(repeats)
        return None if a is None or b is None else a - b

    resampling = (confidence_level, n_resamples, rng)
    return with_interval(statistic, one.groups, "auroc difference", one.reason, resampling)


def _area(rows: _Ranked) -> Callable[[Ints], float | None]:
    def statistic(repeats: Ints) -> float | None:
        hits, misses = rows.counts(repeats)
        possible = hits.sum() * misses.sum()
        below = np.cumsum(misses) - misses / 2
        return float(hits @ below / possible) if possible else None

    return statistic


def balanced_accuracy(
    scores: ArrayLike,
    labels: ArrayLike,
    *,
    threshold: float | None = None,
    groups: ArrayLike | None = None,
    confidence_level: float = 0.95,
    n_resamples: int = 0,
    rng: int = 0,
) -> Agreement:
    """Mean of the shares of positive rows at or above a threshold and of negative rows below it.

    Without a threshold, each fifth of the groups gets the one that is best for the other four: a threshold chosen on
    the rows it is tried on would look better than it is.
    """
    rows = _Ranked.of(scores, labels, groups)
    folds = np.zeros_like(rows.groups) if threshold is not None else rows.groups % _FOLDS

    def statistic(repeats: Ints) -> float | None:
        right, size = np.zeros(2), np.zeros(2)
        for fold in range(int(folds.max(initial=0)) + 1):
            here = folds == fold
            cut = threshold if threshold is not None else _best(rows, np.where(here, 0, repeats))
            if cut is None:
                return None
            above = rows.values[rows.places] >= cut
            for kind, right_side in enumerate((~above, above)):
                mine = np.where(here & (rows.positive == kind), repeats, 0)
                right[kind] += mine[right_side].sum()
                size[kind] += mine.sum()
        return float((right / size).mean()) if size.all() else None

    method = "balanced accuracy" if threshold is not None else "balanced accuracy (cross-fitted)"
    return with_interval(statistic, rows.groups, method, rows.reason, (confidence_level, n_resamples, rng))


def best_threshold(scores: ArrayLike, labels: ArrayLike) -> float | None:
    """Find the threshold with the highest balanced accuracy on these rows, the lowest of equals; None for one class."""
    rows = _Ranked.of(scores, labels, None)
    return _best(rows, np.ones(len(rows.places), dtype=np.int64))


def _best(rows: _Ranked, repeats: Ints) -> float | None:
    hits, misses = rows.counts(repeats)
    if not hits.sum() or not misses.sum():
        return None
    found = (hits[::-1].cumsum() / hits.sum() - misses[::-1].cumsum() / misses.sum())[::-1]
    # Rounding must not decide between equals, or another machine would choose another threshold.
    return float(rows.values[int(np.argmax(found >= found.max() - 1e-12))])
