"""Confidence intervals of a mean, a mean difference, a proportion and a quantile."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from assay.errors import InputError, UsageError
from assay.messages import say
from assay.stats.bootstrap import SAME_RESAMPLES, bca, limits_if_distinct, resample_means
from assay.stats.bounded import MOST_RISK, extend_end, few_oppose, reach_bound
from assay.stats.inputs import (
    EQUAL,
    Floats,
    Ints,
    check_choice,
    check_share,
    cluster_codes,
    relative_weights,
    table,
    vector,
)
from assay.stats.moments import NO_SPREAD, NO_VALUES, Moments, cluster_means, exact_sum, moments, moments_of, sample

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

Method = Literal["auto", "score", "adjusted t", "t", "bca"]
Bounds = tuple[float, float]

TOO_FEW = "too few values for both ends"
BOUNDED = "bounded"  # behind the name of a method, after a comma
_NEAR = 0.1  # of an interval's width


@dataclass(frozen=True)
class Interval:
    """A two-sided confidence interval; `low` and `high` are None, with the reason, where it cannot be computed.

    Values that do not vary have none, unless their bounds are known and the method is "score": by themselves they do
    not show how far the mean of other values like them would be from theirs. `near` has the bounds of the values at
    which an end lies, or from which it is less than a tenth of the interval's width away (`note_bounds`).
    """

    estimate: float | None
    low: float | None
    high: float | None
    confidence_level: float
    method: str
    n: int
    reason: str = ""
    near: tuple[float, ...] = ()

    @property
    def is_bounded(self) -> bool:
        """Return whether the ends count on values that were not seen, because few lie on one side of 0."""
        return self.method.endswith(f", {BOUNDED}")

    def excludes(self, value: float = 0.0) -> bool:
        """Return whether the value is outside; an interval that is not known excludes nothing."""
        if self.low is None or self.high is None:
            return False
        return value < self.low or value > self.high


def note_bounds(of: Interval, bounds: tuple[float | None, float | None] | None) -> Interval:
    """Note which bounds of the values, if they have any, the ends of an interval reach or nearly reach."""
    if bounds is None or of.low is None or of.high is None:
        return replace(of, near=())
    rooms = zip(bounds, (of.low, of.high), strict=True)
    near = (bound for bound, end in rooms if bound is not None and abs(bound - end) <= _NEAR * (of.high - of.low))
    return replace(of, near=tuple(near))


def mean_interval(
    values: ArrayLike,
    *,
    weights: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    bounds: Bounds | None = None,
    confidence_level: float = 0.95,
    method: Method = "auto",
    n_resamples: int = 10_000,
    rng: int = 0,
) -> Interval:
    """Interval of a (weighted) mean; NaN and weight 0 leave a value out.

    "auto" is "score" for values with `bounds` and Student's "t" for others; "bca" is the bootstrap, which draws values
    with their weights, or whole clusters (Efron 1987). Values of one cluster may depend on each other. An interval of
    values with bounds never leaves them. `score_interval`, `skew_interval` and `moments` have the formulas; the ends of
    "score" are at least as far out as the bounds of Gaffke (`assay.stats.bounded.extend_end`), which count on rare
    values far from the others that the sample may lack.
    """
    return mean_intervals(
        vector(values)[:, None],
        weights=weights,
        clusters=clusters,
        bounds=bounds,
        confidence_level=confidence_level,
        method=method,
        n_resamples=n_resamples,
        rng=rng,
    )[0]


def mean_intervals(
    values: ArrayLike,
    *,
    weights: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    bounds: Bounds | None = None,
    confidence_level: float = 0.95,
    method: Method = "auto",
    n_resamples: int = 10_000,
    rng: int = 0,
    threads: int | None = None,
) -> tuple[Interval, ...]:
    """Interval of the mean of each column, as `mean_interval`; the bootstrap draws rows, once for all columns."""
    check_share(confidence_level, "confidence_level")
    check_choice(method, Method, "method")
    columns = table(values, "values", dimensions=2)
    _check_bounds(columns, bounds)
    if method == "score" and bounds is None:
        raise UsageError(say("the score interval needs the bounds of the values: bounds=(0, 1)"))
    if method == "bca":
        w, codes = relative_weights(weights, len(columns)), cluster_codes(clusters, len(columns))
        drawn = _bca_intervals(columns, w, codes, confidence_level, n_resamples=n_resamples, rng=rng, threads=threads)
        return tuple(note_bounds(one, bounds) for one in drawn)
    found = [moments(column, weights, clusters=clusters) for column in columns.T]
    if method == "adjusted t":
        return tuple(note_bounds(skew_interval(of, confidence_level, bounds=bounds), bounds) for of in found)
    if method == "t" or bounds is None:
        return tuple(note_bounds(t_interval(of, confidence_level, bounds=bounds), bounds) for of in found)
    samples = (sample(column, weights, clusters) for column in columns.T)
    return tuple(
        note_bounds(_extend(score_interval(of, confidence_level, bounds=bounds), x, shares, bounds), bounds)
        for of, (x, shares, _) in zip(found, samples, strict=True)
    )


def _extend(of: Interval, x: Floats, shares: Floats | None, bounds: Bounds) -> Interval:
    """Move the ends of a score interval outwards where the sample may lack rare values far away (`extend_end`)."""
    if of.low is None or of.high is None:
        return of
    risk = (1 - of.confidence_level) / 2
    low = -extend_end(-x, shares, -of.low, upper=-bounds[0], risk=risk)
    return replace(of, low=low, high=extend_end(x, shares, of.high, upper=bounds[1], risk=risk))


def difference_interval(
    differences: ArrayLike,
    *,
    reach: float | None = None,
    weights: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    confidence_level: float = 0.95,
    method: Method = "auto",
    n_resamples: int = 10_000,
    rng: int = 0,
) -> Interval:
    """Interval of a (weighted) mean difference, as `mean_interval`; no difference can be larger than `reach`.

    The reach is the range of the measure. "auto" is Student's "t" without it. With it, "auto" is "adjusted t", which
    takes the spread of the sample for the true one: where fewer than three values lie above 0, or below it, neither end
    is nearer than the bounds of the measure allow at twice the risk of the end (`assay.stats.bounded`).
    """
    auto = method == "auto" and reach is not None
    found = mean_interval(
        differences,
        weights=weights,
        clusters=clusters,
        bounds=None if reach is None else (-reach, reach),
        confidence_level=confidence_level,
        method="adjusted t" if auto else method,
        n_resamples=n_resamples,
        rng=rng,
    )
    if not auto or reach is None:
        return found
    return note_bounds(_guard(found, *sample(differences, weights, clusters)[:2], reach), (-reach, reach))


def _guard(of: Interval, x: Floats, shares: Floats | None, reach: float) -> Interval:
    """Move the ends of the interval of a difference out to the bounds where the sample shows too little of one side."""
    if of.low is None or of.high is None or not few_oppose(x, shares):
        return of
    risk = min(1 - of.confidence_level, MOST_RISK)
    low = -reach_bound(-x, shares, -of.low, upper=reach, risk=risk)
    high = reach_bound(x, shares, of.high, upper=reach, risk=risk)
    return replace(of, low=low, high=high, method=f"{of.method}, {BOUNDED}")


def _check_bounds(values: Floats, bounds: Bounds | None) -> None:
    if bounds is None:
        return
    low, high = bounds
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise UsageError(say("bounds must be finite with low < high, not {low} and {high}", low=low, high=high))
    slack = EQUAL * max(abs(low), abs(high))
    for value in (np.nanmin(values), np.nanmax(values)) if (~np.isnan(values)).any() else ():
        if not low - slack <= value <= high + slack:
            raise InputError(
                say("the value {value:g} is not between {low:g} and {high:g}", value=float(value), low=low, high=high)
            )


def t_interval(of: Moments, confidence_level: float, *, bounds: Bounds | None = None) -> Interval:
    """Student's interval around a mean whose moments are known."""
    return _around(of, confidence_level, "t", bounds=bounds, skewness=0.0)


