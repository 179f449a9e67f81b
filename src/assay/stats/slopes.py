"""How fast values rise: the median of the slopes between all pairs of points, with its interval."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from assay.stats.inputs import check_share, vector
from assay.stats.intervals import TOO_FEW, Interval

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

_LEAST = 6  # of fewer points no pair of slopes holds the real one with 95 % confidence


def slope_interval(x: ArrayLike, y: ArrayLike, *, confidence_level: float = 0.95) -> Interval:
    """Slope of y over x by Theil and Sen: a few wild values do not move it.

    The ends are the slopes at the ranks that Kendall's statistic gives by its normal approximation (Sen 1968), with
    ties in y counted. Neighbours must be independent of each other; x must rise.
    """
    from scipy.special import ndtri

    check_share(confidence_level, "confidence_level")
    a, b = vector(x, "x"), vector(y, "y")
    n = len(a)
    first, second = np.triu_indices(n, 1)
    slopes = np.sort((b[second] - b[first]) / (a[second] - a[first]))
    middle = float(np.median(slopes)) if n > 1 else None
    if n < _LEAST:
        return Interval(middle, None, None, confidence_level, "theil-sen", n, TOO_FEW)
    ties = np.unique(b, return_counts=True)[1]
    spread = (n * (n - 1) * (2 * n + 5) - float((ties * (ties - 1) * (2 * ties + 5)).sum())) / 18
    half = float(ndtri(0.5 + confidence_level / 2)) * math.sqrt(max(spread, 0.0))
    over = min(round((len(slopes) + half) / 2), len(slopes) - 1)
    under = max(round((len(slopes) - half) / 2) - 1, 0)
    return Interval(middle, float(slopes[under]), float(slopes[over]), confidence_level, "theil-sen", n)
