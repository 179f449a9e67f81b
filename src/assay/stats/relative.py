"""Interval of a relative change: how much larger one mean is than another, of the same units."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from assay.errors import UsageError
from assay.messages import say
from assay.stats.bounded import CLOSE, MOST_RISK, bounded_pvalue, few_oppose
from assay.stats.inputs import EQUAL, Floats, check_choice, check_share, paired_differences, vector
from assay.stats.intervals import BOUNDED, Bounds, Interval, quantile_by_skewness
from assay.stats.moments import NO_SPREAD, NO_VALUES, ONE_CLUSTER, ONE_VALUE, Moments, exact_sum, moments_of, sample

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

RelativeMethod = Literal["auto", "t"]

NO_BASELINE = "the mean of the baseline is 0"
UNSURE_BASELINE = "the mean of the baseline is not clear of 0"


def relative_interval(
    values: ArrayLike,
    baseline: ArrayLike,
    *,
    weights: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    bounds: Bounds | None = None,
    confidence_level: float = 0.95,
    method: RelativeMethod = "auto",
) -> Interval:
    """Interval of mean(values)/mean(baseline) - 1 of paired values, by Fieller's method.

    A change of r is inside exactly where the interval of the mean of x - (1 + r) b holds 0 (Fieller 1954): pairing,
    weights and clusters count, and so does what is not known about the baseline. That interval is `skew_interval`
    for values with bounds and Student's for others, or always with the method "t". Where fewer than three values are
    larger than those of the baseline, or smaller, the bounds of values that cannot be negative count, as for
    `difference_interval`. Where the mean of the baseline is not clear of 0, so that its own interval holds 0, the
    change may be anything: the interval is empty. Values that cannot be negative cannot lose more than everything: the
    low end is at least -1.
    """
    check_share(confidence_level, "confidence_level")
    check_choice(method, RelativeMethod, "method")
    x, b = vector(values), vector(baseline, "baseline")
    if len(x) != len(b):
        raise UsageError(
            say("paired values must have the same length, not {first} and {second}", first=len(x), second=len(b))
        )
    absent = np.isnan(x) | np.isnan(b)
    over, shares, n = sample(np.where(absent, np.nan, x), weights, clusters)
    under = sample(np.where(absent, np.nan, b), weights, clusters).values
    first, second = moments_of(over, shares).mean, moments_of(under, shares).mean
    if first is None or second is None:
        return Interval(None, None, None, confidence_level, "fieller", 0, NO_VALUES)
    if abs(second) <= EQUAL * np.abs(under).max():
        return Interval(None, None, None, confidence_level, "fieller", n, NO_BASELINE)
    ratio, scaled = first / second, under / second
    rest = paired_differences(over / second, ratio * scaled)
    of = moments_of(rest, shares)
    if of.standard_error is None or of.df is None or of.reason == NO_SPREAD:
        reason = ONE_CLUSTER if of.reason == ONE_VALUE and n > 1 else of.reason
        return Interval(ratio - 1, None, None, confidence_level, "fieller", n, reason)
    away = _ends(_tilt(rest, scaled, shares, of), _student(of.df, confidence_level), skewed=_is_skewed(bounds, method))
    if away is None:
        return Interval(ratio - 1, None, None, confidence_level, "fieller", n, UNSURE_BASELINE)
    ends, how = (ratio - 1 - away[0], ratio - 1 + away[1]), "fieller"
    if bounds is not None and bounds[0] >= 0:
        ends = max(ends[0], -1.0), ends[1]
        if method != "t" and few_oppose(paired_differences(over, under), shares):
            ends = _guard(ends, over, under, shares, bounds, risk=min(1 - confidence_level, MOST_RISK))
            how += f", {BOUNDED}"
    return Interval(ratio - 1, *ends, confidence_level, how, n)


def _guard(
    ends: tuple[float, float], x: Floats, b: Floats, shares: Floats | None, bounds: Bounds, *, risk: float
) -> tuple[float, float]:
    """Move the ends out to the changes r that the bounds of x - (1 + r) b allow at this risk; none is below -1."""

    def excess(r: float, side: float) -> float:
        """How far the chance that the change is r, or beyond it on this side (1: above), is above the risk."""
        q = 1 + r
        upper = bounds[1] - q * bounds[0] if side > 0 else q * bounds[1] - bounds[0]
        p = bounded_pvalue(side * (x - q * b), 0.0, upper=upper, weights=shares)
        return (p or 0.0) - risk

    from scipy.optimize import brentq

    low, high = ends
    if low > -1 and excess(low, -1.0) > 0:
        low = float(brentq(excess, -1.0, low, args=(-1.0,), xtol=CLOSE))
    far = high
    while excess(far, 1.0) > 0:
        far = 2 * far + 1
    return low, float(brentq(excess, high, far, args=(1.0,), xtol=CLOSE)) if far > high else high


def _is_skewed(bounds: Bounds | None, method: RelativeMethod) -> bool:
    return bounds is not None and method == "auto"


def _student(df: float, confidence_level: float) -> float:
    from scipy.special import stdtrit

    return float(stdtrit(df, 0.5 + confidence_level / 2))


@dataclass(frozen=True)
class _Tilt:
    """Squared standard error and third moment of the mean of e - d b, as polynomials in d (b has the mean 1)."""

    squares: tuple[float, float, float]
    cubes: tuple[float, float, float, float]

    def error(self, d: float) -> float:
        s = self.squares
        return math.sqrt(max(s[0] - 2 * d * s[1] + d * d * s[2], 0.0))

    def skewness(self, d: float) -> float:
        k, error = self.cubes, self.error(d)
        return (k[0] - 3 * d * k[1] + 3 * d * d * k[2] - d**3 * k[3]) / error**3 if error else 0.0


def _tilt(rest: Floats, under: Floats, shares: Floats | None, of: Moments) -> _Tilt:
    u = np.full(len(rest), 1 / len(rest)) if shares is None else shares
    e, b = rest - exact_sum(u * rest), under - 1
    assert of.standard_error is not None
    factor = of.standard_error**2 / exact_sum(u**2 * e**2)
    squares = [factor * exact_sum(u**2 * e ** (2 - i) * b**i) for i in range(3)]
    cubes = [exact_sum(u**3 * e ** (3 - i) * b**i) for i in range(4)]
    return _Tilt((squares[0], squares[1], squares[2]), (cubes[0], cubes[1], cubes[2], cubes[3]))


def _ends(tilt: _Tilt, quantile: float, *, skewed: bool) -> tuple[float, float] | None:
    """How far the ends are below and above the ratio; None where they do not exist."""

    def beyond(d: float) -> float:
        """Distance by which the interval of e - d b does not reach 0 any more."""
        skewness = math.copysign(1.0, d) * tilt.skewness(d) if skewed else 0.0
        return abs(d) - quantile_by_skewness(quantile, skewness) * tilt.error(d)

    # Far out, e - d b is -d b: there are ends exactly where the interval of the baseline does not hold 0.
    error = math.sqrt(tilt.squares[2])
    skewness = -tilt.cubes[3] / error**3 if skewed and error else 0.0
    if quantile_by_skewness(quantile, skewness) * error >= 1:
        return None
    return _root(beyond, -tilt.error(0.0)), _root(beyond, tilt.error(0.0))


def _root(beyond: Callable[[float], float], step: float) -> float:
    """How far from 0, on the side of the step, the function turns positive."""
    from scipy.optimize import brentq

    far = step
    while beyond(far) <= 0:
        far *= 2
    return abs(float(brentq(beyond, 0.0, far, xtol=1e-15, rtol=1e-13)))