def skew_interval(of: Moments, confidence_level: float, *, bounds: Bounds | None = None) -> Interval:
    """Student's interval, extended on the side to which the values are skewed.

    A sample of skewed values seldom holds enough of the long tail, and t is then too short on that side. In the family
    of distributions that tilting the sample gives (a natural exponential family), the variance of the mean m changes
    with the true mean mu by SE^2 (1 + g (mu - m)/SE), where g is the skewness of m. The end on the side of g solves
    (mu - m)^2 = t^2 SE^2 (1 + g (mu - m)/SE): |mu - m| = SE t (a + sqrt(1 + a^2)) with a = t |g|/2. For counts of rare
    events this is Rao's score interval of a Poisson mean. The other end stays Student's: it is only ever widened.
    """
    return _around(of, confidence_level, "adjusted t", bounds=bounds, skewness=of.skewness)


def _around(of: Moments, level: float, method: str, *, bounds: Bounds | None, skewness: float) -> Interval:
    quantile = _student(of, level)
    if quantile is None or of.mean is None or of.standard_error is None or of.reason == NO_SPREAD:
        return Interval(of.mean, None, None, level, method, of.n, of.reason)
    low = of.mean - quantile_by_skewness(quantile, -skewness) * of.standard_error
    high = of.mean + quantile_by_skewness(quantile, skewness) * of.standard_error
    if bounds is not None:
        low, high = max(low, bounds[0]), min(high, bounds[1])
    return Interval(of.mean, low, high, level, method, of.n, of.reason)


def quantile_by_skewness(quantile: float, skewness: float) -> float:
    """How many standard errors an end is away on the side where the skewness of the mean is this."""
    a = max(quantile * skewness / 2, 0.0)
    return quantile * (a + math.hypot(1.0, a))


