"""The mean of differences within known bounds: the usual interval, widened where the bounds require it.

Student's t counts on the spread that it sees. Where many small losses face a few large gains, a sample may hold none of
the gains, and t then shows a loss that is not there (in up to 80% of samples). The bounds of Gaffke (2005; see
`bounded`) do not make this error, but at the same level they detect half as much, and less where values spread over a
small part of their range. A guarded interval is that of `difference_interval`, which allows for skewness; where fewer
than three values oppose the side of an end, that end reaches at least as far as the bounds do at twice the risk. For
means, of which the bounds cost little, a guarded interval has the bounds at its own risk.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from assay.stats.bounded import bounded_pvalue, upper_bound
from assay.stats.inputs import EQUAL, vector
from assay.stats.intervals import Bounds, Interval, difference_interval, mean_interval, note_bounds
from assay.stats.moments import NO_SPREAD, Moments, effective_number, sample

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from assay.stats.inputs import Floats

_MOST_RISK = 0.5
_OPPOSED = 3


def guard_interval(
    differences: ArrayLike,
    reach: float | None,
    *,
    weights: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    confidence_level: float = 0.9,
) -> Interval:
    """Interval of a mean difference, none of which can be larger than `reach`; without one it is Student's.

    Differences that do not vary have the interval that the bounds give at the level itself. With clusters, both count
    the means of the clusters.
    """
    x = vector(differences)
    units: dict[str, Any] = {"weights": weights, "clusters": clusters}
    found = difference_interval(x, reach=reach, confidence_level=confidence_level, **units)
    if reach is None or not (found.low is not None or found.reason == NO_SPREAD):
        return found
    risk = (1 - confidence_level) / 2
    guard = risk if found.low is None else min(2 * risk, _MOST_RISK)
    above, below = (has_opposed(side, **units) and found.low is not None for side in (x, -x))
    high = found.high if above else _reach(x, units, found.high, reach, guard)
    low = found.low if below else -_reach(-x, units, None if found.low is None else -found.low, reach, guard)
    method = "bounded" if found.low is None else f"{found.method}, bounded"
    return note_bounds(replace(found, low=low, high=high, method=method, reason=""), (-reach, reach))


def has_opposed(differences: ArrayLike, *, weights: ArrayLike | None = None, clusters: ArrayLike | None = None) -> bool:
    """Return whether enough values lie above 0 for their spread to be taken for the true one, by their weight (Kish).

    Three are what it takes: with fewer, simulations of rare large values among small ones go wrong too often, and more
    change nothing but the power (docs/decisions.md).
    """
    x, shares, _ = sample(differences, weights, clusters)
    chosen = x > 0
    if shares is None or not chosen.any():
        return bool(chosen.sum() >= _OPPOSED)
    return effective_number(shares[chosen] / shares[chosen].sum()) >= _OPPOSED * (1 - EQUAL)


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
    x = vector(values)
    units: dict[str, Any] = {"weights": weights, "clusters": clusters}
    found = mean_interval(x, bounds=bounds, confidence_level=confidence_level, **units)
    if found.low is None or found.high is None:
        return found
    risk = (1 - confidence_level) / 2
    high = _reach(x, units, found.high, bounds[1], risk)
    low = _reach(-x, units, -found.low, -bounds[0], risk)
    return note_bounds(replace(found, low=-low, high=high, method=f"{found.method}, bounded"), bounds)


def _reach(x: Floats, units: dict[str, Any], end: float | None, upper: float, risk: float) -> float:
    """The upper end, as it is given or as the bounds say, whichever is farther; never beyond what can be."""
    if end is not None and end >= upper:
        return upper
    if end is not None:
        p = bounded_pvalue(x, end, upper=upper, beyond=risk, **units)
        if p is not None and p <= risk:
            return end
    found = upper_bound(x, upper=upper, alpha=risk, **units)
    return upper if found is None else found


def detectable_drop(interval: Interval, of: Moments, *, power: float = 0.8) -> float | None:
    """How far below 0 a mean must truly be for such an interval to lie below 0 with this probability; None if unknown.

    The interval must reach no farther up than the mean lies below 0, which a mean that is farther below by so many
    standard errors does with this probability.
    """
    from scipy.special import stdtrit

    if interval.high is None or interval.estimate is None or not of.standard_error or of.df is None:
        return None
    return interval.high - interval.estimate + float(stdtrit(of.df, power)) * of.standard_error
