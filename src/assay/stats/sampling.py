"""Samples drawn with known, unequal probabilities, and what they say about the whole.

Pareto sampling (Rosén 1997): every item has odds w and a random number u, and the n items with the smallest
u/(1-u)/w are drawn. The order does not depend on n, so a larger sample contains the smaller ones; the probability
of an item in a sample of n is, closely, c w/(1 + c w), with c such that the probabilities add up to n.
"""

from __future__ import annotations

import numpy as np

from assay.errors import UsageError
from assay.messages import say
from assay.stats.inputs import Floats, Ints, vector

_STEPS = 80  # halvings of an interval of logarithms
_WIDE = 60.0


def pareto_order(odds: Floats, uniforms: Floats) -> Ints:
    """Order items so that the first n are a sample of n, for any n; `uniforms` are random numbers in (0, 1)."""
    return np.argsort(np.log(uniforms) - np.log1p(-uniforms) - np.log(odds), kind="stable")


def inclusion_probabilities(odds: Floats, n: int) -> Floats:
    """The probability of each item of these odds to be among the first n of a Pareto order.

    >>> inclusion_probabilities([1.0, 1.0, 1.0, 1.0], 2)
    array([0.5, 0.5, 0.5, 0.5])
    """
    weights = vector(odds, "odds")
    if not 0 <= n <= len(weights):
        raise UsageError(say("a sample of {n} of {size} items is not possible", n=n, size=len(weights)))
    if n in {0, len(weights)}:
        return np.full(len(weights), float(n > 0))
    logs = np.log(weights)
    low, high = -_WIDE - float(logs.max()), _WIDE - float(logs.min())
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if _logistic(logs + middle).sum() < n:
            low = middle
        else:
            high = middle
    return _logistic(logs + high)


def _logistic(values: Floats) -> Floats:
    found: Floats = 1 / (1 + np.exp(-values))
    return found


def sampling_covariance(one: Floats, other: Floats, inclusion: Floats, group: Ints, size: int) -> Floats:
    """Estimated covariance, in each group, of two totals that are estimated by sum(value / inclusion).

    Hájek's approximation for samples of fixed size and high entropy in each group:
    n/(n-1) sum (1-p) (a/p - A) (b/p - B), A and B being means of a/p and b/p weighted by 1-p.
    """
    chance = 1 - inclusion
    number = np.bincount(group, minlength=size)
    weight = np.bincount(group, weights=chance, minlength=size)
    first, second = one / inclusion, other / inclusion

    def centred(values: Floats) -> Floats:
        totals = np.bincount(group, weights=chance * values, minlength=size)
        means = np.divide(totals, weight, out=np.zeros(size), where=weight > 0)
        return np.asarray(values - means[group])

    total = np.bincount(group, weights=chance * centred(first) * centred(second), minlength=size)
    found: Floats = total * number / np.maximum(number - 1, 1)
    return found


def spend(level: float, look: int) -> float:
    """The part of an error level that the look of this number may use: level / (look (look + 1)).

    The parts of all looks add up to the level, so it holds however often one looks.

    >>> [round(spend(0.05, look), 5) for look in (1, 2, 3)]
    [0.025, 0.00833, 0.00417]
    """
    if look < 1:
        raise UsageError(say("look {look}: expected 1 or more", look=look))
    return level / (look * (look + 1))
