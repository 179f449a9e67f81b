"""The mean of values within known bounds: p-values and bounds that count on what was not seen.

Student's t takes the spread of the sample for the true spread. Where most values are 0 and few are large, a sample may
hold none of the large ones, and t is then sure of a mean that the sample does not show. The bounds here (Gaffke 2005)
add one value at the far end of the range to the sample and weigh all of them at random.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from assay.errors import InputError, UsageError
from assay.messages import say
from assay.stats.inputs import EQUAL, SMALLEST_P, Floats, check_share
from assay.stats.moments import NO_VALUES, effective_number, exact_sum, sample

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

MOST_RISK = 0.5  # of one end
CLOSE = 1e-9  # as near as an end is worked out; the chances behind it are no better known

_LOG_ERROR = 22.0  # of the inversion: what is left out adds up to some e^-22 = 3e-10, absolute
_LEAST_INVERTED = 1e-9  # smaller ones would be error; where the number of nodes is capped, the error can reach 2e-6
_BLOCK = 1 << 20  # cells of values x nodes that are computed at a time
_MOST_NODES = 1 << 20
_HALVINGS = 60
_FEW = 5.0  # values that oppose the end of a mean
_OPPOSED = 3  # differences on either side of 0


@dataclass(frozen=True)
class BoundedEquivalence:
    """Outcome of two one-sided tests of a bounded mean difference: a small p says that it lies within the margin.

    `pvalue_low` tests whether the mean is above -margin, `pvalue_high` whether it is below margin.
    """

    estimate: float | None
    pvalue: float | None
    pvalue_low: float | None
    pvalue_high: float | None
    margin: float
    reach: float
    n: int
    reason: str = ""


def bounded_equivalence(
    differences: ArrayLike,
    margin: float,
    *,
    reach: float = 1.0,
    weights: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    beyond: float = 1.0,
) -> BoundedEquivalence:
    """Test whether the mean difference lies between -margin and margin; no difference can be larger than `reach`.

    Each side is tested by `bounded_pvalue`, with clusters by their means. Where no value differs from 0, p is
    (1 - margin/reach)^n: with a margin of 0.01 and a reach of 1, it takes 299 values to get below 0.05.
    """
    if not (math.isfinite(margin) and margin > 0):
        raise UsageError(say("margin must be a finite number above 0, not {margin}", margin=margin))
    if not (math.isfinite(reach) and reach > 0):
        raise UsageError(say("reach must be a finite number above 0, not {reach}", reach=reach))
    x, shares, n = sample(differences, weights, clusters)
    if not len(x):
        return BoundedEquivalence(None, None, None, None, margin, reach, 0, NO_VALUES)
    below, above = (_pvalue(side, shares, margin, reach, beyond) for side in (x, -x))
    mean = exact_sum(x) / len(x) if shares is None else exact_sum(x * shares)
    return BoundedEquivalence(mean, max(above, below), above, below, margin, reach, n)


def bounded_pvalue(
    values: ArrayLike,
    null: float,
    *,
    upper: float,
    weights: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    beyond: float = 1.0,
) -> float | None:
    """Test the hypothesis that the mean is `null` or more, for values that cannot be above `upper`; return p.

    p = P(sum of E_i (x_i - null) + E_0 (upper - null) >= 0) with independent standard exponentials E (Gaffke 2005;
    Learned-Miller and Thomas 2020). With equal weights it is exact for values that are 0 or `upper` only (Clopper and
    Pearson's p); for others its level is conjectured, and no case that breaks it is known. Where it does not matter by
    how much p is above `beyond`, a lower bound of it that is above may be returned, which saves the work.

    With weights w the mean is sum(w x)/sum(w), which is at least `null` exactly when w (x - null) has a mean of 0 or
    more: the test is that of these values. It takes the largest weight for the largest that there can be, so an unseen
    value may weigh as much as the heaviest one. That is valid where no unseen value weighs more than the heaviest seen,
    for example with the weights of a complete log; otherwise the test can be far too eager. With clusters the values
    are the means of the clusters, which lie within the same bounds, weighted by all that they hold.
    """
    x, shares, _ = sample(values, weights, clusters)
    return None if not len(x) else _pvalue(x, shares, null, upper, beyond)


def upper_bound(
    values: ArrayLike,
    *,
    upper: float,
    alpha: float = 0.05,
    weights: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
) -> float | None:
    """Smallest mean that `bounded_pvalue` rejects at alpha: the mean is below it, but for a share alpha of samples.

    Values that are all 0 give (1 - alpha^(1/n)) upper.
    """
    check_share(alpha, "alpha")
    x, shares, _ = sample(values, weights, clusters)
    if not len(x):
        return None
    low, high = float(x.min()), upper
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if _pvalue(x, shares, middle, upper) <= alpha else (middle, high)
    return high


def extend_end(x: Floats, shares: Floats | None, end: float, *, upper: float, risk: float) -> float:
    """Upper end of the interval of a mean, at least as far out as the bounds of Gaffke, for a clean sample (`sample`).

    The bounds have twice the risk that the end is meant to have, as they are sure where it is right on average; where
    fewer than five values oppose it, they have the risk itself, because rare large values are then what a sample may
    lack. Values above the mean oppose it, counted by their distances from it (Kish), so that noise does not count. What
    the bounds add is a value that was not seen: with weights, it is worth one of the effective number of values.
    """
    if end >= upper:
        return end
    n = float(len(x)) if shares is None else effective_number(shares)
    rates, at = np.unique(x, return_inverse=True)
    times = np.bincount(at, weights=None if shares is None else n * shares).astype(np.float64)
    alpha = risk if _opposing(rates, times) < _FEW else min(2 * risk, MOST_RISK)

    def excess(null: float, beyond: float = 1.0) -> float:
        return _positive(np.append(rates, upper) - null, np.append(times, 1.0), beyond) - alpha

    if excess(end, alpha) <= 0:
        return end
    from scipy.optimize import brentq

    return float(brentq(excess, end, upper, xtol=EQUAL * (upper - float(rates[0]))))


def few_oppose(x: Floats, shares: Floats | None) -> bool:
    """Return whether fewer than three values of a clean sample lie above 0, or below it, by their weight (Kish).

    Three are what it takes: with fewer, simulations of rare large values among small ones go wrong too often, and more
    change nothing but the power (docs/decisions.md).
    """
    return any(_weigh_positive(side, shares) < _OPPOSED * (1 - EQUAL) for side in (x, -x))


def _weigh_positive(x: Floats, shares: Floats | None) -> float:
    chosen = x > EQUAL * np.abs(x).max(initial=0.0)  # means of clusters are rounded
    if shares is None or not chosen.any():
        return float(chosen.sum())
    return effective_number(shares[chosen] / shares[chosen].sum())


def reach_bound(x: Floats, shares: Floats | None, end: float, *, upper: float, risk: float) -> float:
    """Upper end of the interval of a mean, at least as far out as its bound at this risk, for a clean sample."""
    if end >= upper or _pvalue(x, shares, end, upper, risk) <= risk:
        return min(end, upper)
    from scipy.optimize import brentq

    width = upper - float(x.min())
    return float(brentq(lambda null: _pvalue(x, shares, null, upper) - risk, end, upper, xtol=CLOSE * width))


def _opposing(values: Floats, times: Floats) -> float:
    """Number of equally distant values above the mean that would be worth as much as those there are."""
    mean = exact_sum(values * times) / times.sum()
    away: Floats = np.maximum(values - mean, 0.0)
    squares = exact_sum(times * away**2)
    return exact_sum(times * away) ** 2 / squares if squares > 0 else 0.0


def _pvalue(x: Floats, shares: Floats | None, null: float, upper: float, beyond: float = 1.0) -> float:
    if not (math.isfinite(null) and math.isfinite(upper)):
        raise UsageError(say("null and upper must be finite, not {null} and {upper}", null=null, upper=upper))
    largest = float(x.max())
    if largest > upper and largest - upper > EQUAL * max(abs(largest), abs(upper)):
        raise InputError(say("the value {value:g} is above the upper bound {upper:g}", value=largest, upper=upper))
    rates, counts = np.unique((x - null) * (1.0 if shares is None else shares / shares.max()), return_counts=True)
    found = _positive(np.append(rates, upper - null), np.append(counts.astype(np.float64), 1.0), beyond)
    return min(max(found, SMALLEST_P), 1.0)


def _positive(rates: Floats, times: Floats, beyond: float) -> float:
    """P(sum of r E >= 0), where each rate r has as many standard exponentials E as `times` says.

    With a single positive term it is the product of 1/(1 + |r|/top), and with more it can only be larger: that is
    returned where it is above `beyond`. A single negative term has 1 less the mirrored product. Otherwise the
    characteristic function is inverted: P = 1/2 + 1/pi * integral of sin(theta(u)) / (u rho(u)), theta = sum of
    atan(r u), rho^2 = product of 1 + (r u)^2 (Imhof 1961), by the midpoint rule, which is off by no more than the
    probability beyond the range that its step represents (Davies 1973).
    """
    top = float(rates.max())
    if top <= 0:
        return 0.0
    if rates.min() >= 0:
        return 1.0
    held = rates <= 0
    least = math.exp(-exact_sum(times[held] * np.log1p(-rates[held] / top)))
    if least > beyond or times[~held].sum() == 1:
        return least
    if times[rates < 0].sum() == 1:
        return -math.expm1(-exact_sum(times[~held] * np.log1p(rates[~held] / -rates.min())))
    rates = rates / np.abs(rates).max()
    spread = math.sqrt((times * rates**2).sum())
    width = abs((times * rates).sum()) + spread * math.sqrt(2 * _LOG_ERROR) + _LOG_ERROR
    step = 2 * math.pi / width
    last = math.sqrt(2 * _LOG_ERROR) / spread  # where a normal distribution would be done
    while (times * np.log1p((rates * last) ** 2)).sum() / 2 < _LOG_ERROR and last < _MOST_NODES * step:
        last *= 1.25
    nodes: Floats = np.arange(min(math.ceil(last / step), _MOST_NODES), dtype=np.float64) + 0.5
    size = max(_BLOCK // len(rates), 1)
    parts = [_integrand(rates, times, nodes[i : i + size], step) for i in range(0, len(nodes), size)]
    return max(0.5 + exact_sum(np.concatenate(parts)) / math.pi, _LEAST_INVERTED)


def _integrand(rates: Floats, times: Floats, nodes: Floats, step: float) -> Floats:
    """Values at the nodes, which end long before rho could overflow; a product is much faster than logarithms."""
    often, at = times != 1, nodes[:, None] * step
    once, many, repeats = at * rates[~often], at * rates[often], times[often]
    theta = np.arctan(once).sum(axis=1) + (np.arctan(many) * repeats).sum(axis=1)
    squares = np.multiply.reduce(1 + once * once, axis=1) * np.exp((np.log1p(many * many) * repeats).sum(axis=1))
    found: Floats = np.sin(theta) / (np.sqrt(squares) * nodes)
    return found
