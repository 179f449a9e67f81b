"""Intervals that a gate decides by: of each, one end alone counts, and it counts on what the sample may lack.

Student's t takes the spread that it sees for the true one. Where many small losses face a few large gains, a sample may
hold none of the gains, and t then shows a loss that is not there (in up to 80% of samples). The bounds of Gaffke (2005;
see `bounded`) do not make this error, but at the same level they detect half as much, and less where values spread over
a small part of their range: `difference_interval` asks for them where few values lie on one side of 0. For means, of
which the bounds cost little, a guarded interval has the bounds at its own risk.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from assay.stats.bounded import reach_bound
from assay.stats.intervals import BOUNDED, Bounds, Interval, difference_interval, mean_interval, note_bounds
from assay.stats.moments import NO_SPREAD, Moments, sample

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def guard_interval(
    differences: ArrayLike,
    reach: float | None,
    *,
    weights: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    confidence_level: float = 0.9,
) -> Interval:
    """Interval of a mean difference, also of differences that do not vary: the bounds give it, at the level itself.

    No difference can be larger than `reach`; without one the interval is Student's.
    """
    units: dict[str, Any] = {"weights": weights, "clusters": clusters}
    found = difference_interval(differences, reach=reach, confidence_level=confidence_level, **units)
    if reach is None or found.reason != NO_SPREAD or found.estimate is None:
        return found
    x, shares, _ = sample(differences, **units)
    risk, mean = (1 - confidence_level) / 2, found.estimate
    low = -reach_bound(-x, shares, -mean, upper=reach, risk=risk)
    high = reach_bound(x, shares, mean, upper=reach, risk=risk)
    return note_bounds(replace(found, low=low, high=high, method="bounded", reason=""), (-reach, reach))


def guard_mean(
    values: ArrayLike,
    bounds: Bounds,
    *,
    weights: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    confidence_level: float = 0.9,
) -> Interval:
    """Interval of a mean of values between bounds, of which each end by itself is on the wrong side as seldom as meant.

    It is that of `mean_interval`, and reaches at least as far as the bounds of Gaffke at the risk of one end.
    """
    units: dict[str, Any] = {"weights": weights, "clusters": clusters}
    found = mean_interval(values, bounds=bounds, confidence_level=confidence_level, **units)
    if found.low is None or found.high is None:
        return found
    x, shares, _ = sample(values, **units)
    risk = (1 - confidence_level) / 2
    high = reach_bound(x, shares, found.high, upper=bounds[1], risk=risk)
    low = -reach_bound(-x, shares, -found.low, upper=-bounds[0], risk=risk)
    return note_bounds(replace(found, low=low, high=high, method=f"{found.method}, {BOUNDED}"), bounds)


def detectable_drop(interval: Interval, of: Moments, *, power: float = 0.8) -> float | None:
    """How far below 0 a mean must truly be for such an interval to lie below 0 with this probability; None if unknown.

    The interval must reach no farther up than the mean lies below 0, which a mean that is farther below by so many
    standard errors does with this probability.
    """
    from scipy.special import stdtrit

    if interval.high is None or interval.estimate is None or not of.standard_error or of.df is None:
        return None
    return interval.high - interval.estimate + float(stdtrit(of.df, power)) * of.standard_error
