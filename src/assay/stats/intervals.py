"""Confidence intervals of a mean, a proportion, a relative difference and a quantile."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from assay.errors import UsageError
from assay.messages import say
from assay.stats.bootstrap import SAME_RESAMPLES, bca, limits_if_distinct, resampled_means
from assay.stats.inputs import (
    EQUAL,
    Floats,
    check_choice,
    check_share,
    paired_differences,
    relative_weights,
    table,
    vector,
)
from assay.stats.moments import NO_SPREAD, NO_VALUES, Moments, exact_sum, moments, moments_of, sample

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

Method = Literal["t", "bca"]

NO_BASELINE = "the mean of the baseline is 0"
UNSURE_BASELINE = "the mean of the baseline is not clear of 0: the interval is too narrow"
TOO_FEW = "too few values for both ends"
_CLEAR = 3  # standard errors


@dataclass(frozen=True)
class Interval:
    """A two-sided confidence interval; `low` and `high` are None, with the reason, where it cannot be computed.

    Values that do not vary have none: they do not tell how far the mean of other values like them would be from theirs.
    """

    estimate: float | None
    low: float | None
    high: float | None
    confidence_level: float
    method: str
    n: int
    reason: str = ""

    def excludes(self, value: float = 0.0) -> bool:
        """Tell whether the value lies outside; an interval that cannot be given excludes nothing."""
        if self.low is None or self.high is None:
            return False
        return value < self.low or value > self.high


def mean_interval(
    values: ArrayLike,
    *,
    weights: ArrayLike | None = None,
    confidence_level: float = 0.95,
    method: Method = "t",
    n_resamples: int = 10_000,
    rng: int = 0,
) -> Interval:
    """Interval of a (weighted) mean by Student's t or the BCa bootstrap; NaN and weight 0 leave a value out.

    The bootstrap draws values together with their weights (Efron 1987). `moments` has the formula of the t interval.
    """
    return mean_intervals(
        vector(values)[:, None],
        weights=weights,
        confidence_level=confidence_level,
        method=method,
        n_resamples=n_resamples,
        rng=rng,
    )[0]


def mean_intervals(
    values: ArrayLike,
    *,
    weights: ArrayLike | None = None,
    confidence_level: float = 0.95,
    method: Method = "t",
    n_resamples: int = 10_000,
    rng: int = 0,
    threads: int | None = None,
) -> tuple[Interval, ...]:
    """Interval of the mean of each column, as `mean_interval`; the bootstrap draws rows, once for all columns."""
    check_share(confidence_level, "confidence_level")
    check_choice(method, Method, "method")
    columns = table(values, "values", dimensions=2)
    w = relative_weights(weights, len(columns))
    if method == "t":
        return tuple(t_interval(moments(column, w), confidence_level) for column in columns.T)
    found: dict[int, Interval] = {}
    # Columns with the same rows present share their resamples; a column's interval does not hang on its neighbours.
    for present in np.unique(~np.isnan(columns), axis=1).T:
        members = np.flatnonzero((~np.isnan(columns) == present[:, None]).all(axis=0))
        rows = present if w is None else present & (w > 0)
        kept = None if w is None or not rows.any() else w[rows] / exact_sum(w[rows])
        drawn = resampled_means(columns[rows][:, members], kept, n_resamples=n_resamples, rng=rng, threads=threads)
        for place, means in zip(members.tolist(), drawn.T, strict=True):
            found[place] = _bca_interval(columns[rows, place], kept, means, confidence_level)
    return tuple(found[place] for place in range(columns.shape[1]))


def t_interval(of: Moments, confidence_level: float) -> Interval:
    """Student's interval around a mean whose moments are known."""
    from scipy.special import stdtrit

    check_share(confidence_level, "confidence_level")
    if of.mean is None or of.standard_error is None or of.df is None or of.reason == NO_SPREAD:
        return Interval(of.mean, None, None, confidence_level, "t", of.n, of.reason)
    half = float(stdtrit(of.df, 0.5 + confidence_level / 2)) * of.standard_error
    return Interval(of.mean, of.mean - half, of.mean + half, confidence_level, "t", of.n, of.reason)


def _bca_interval(x: Floats, shares: Floats | None, drawn: Floats, confidence_level: float) -> Interval:
    of = moments_of(x, shares)
    if of.mean is None or of.standard_error is None or of.reason == NO_SPREAD:
        return Interval(of.mean, None, None, confidence_level, "bca", of.n, of.reason)
    limits = limits_if_distinct(*bca(drawn, of.mean, _jackknife_means(x, shares), confidence_level))
    if limits is None:
        return Interval(of.mean, None, None, confidence_level, "bca", of.n, SAME_RESAMPLES)
    return Interval(of.mean, *limits, confidence_level, "bca", of.n)


