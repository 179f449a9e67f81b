"""Quantiles of a sample and their intervals by order statistics, which assume nothing about the distribution."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from assay.stats.inputs import check_share, vector
from assay.stats.intervals import Interval
from assay.stats.moments import NO_VALUES

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

TOO_FEW = "too few values for both ends"


def quantile_interval(values: ArrayLike, share: float, *, confidence_level: float = 0.95) -> Interval:
    """Quantile by linear interpolation, between two order statistics that hold it with at least this confidence.

    The number of values below the quantile is binomial, so the ends are the ranks at which each tail of
    Binomial(n, share) has at most half of what is left to chance (David and Nagaraja, Order Statistics, 7.1). An end
    for which there are too few values is None: the quantile may lie beyond all that was seen. Values must be
    independent of each other; NaN leaves a value out.
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
