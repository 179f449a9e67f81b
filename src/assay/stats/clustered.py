"""Intervals of a ratio and of a quantile whose values come in clusters: the requests of one user."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from assay.stats.arms import NO_DENOMINATOR, Arm, arm_of, user_deviation
from assay.stats.inputs import check_share, cluster_codes, vector
from assay.stats.intervals import TOO_FEW, Bounds, Interval, score_interval, skew_interval, t_interval
from assay.stats.moments import NO_SPREAD, NO_VALUES, ONE_CLUSTER, Moments

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


_ALIKE = 1e-4  # spread over mean below which the rounding of sums of cubes would be what is seen


def ratio_interval(
    arm: Arm, *, bounds: Bounds | None = None, confidence_level: float = 0.95, cubes: float | None = None
) -> Interval:
    """Interval of the ratio of two sums over clusters, from what each cluster adds to both (the delta method).

    The squared standard error is sum((y - r d)^2)/(n - 1) n/D^2 for n clusters and D = sum(d): the variance of one
    cluster's share in the ratio. The interval is Student's with n - 1 degrees of freedom; that of a ratio between
    two bounds is `score_interval`, with Kish's number of clusters, which has ends also where no cluster differs. An end
    beyond a bound is cut off there. With `cubes`, sum((y - r d)^3), the interval of a ratio that is not between two
    bounds is `skew_interval`.
    """
    value = arm.value if arm.n else None
    if value is None or arm.n < 2:  # noqa: PLR2004
        reason = NO_VALUES if not arm.n else NO_DENOMINATOR if value is None else ONE_CLUSTER
        return Interval(value, None, None, confidence_level, "delta", arm.n, reason)
    deviation = user_deviation(arm)
    assert deviation is not None
    mean, variance = arm.means[1], arm.covariances[1][1]
    effective = arm.n / (1 + variance * (arm.n - 1) / arm.n / mean**2)
    reason = "" if deviation > 0 else NO_SPREAD
    error = deviation / math.sqrt(arm.n)
    skewed = cubes is not None and deviation > _ALIKE * abs(value)
    skewness = cubes / (arm.n * mean * error) ** 3 if cubes is not None and skewed else 0.0
    of = Moments(arm.n, value, deviation, error, arm.n - 1.0, effective, reason, skewness)
    within = bounds is not None and bounds[0] <= value <= bounds[1]
    if bounds is not None and within and all(map(math.isfinite, bounds)):
        return score_interval(of, confidence_level, bounds=bounds)
    around, method = (t_interval, "delta") if cubes is None else (skew_interval, "adjusted t")
    found = around(of, confidence_level, bounds=bounds if within else None)
    return Interval(value, found.low, found.high, confidence_level, method, arm.n, found.reason)


def cluster_quantile_interval(
    values: ArrayLike, share: float, clusters: ArrayLike, *, confidence_level: float = 0.95
) -> Interval:
    """Quantile by linear interpolation, between two order statistics; values of a cluster may depend on each other.

    The share of values up to the quantile has an interval whose limits are Clopper and Pearson's for the effective
    number of values (their number over the design effect, which is at least 1, by Student's t of the clusters: Korn &
    Graubard 1998); the ends are the order statistics at its limits (Woodruff 1952). An end beyond all that was seen is
    None.
    """
    from scipy.special import betaincinv, ndtri, stdtrit

    check_share(share, "share")
    check_share(confidence_level, "confidence_level")
    x, codes = vector(values), cluster_codes(clusters, len(vector(values)))
    assert codes is not None
    method, n, tail = "woodruff", len(x), (1 - confidence_level) / 2
    groups = len(np.unique(codes))
    if groups < 2:  # noqa: PLR2004
        estimate = float(np.quantile(x, share)) if n else None
        return Interval(estimate, None, None, confidence_level, method, groups, ONE_CLUSTER if n else NO_VALUES)
    estimate = float(np.quantile(x, share))
    below = np.bincount(codes, weights=x <= estimate)
    deviation = user_deviation(arm_of(below, np.bincount(codes)))
    assert deviation is not None
    effect = max((deviation**2 / groups) / (share * (1 - share) / n), 1.0)
    effective = n / effect * float(ndtri(1 - tail) / stdtrit(groups - 1, 1 - tail)) ** 2
    low = float(betaincinv(effective * share, effective * (1 - share) + 1, tail))
    high = float(betaincinv(effective * share + 1, effective * (1 - share), 1 - tail))
    ordered = np.sort(x)
    under, over = math.floor(n * low), math.ceil(n * high)
    beyond = share**effective > tail, (1 - share) ** effective > tail  # no order statistic is surely beyond it
    ends = (
        None if beyond[1] or not under else float(ordered[under - 1]),
        None if beyond[0] else float(ordered[over - 1]),
    )
    return Interval(estimate, *ends, confidence_level, method, groups, TOO_FEW if None in ends else "")