def _jackknife_means(x: Floats, shares: Floats | None) -> Floats:
    """Means that are left when each value in turn is left out (the jackknife)."""
    u = np.full(len(x), 1 / len(x)) if shares is None else shares
    left: Floats = (exact_sum(u * x) - u * x) / (1 - u)
    return left


def proportion_interval(successes: int, n: int, *, confidence_level: float = 0.95) -> Interval:
    """Wilson's interval of a proportion: sensible for few trials and for 0 or n successes."""
    from scipy.special import ndtri

    check_share(confidence_level, "confidence_level")
    if not 0 <= successes <= n:
        raise UsageError(say("successes must lie between 0 and n = {n}, not at {successes}", n=n, successes=successes))
    if n == 0:
        return Interval(None, None, None, confidence_level, "wilson", 0, NO_VALUES)
    share, z2 = successes / n, float(ndtri(0.5 + confidence_level / 2)) ** 2
    centre = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = math.sqrt(z2 * (share * (1 - share) / n + z2 / (4 * n * n))) / (1 + z2 / n)
    low = 0.0 if successes == 0 else centre - half
    high = 1.0 if successes == n else centre + half
    return Interval(share, low, high, confidence_level, "wilson", n)


def relative_interval(
    values: ArrayLike, baseline: ArrayLike, *, weights: ArrayLike | None = None, confidence_level: float = 0.95
) -> Interval:
    """Interval of mean(values)/mean(baseline) - 1 of paired values, by the delta method.

    The ratio r has the standard error of the mean of (x - r b)/mean(b), so pairing and weights count. When the mean of
    the baseline is not clear of 0 (by 3 standard errors) the interval is too narrow; `reason` says so.
    """
    check_share(confidence_level, "confidence_level")
    x, b = vector(values), vector(baseline, "baseline")
    if len(x) != len(b):
        raise UsageError(
            say("paired values must have the same length, not {first} and {second}", first=len(x), second=len(b))
        )
    absent = np.isnan(x) | np.isnan(b)
    x, _ = sample(np.where(absent, np.nan, x), weights)
    b, shares = sample(np.where(absent, np.nan, b), weights)
    over, under = moments_of(x, shares), moments_of(b, shares)
    if over.mean is None or under.mean is None:
        return Interval(None, None, None, confidence_level, "delta", 0, NO_VALUES)
    if abs(under.mean) <= EQUAL * np.abs(b).max():
        return Interval(None, None, None, confidence_level, "delta", over.n, NO_BASELINE)
    ratio = over.mean / under.mean
    around = t_interval(moments_of(paired_differences(x, ratio * b) / under.mean, shares), confidence_level)
    low = None if around.low is None else around.low + ratio - 1
    high = None if around.high is None else around.high + ratio - 1
    unsure = under.standard_error is not None and abs(under.mean) < _CLEAR * under.standard_error
    reason = around.reason or (UNSURE_BASELINE if unsure else "")
    return Interval(ratio - 1, low, high, confidence_level, "delta", around.n, reason)


def quantile_interval(values: ArrayLike, share: float, *, confidence_level: float = 0.95) -> Interval:
    """Quantile by linear interpolation, between two order statistics that hold it with at least this confidence.

    Order statistics assume nothing about the distribution: the number of values below the quantile is binomial, so the
    ends are the ranks at which each tail of Binomial(n, share) has at most half of what is left to chance (David and
    Nagaraja, Order Statistics, 7.1). An end for which there are too few values is None: the quantile may lie beyond all
    that was seen. Values must be independent of each other; NaN leaves a value out.
    """
    from scipy.special import bdtr

    check_share(share, "share")
    check_share(confidence_level, "confidence_level")
    x = vector(values)
    x = np.sort(x[~np.isnan(x)])
    n, tail = len(x), (1 - confidence_level) / 2
    if not n:
        return Interval(None, None, None, confidence_level, "order statistics", 0, NO_VALUES)
    below = bdtr(np.arange(n, dtype=np.float64), n, share)  # P(at most so many values lie below the quantile)
    under = int(np.searchsorted(below, tail, side="right"))  # ranks, from 1, that may be the lower end
    over = int(np.searchsorted(below, 1 - tail, side="left")) + 1  # the first rank that may be the upper end
    low = float(x[under - 1]) if under else None
    high = float(x[over - 1]) if over <= n else None
    reason = "" if low is not None and high is not None else TOO_FEW
    return Interval(float(np.quantile(x, share)), low, high, confidence_level, "order statistics", n, reason)


def needed_for_quantile(share: float, *, confidence_level: float = 0.95) -> int:
    """How many values an interval of a quantile needs to have both ends."""
    check_share(share, "share")
    check_share(confidence_level, "confidence_level")
    # The last value lies below the quantile with probability share^n, the first one above it with (1 - share)^n.
    return math.ceil(math.log((1 - confidence_level) / 2) / math.log(max(share, 1 - share)))
