"""Mean of a sample, plain or weighted, with its standard error and degrees of freedom."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from assay.stats.inputs import EQUAL, Floats, Ints, cluster_codes, relative_weights, vector

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

NO_VALUES = "there are no values"
ONE_VALUE = "one value alone tells nothing about its spread"
ONE_WEIGHT = "one value carries more than 99 % of the weight"
ONE_CLUSTER = "one cluster alone tells nothing about the spread"
NO_SPREAD = "the values do not vary"

# With less than this for all the others, a weighted sample is one value, and the formulas lose their digits.
_LEAST_REST = 0.01


@dataclass(frozen=True)
class Moments:
    """The mean of a sample, with its standard error and degrees of freedom.

    Without values everything is None; without a spread that can be judged (one value, or one that carries nearly all
    the weight) only the mean is known; `reason` says so. Values that do not vary have a standard error of 0, with a
    reason too. `effective_n` is the number of equally weighted values that would be worth as much (Kish): 1/sum(u^2).
    `skewness` is that of the mean: sum(u^3 (x - m)^3)/SE^3. Of clustered values, `n` counts the values and everything
    else is about the means of the clusters, `clusters` of them, each with the weight of all its values.
    """

    n: int
    mean: float | None = None
    deviation: float | None = None
    standard_error: float | None = None
    df: float | None = None
    effective_n: float = 0.0
    reason: str = ""
    skewness: float = 0.0
    clusters: int | None = None


@dataclass(frozen=True)
class Weighing:
    """How uneven weights are: the number of equal ones that are worth as much (Kish), the heaviest and its share."""

    n: int
    effective_n: float
    heaviest: int
    share: float


def weighing(weights: ArrayLike) -> Weighing:
    """Weigh up weights; `heaviest` is the place of the largest, of equals the first, and `n` counts those above 0."""
    found = vector(weights, "weights")
    scaled = relative_weights(found, len(found))
    shares = np.ones(len(found)) if scaled is None else scaled
    shares /= exact_sum(shares)
    heaviest = int(np.argmax(shares))
    return Weighing(int((shares > 0).sum()), effective_number(shares), heaviest, float(shares[heaviest]))


def effective_number(shares: Floats) -> float:
    """Number of equal shares that are worth as much as these, which sum to 1 (Kish): 1/sum(u^2)."""
    return 1 / exact_sum(shares**2)


class Units(NamedTuple):
    """Independent units with the shares of their weights, which sum to 1 (None: equal), of `n` values in all."""

    values: Floats
    shares: Floats | None
    n: int


def sample(values: ArrayLike, weights: ArrayLike | None = None, clusters: ArrayLike | None = None) -> Units:
    """Keep values that are present and have a weight; of clustered ones, the mean and the weight of each cluster."""
    x = vector(values)
    w, codes = relative_weights(weights, len(x)), cluster_codes(clusters, len(x))
    present = ~np.isnan(x)
    if w is not None:
        present &= w > 0
    x, w = x[present], None if w is None else w[present]
    shares = None if w is None or not len(w) or np.all(w == w[0]) else w / exact_sum(w)
    if codes is None or not len(x):
        return Units(x, shares, len(x))
    means, shares = cluster_means(x[:, None], shares, codes[present])
    return Units(means[:, 0], shares, len(x))


def cluster_means(columns: Floats, shares: Floats | None, codes: Ints) -> tuple[Floats, Floats | None]:
    """Means of each cluster's rows, and the clusters' shares of the weight; the codes are numbers from 0 on."""
    _, order = np.unique(codes, return_inverse=True)
    if order.max() + 1 == len(order):
        return columns, shares
    sizes = np.bincount(order, weights=shares).astype(np.float64)
    weighted = columns if shares is None else columns * shares[:, None]
    sums = np.stack([np.bincount(order, weights=column) for column in weighted.T], axis=1)
    means: Floats = sums / sizes[:, None]
    return means, None if shares is None and np.all(sizes == sizes[0]) else sizes / exact_sum(sizes)


def moments(values: ArrayLike, weights: ArrayLike | None = None, *, clusters: ArrayLike | None = None) -> Moments:
    """Mean with its standard error; NaN and weight 0 leave a value out.

    Weights say how much each value matters; they are not repetition counts. With shares u = w/sum(w) and m = sum(u x):

        SE^2 = sum(u^2 (x - m)^2) / (1 - 2 sum(u^3)/sum(u^2) + sum(u^2))

    The numerator is the usual linearised variance of a ratio, so it stays right when values with large weights vary
    more than others; the denominator makes it unbiased when they do not. For equal weights SE = s/sqrt(n).
    Degrees of freedom are Satterthwaite's for the same quadratic form x'Ax: tr(A)^2 / tr(A^2), which is n - 1 for equal
    weights (Bell & McCaffrey 2002).

    `clusters` names the cluster of each value: values of one cluster may depend on each other, clusters may not. The
    same formulas then hold for the means of the clusters and the shares of their weight: the numerator is the
    cluster-robust variance (Liang & Zeger 1986), and the denominator for clusters of one size its factor G/(G - 1).
    """
    found = sample(values, weights, clusters)
    of = moments_of(found.values, found.shares)
    if clusters is None:
        return of
    reason = ONE_CLUSTER if of.reason == ONE_VALUE and found.n > 1 else of.reason
    return replace(of, n=found.n, clusters=len(found.values), reason=reason)


def moments_of(x: Floats, shares: Floats | None) -> Moments:
    """Take the moments of a clean sample, as `sample` gives it."""
    n = len(x)
    if n == 0:
        return Moments(0, reason=NO_VALUES)
    effective = float(n) if shares is None else effective_number(shares)
    scale = int(scale_of(x))
    x = np.ldexp(x, -scale)
    mean = exact_sum(x) / n if shares is None else exact_sum(x * shares)
    if n == 1 or (shares is not None and 1 - float(shares.max()) < _LEAST_REST):
        return Moments(n, math.ldexp(mean, scale), effective_n=effective, reason=ONE_VALUE if n == 1 else ONE_WEIGHT)
    if np.ptp(x) <= EQUAL * np.abs(x).max():
        return Moments(n, math.ldexp(mean, scale), 0.0, 0.0, float(n - 1), effective, NO_SPREAD)
    deviation, error, df = _plain(x, mean) if shares is None else _weighted(x, mean, shares)
    cubes = (x - mean) ** 3
    skewness = exact_sum(cubes / n**3 if shares is None else shares**3 * cubes) / error**3
    return Moments(
        n, math.ldexp(mean, scale), math.ldexp(deviation, scale), math.ldexp(error, scale), df, effective,
        skewness=skewness,
    )  # fmt: skip


def exact_sum(x: Floats) -> float:
    """Sum without rounding on the way, so the order of values does not matter (a list is summed much faster)."""
    return math.fsum(x.tolist())


def scale_of(x: Floats) -> Ints:
    """Power of two next to the largest value along the first axis: divided by it, no square overflows or vanishes."""
    exponents: Ints = np.frexp(np.abs(x).max(axis=0, initial=0.0))[1].astype(np.int64)
    return exponents


def near_1(x: Floats) -> Floats:
    """Values divided by the power of two next to the largest."""
    return np.ldexp(x, -scale_of(x))


def _plain(x: Floats, mean: float) -> tuple[float, float, float]:
    n = len(x)
    deviation = math.sqrt(exact_sum((x - mean) ** 2) / (n - 1))
    return deviation, deviation / math.sqrt(n), float(n - 1)


def _weighted(x: Floats, mean: float, u: Floats) -> tuple[float, float, float]:
    squares = (x - mean) ** 2
    u2, u3, u4, u5 = (exact_sum(u**power) for power in (2, 3, 4, 5))
    trace = u2 - 2 * u3 + u2**2
    trace_of_square = u4 - 4 * u5 + 4 * u2 * u4 + 2 * u3**2 - 4 * u2**2 * u3 + u2**4
    error = math.sqrt(exact_sum(u**2 * squares) * u2 / trace)
    deviation = math.sqrt(exact_sum(u * squares) / (1 - u2))
    return deviation, error, min(max(trace**2 / trace_of_square, 1.0), float(len(x) - 1))
