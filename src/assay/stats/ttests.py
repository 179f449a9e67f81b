"""Student's t for paired values: whether the mean difference is 0, and whether it is too small to matter."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.errors import UsageError
from assay.messages import say
from assay.stats.inputs import SMALLEST_P, Alternative, check_choice, check_share
from assay.stats.intervals import Interval, t_interval
from assay.stats.moments import NO_SPREAD, Moments, moments

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


@dataclass(frozen=True)
class TTest:
    """Outcome of a paired t test; `interval` is the two-sided one of the mean difference.

    Differences that are all 0 give p = 1. Differences that are all the same but not 0 have no p (None, with the
    reason): t would be infinite, as there is no variation at all; the sign-flip test gives a p.
    """

    estimate: float | None
    standard_error: float | None
    statistic: float | None
    df: float | None
    pvalue: float | None
    alternative: Alternative
    n: int
    interval: Interval
    reason: str = ""


@dataclass(frozen=True)
class Equivalence:
    """Outcome of two one-sided tests: a small p says that the mean difference lies between the margins.

    `interval` has the confidence level 1 - 2 alpha: it lies within the margins exactly when p < alpha.
    """

    estimate: float | None
    pvalue: float | None
    pvalue_low: float | None
    pvalue_high: float | None
    low: float
    high: float
    interval: Interval
    n: int
    reason: str = ""


def paired_t(
    differences: ArrayLike,
    *,
    weights: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    alternative: Alternative = "two-sided",
    confidence_level: float = 0.95,
) -> TTest:
    """Test whether the (weighted) mean difference is 0; NaN and weight 0 leave a pair out.

    t = mean/SE with the standard error and degrees of freedom of `moments`, which states the formulas for weights and
    for clusters.
    """
    check_choice(alternative, Alternative, "alternative")
    of = moments(differences, weights, clusters=clusters)
    interval = t_interval(of, confidence_level)
    if of.standard_error is None or of.mean is None:
        return TTest(of.mean, None, None, None, None, alternative, of.n, interval, of.reason)
    if of.reason == NO_SPREAD:
        p = 1.0 if of.mean == 0 else None
        return TTest(of.mean, 0.0, None if p is None else 0.0, of.df, p, alternative, of.n, interval, of.reason)
    statistic, p = _student(of, 0.0, alternative)
    return TTest(of.mean, of.standard_error, statistic, of.df, p, alternative, of.n, interval)


def equivalence(
    differences: ArrayLike,
    margin: float | tuple[float, float],
    *,
    weights: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    alpha: float = 0.05,
) -> Equivalence:
    """Test whether the mean difference lies within the margins (TOST, Schuirmann 1987).

    A margin of 0.01 means from -0.01 to 0.01. p is the larger of the two one-sided ones: above the low margin, below
    the high one. Differences that do not vary have no p (None, with the reason).
    """
    check_share(2 * alpha, "2 alpha")
    low, high = (-margin, margin) if isinstance(margin, (int, float)) else margin
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise UsageError(say("margins must be finite with low < high, not {low} and {high}", low=low, high=high))
    of = moments(differences, weights, clusters=clusters)
    interval = t_interval(of, 1 - 2 * alpha)
    if of.standard_error is None or of.reason == NO_SPREAD:
        return Equivalence(of.mean, None, None, None, low, high, interval, of.n, of.reason)
    above, below = _student(of, low, "greater")[1], _student(of, high, "less")[1]
    return Equivalence(of.mean, max(above, below), above, below, low, high, interval, of.n)


def _student(of: Moments, null: float, alternative: Alternative) -> tuple[float, float]:
    from scipy.special import stdtr

    assert of.mean is not None and of.standard_error is not None and of.df is not None
    statistic = (of.mean - null) / of.standard_error
    toward = {"two-sided": -abs(statistic), "greater": -statistic, "less": statistic}[alternative]
    tails = 2 if alternative == "two-sided" else 1
    return statistic, max(tails * float(stdtr(of.df, toward)), SMALLEST_P)
