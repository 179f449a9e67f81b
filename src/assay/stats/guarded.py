"""The mean of differences within known bounds: Student's interval, kept from being surer than the bounds allow.

Student's t counts on the spread that it sees. Where many small losses stand against few large gains, a sample may hold
none of the gains, and t then shows a loss that is not there (in up to 80 % of samples). The bounds of Gaffke (2005; see
`bounded`) cannot be fooled so, but at the same level they see half as much. A guarded interval reaches as far as both:
Student's at its level, and the bounds at twice the risk. No case is known in which an end is wrong more often.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from assay.stats.bounded import bounded_pvalue, upper_bound
from assay.stats.inputs import check_share, vector
from assay.stats.intervals import Interval, t_interval
from assay.stats.moments import NO_SPREAD, Moments, moments

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from assay.stats.inputs import Floats

_MOST_RISK = 0.5


def guarded_interval(
    values: ArrayLike,
    bounds: tuple[float, float] | None,
    *,
    weights: ArrayLike | None = None,
    confidence_level: float = 0.9,
) -> Interval:
    """Interval of a mean of values that lie within bounds; without bounds it is Student's.

    Values that do not vary have the interval that the bounds give at the level itself.
    """
    check_share(confidence_level, "confidence_level")
    x = vector(values)
    found, risk = t_interval(moments(x, weights), confidence_level), (1 - confidence_level) / 2
    if bounds is None or not (found.low is not None or found.reason == NO_SPREAD):
        return found
    guard = risk if found.low is None else min(2 * risk, _MOST_RISK)
    high = _reach(x, weights, found.high, bounds[1], guard)
    low = _reach(-x, weights, None if found.low is None else -found.low, -bounds[0], guard)
    return replace(found, low=-low, high=high, method="bounded" if found.low is None else "t, bounded", reason="")


def _reach(x: Floats, weights: ArrayLike | None, end: float | None, upper: float, risk: float) -> float:
    """The upper end, as far as Student's or as the bounds say, whichever is farther; never beyond what can be."""
    if end is not None and end >= upper:
        return upper
    if end is not None:
        p = bounded_pvalue(x, end, upper=upper, weights=weights, beyond=risk)
        if p is not None and p <= risk:
            return end
    found = upper_bound(x, upper=upper, alpha=risk, weights=weights)
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