def _student(of: Moments, confidence_level: float) -> float | None:
    from scipy.special import stdtrit

    check_share(confidence_level, "confidence_level")
    return None if of.df is None else float(stdtrit(of.df, 0.5 + confidence_level / 2))


def score_interval(of: Moments, confidence_level: float, *, bounds: Bounds) -> Interval:
    """Interval of a mean of values between bounds: Wilson's idea for any values, not only for 0 and 1.

    Brought to the range from 0 to 1, values with the mean m have a variance of phi m (1 - m), phi at most 1. phi is
    estimated with one value added at each end, which counts on values near the ends that were not seen. The ends are
    those m between which (mean - m)^2 <= t^2 phi m (1 - m)/n. Where the mean lies near an end, the distribution is
    that of few events, and Wilson's ends can be too close (Brown, Cai & DasGupta 2001): the end that is nearer to the
    edge lies at least where Clopper and Pearson's of n/phi trials does at the one-sided level alpha. Unlike Student's,
    it stays within the bounds, and it exists where all values are the same. With weights or clusters, n is the
    effective number (Kish) and the variance n SE^2.
    """
    quantile = _student(of, confidence_level)
    if quantile is None or of.mean is None or of.standard_error is None:
        return Interval(of.mean, None, None, confidence_level, "score", of.n, of.reason)
    low, width = bounds[0], bounds[1] - bounds[0]
    mean = min(max((of.mean - low) / width, 0.0), 1.0)
    phi = _share_of_variance(mean, (of.standard_error / width) ** 2, of.effective_n)
    step = quantile**2 * phi / of.effective_n
    centre = (mean + step / 2) / (1 + step)
    half = math.sqrt(step * (mean * (1 - mean) + step / 4)) / (1 + step)
    trials, alpha = of.effective_n / phi, 1 - confidence_level
    least = min(max(centre - half, 0.0), _least_share(mean, trials, alpha))
    most = max(min(centre + half, 1.0), 1 - _least_share(1 - mean, trials, alpha))
    return Interval(of.mean, low + width * least, low + width * most, confidence_level, "score", of.n)


def _share_of_variance(mean: float, squared_error: float, n: float) -> float:
    """phi: the variance of values between 0 and 1 over m (1 - m), with one value added at each end."""
    middle = (n * mean + 1) / (n + 2)
    variance = (n * (n - 1) * squared_error + 0.5) / (n + 2) + 2 * n * (mean - 0.5) ** 2 / (n + 2) ** 2
    return variance / (middle * (1 - middle))


def _least_share(share: float, trials: float, alpha: float) -> float:
    """The share below which so many successes have a chance of less than alpha (Clopper & Pearson 1934)."""
    from scipy.special import betaincinv

    return float(betaincinv(share * trials, (1 - share) * trials + 1, alpha)) if share > 0 else 0.0


def _bca_intervals(
    columns: Floats, w: Floats | None, codes: Ints | None, level: float, *, n_resamples: int, rng: int,
    threads: int | None,
) -> tuple[Interval, ...]:  # fmt: skip
    found: dict[int, Interval] = {}
    # Columns with the same rows present share their resamples; a column's interval does not depend on its neighbours.
    for present in np.unique(~np.isnan(columns), axis=1).T:
        members = np.flatnonzero((~np.isnan(columns) == present[:, None]).all(axis=0))
        rows = present if w is None else present & (w > 0)
        shares = None if w is None or not rows.any() else w[rows] / exact_sum(w[rows])
        units = columns[rows][:, members]
        if codes is not None and rows.any():
            units, shares = cluster_means(units, shares, codes[rows])
        drawn = resample_means(units, shares, n_resamples=n_resamples, rng=rng, threads=threads)
        for place, x, means in zip(members.tolist(), units.T, drawn.T, strict=True):
            found[place] = _bca_interval(x, shares, means, level, int(rows.sum()))
    return tuple(found[place] for place in range(columns.shape[1]))


def _bca_interval(x: Floats, shares: Floats | None, drawn: Floats, confidence_level: float, n: int) -> Interval:
    of = moments_of(x, shares)
    if of.mean is None or of.standard_error is None or of.reason == NO_SPREAD:
        return Interval(of.mean, None, None, confidence_level, "bca", n, of.reason)
    limits = limits_if_distinct(*bca(drawn, of.mean, _jackknife_means(x, shares), confidence_level))
    if limits is None:
        return Interval(of.mean, None, None, confidence_level, "bca", n, SAME_RESAMPLES)
    return Interval(of.mean, *limits, confidence_level, "bca", n)


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


def least_values(share: float, *, confidence_level: float = 0.95) -> int:
    """How many values an interval of a quantile needs to have both ends."""
    check_share(share, "share")
    check_share(confidence_level, "confidence_level")
    # The last value lies below the quantile with probability share^n, the first one above it with (1 - share)^n.
    return math.ceil(math.log((1 - confidence_level) / 2) / math.log(max(share, 1 - share)))
