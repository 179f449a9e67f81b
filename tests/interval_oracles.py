"""Intervals near the edge, written from their definitions: ends found by search, not by a formula."""

from __future__ import annotations

import numpy as np
import scipy.stats
from scipy.integrate import quad
from scipy.optimize import brentq


def score_ends(values, level=0.95, low=0.0, high=1.0):
    """The means m at which (mean - m)^2 = t^2 phi m (1 - m)/n, or Clopper and Pearson's where that is farther out."""
    x = (np.asarray(values, dtype=float) - low) / (high - low)
    n, mean, padded = len(x), x.mean(), np.append(x, [0.0, 1.0])
    phi = padded.var() / (padded.mean() * (1 - padded.mean()))
    t = scipy.stats.t.ppf(0.5 + level / 2, n - 1)

    def beyond(m):
        return (mean - m) ** 2 - t**2 * phi * m * (1 - m) / n

    least = 0.0 if mean == 0 else brentq(beyond, 0, min(mean, 1 - 1e-9))
    most = 1.0 if mean == 1 else brentq(beyond, max(mean, 1e-9), 1)
    trials = n / phi
    exact = [  # the chance of so many successes or more, and of so many or fewer, is 1 - level
        scipy.stats.beta.ppf(1 - level, mean * trials, (1 - mean) * trials + 1) if mean > 0 else 0.0,
        scipy.stats.beta.ppf(level, mean * trials + 1, (1 - mean) * trials) if mean < 1 else 1.0,
    ]
    return low + (high - low) * min(least, exact[0]), low + (high - low) * max(most, exact[1])


def unseen_chance(values, mean, upper=1.0, draws=100_000):
    """How often values weighed at random, with one more at `upper`, have so large a mean or a larger one."""
    x = np.asarray(values, dtype=float)
    weights = np.random.default_rng(len(x)).standard_exponential((draws, len(x) + 1))
    return float(np.mean(weights @ np.append(x - mean, upper - mean) >= 0))


def opposing(values):
    """Number of equal distances above the mean that are worth as much as those of these values."""
    away = np.clip(np.asarray(values, dtype=float) - np.mean(values), 0, None)
    return away.sum() ** 2 / (away**2).sum() if away.any() else 0.0


def mean_ends(values, level=0.95):
    """Ends of `score_ends` of values from 0 to 1, or where unseen values have their risk, by numerical integration."""
    x = np.asarray(values, dtype=float)
    low, high = score_ends(x, level)
    return 1 - _farther(1 - x, 1 - low, (1 - level) / 2), _farther(x, high, (1 - level) / 2)


def _farther(x, end, risk):
    alpha = risk if opposing(x) < 5 else 2 * risk

    def excess(mean):
        rates = np.append(x - mean, 1 - mean)

        def integrand(u):
            return np.sin(np.arctan(rates * u).sum()) / u * np.exp(-np.log1p((rates * u) ** 2).sum() / 2)

        return 0.5 + quad(integrand, 0, np.inf, limit=1000)[0] / np.pi - alpha

    return end if end > 1 - 1e-9 or excess(end) <= 1e-9 else brentq(excess, end, 1 - 1e-12)


def adjusted_t_ends(values, level=0.95, reach=1.0):
    """Student's ends, on the side of the skewness g those with (mu - m)^2 = t^2 SE^2 (1 + g (mu - m)/SE)."""
    x = np.asarray(values, dtype=float)
    n, mean, error = len(x), x.mean(), scipy.stats.sem(x)
    t, g = scipy.stats.t.ppf(0.5 + level / 2, n - 1), np.sum((x - mean) ** 3) / n**3 / error**3

    def beyond(away):
        return away**2 - t**2 * (1 + abs(g) * away)

    far = brentq(beyond, 0, 1e6)
    below, above = (t, far) if g > 0 else (far, t)
    return max(mean - below * error, -reach), min(mean + above * error, reach)


def relative_ends(after, before, level=0.95):
    """The changes r at which the interval of after - (1 + r) before touches 0 (Fieller)."""
    after, before = np.asarray(after, dtype=float), np.asarray(before, dtype=float)
    middle = after.mean() / before.mean() - 1

    def end(side):
        return lambda r: adjusted_t_ends(after - (1 + r) * before, level, reach=np.inf)[side]

    return max(brentq(end(0), middle - 50, middle), -1.0), brentq(end(1), middle, middle + 50)
