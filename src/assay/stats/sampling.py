"""Samples drawn with known, unequal probabilities, and what they say about the whole.

Pareto sampling (Rosén 1997): every item has odds w and a random number u, and the n items with the smallest
u/(1-u)/w are drawn. The order does not depend on n, so a larger sample contains the smaller ones; the probability
of an item in a sample of n is, closely, c w/(1 + c w), with c such that the probabilities add up to n.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import special

from assay.errors import UsageError
from assay.messages import say
from assay.stats.inputs import Bools, Floats, Ints, vector

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

    def centre(values: Floats) -> Floats:
        totals = np.bincount(group, weights=chance * values, minlength=size)
        means = np.divide(totals, weight, out=np.zeros(size), where=weight > 0)
        return np.asarray(values - means[group])

    total = np.bincount(group, weights=chance * centre(first) * centre(second), minlength=size)
    found: Floats = total * number / np.maximum(number - 1, 1)
    return found


@dataclass(frozen=True, eq=False)
class Jackknife:
    """Samples of groups, drawn with unequal probabilities, with one of their items left out in turn.

    Whatever is estimated from the weights 1/p of a sample is estimated again without each item; what it stands for goes
    to the others of its group in proportion to (1-p)/p, so that a total falls by a/p - A, whose squares are those of
    Hájek's variance. Items that do not count (their value is 0, and so leaving out one is like leaving out any other)
    share one replicate. The rows of all replicates are the items that count, in the order of `replicate`: item
    `item` with the weight `weight`. Each group has its whole sample first, then the sample without an item that does
    not count, then those without each of the others.

    >>> drawn = Jackknife.of(np.array([0.5, 0.5]), np.array([0, 0]), np.array([True, True]), 1)
    >>> drawn.combine(np.bincount(drawn.replicate, weights=drawn.weight))[0]
    array([4.])
    """

    item: Ints
    replicate: Ints
    weight: Floats
    size: int
    _first: Ints
    _without: Ints
    _group: Ints
    _inclusion: Floats

    @classmethod
    def of(cls, inclusion: Floats, group: Ints, counting: Bools, size: int) -> Jackknife:
        """Make the replicates of groups that are numbered from 0 and sorted; `counting` marks the items that count."""
        chance, counts = 1 - inclusion, np.flatnonzero(counting)
        owner, number = group[counts], np.bincount(group[counts], minlength=size)
        first = np.cumsum(number + 2) - (number + 2)
        place = np.arange(len(counts)) - (np.cumsum(number) - number)[owner]
        without = first[group] + 1
        without[counts] = first[owner] + 2 + place
        rows = np.repeat(number, number + 2)
        replicate = np.repeat(np.arange(len(rows)), rows)
        of_group = np.repeat(np.repeat(np.arange(size), number + 2), rows)
        within = np.arange(len(replicate)) - np.repeat(np.cumsum(rows) - rows, rows)
        item = counts[(np.cumsum(number) - number)[of_group] + within]
        spread = np.bincount(group, weights=chance, minlength=size)[group]
        gain = np.divide(chance, spread, out=np.zeros(len(chance)), where=spread > 0)
        factor = np.where(replicate == first[of_group], 1.0, 1 + gain[item]) - (replicate == without[item])
        return cls(item, replicate, factor / inclusion[item], int((number + 2).sum()), first, without, group, inclusion)

    def combine(self, values: Floats) -> tuple[Floats, Floats]:
        """From the value of every replicate: values of the groups, less their bias, and the influence of every item.

        The values are NaN where those of the whole sample are.
        """
        whole, size = values[self._first], len(self._first)
        change = np.nan_to_num(whole[self._group] - values[self._without])
        number = np.bincount(self._group, minlength=size)
        bias = -np.bincount(self._group, weights=(1 - self._inclusion) * change, minlength=size)
        return whole - bias * number / np.maximum(number - 1, 1), change * self._inclusion


def sampling_error(variances: Floats, degrees: Floats | None, level: float) -> tuple[float, float]:
    """The standard error of a sum of independent totals, and how far an interval of this level reaches on either side.

    The variance of each total was estimated from so many values less one (its `degrees`; None: from very many), so the
    interval is Student's, with the degrees of freedom of Welch and Satterthwaite.

    >>> [round(one, 3) for one in sampling_error(np.array([0.02, 0.02]), np.array([3.0, 3.0]), 0.95)]
    [0.2, 0.489]
    """
    total = math.fsum(variances)
    error = math.sqrt(total)
    if degrees is None or not error > 0:
        return error, float(special.ndtri(0.5 + level / 2)) * error
    freedom = total**2 / math.fsum(variances**2 / degrees)
    return error, float(special.stdtrit(freedom, 0.5 + level / 2)) * error


def spend(level: float, look: int) -> float:
    """The part of an error level that the look of this number may use: level / (look (look + 1)).

    The parts of all looks add up to the level, so it holds however often one looks.

    >>> [round(spend(0.05, look), 5) for look in (1, 2, 3)]
    [0.025, 0.00833, 0.00417]
    """
    if look < 1:
        raise UsageError(say("look {look}: expected 1 or more", look=look))
    return level / (look * (look + 1))
