"""What another policy would have earned, from rewards that were logged under known probabilities.

A row is something that was shown: its reward, and its weight, the probability that the new policy shows it there over
the probability that the log was made with. Where a policy shows only what the log could show, weights have a mean of 1.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from assay.stats.inputs import vector
from assay.stats.intervals import Interval, mean_interval
from assay.stats.moments import NO_VALUES, exact_sum

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from assay.stats.inputs import Floats, Ints

NO_OVERLAP = "the log shows too little of what the policy does"
NO_LISTS = "the log does not say which rows belong to one list"

Estimator = Literal["snips", "ips", "doubly_robust", "item_position"]


@dataclass(frozen=True)
class Overlap:
    """How far a log shows what a policy does: the effective number of rows (Kish), and the largest weight.

    `largest` is a share of the sum of all weights.
    """

    ess: float
    largest: float


def overlap_of(weights: ArrayLike) -> Overlap:
    """Say on how many rows a weighted mean rests.

    >>> overlap_of([1, 1, 2])
    Overlap(ess=2.6666666666666665, largest=0.5)
    """
    w = vector(weights)
    total = exact_sum(w)
    return Overlap(total**2 / exact_sum(w * w), float(w.max()) / total) if total > 0 else Overlap(0.0, 0.0)


def inverse_propensity(
    rewards: ArrayLike, weights: ArrayLike, *, clusters: ArrayLike | None = None, confidence_level: float = 0.95
) -> Interval:
    """Mean of weight x reward (IPS): unbiased, and as variable as the weights."""
    return _mean(vector(weights) * vector(rewards), clusters, confidence_level, "ips", (0.0, np.inf))


def self_normalised(
    rewards: ArrayLike, weights: ArrayLike, *, clusters: ArrayLike | None = None, confidence_level: float = 0.95
) -> Interval:
    """Weighted mean of the rewards (SNIPS): nearly unbiased, less variable, and within what rewards can be."""
    y, w = vector(rewards), vector(weights)
    if not w.sum() > 0:
        return Interval(None, None, None, confidence_level, "snips", len(y), NO_VALUES)
    bounds = (min(float(y.min()), 0.0), float(y.max()))
    return _mean(normalise_values(y, w), clusters, confidence_level, "snips", bounds)


def normalise_values(rewards: Floats, weights: Floats) -> Floats:
    """Values whose mean is the weighted mean of the rewards, and whose spread is what that mean varies with."""
    mean = exact_sum(weights * rewards) / exact_sum(weights)
    found: Floats = mean + weights / weights.mean() * (rewards - mean)
    return found


def doubly_robust(
    rewards: ArrayLike,
    weights: ArrayLike,
    *,
    expected: ArrayLike,
    logged: ArrayLike,
    clusters: ArrayLike | None = None,
    confidence_level: float = 0.95,
) -> Interval:
    """What a model of rewards expects, corrected by the weighted errors that it makes on the log.

    `expected` is the reward of each row that the model gives to the new policy, `logged` what it gives to the row
    itself. It is unbiased whatever the model, if that was fitted on other rows.
    """
    y, w, q = vector(rewards), vector(weights), vector(logged)
    return _mean(vector(expected) + w * (y - q), clusters, confidence_level, "doubly_robust", (0.0, np.inf))


def item_position(
    rewards: ArrayLike,
    weights: ArrayLike,
    requests: Ints,
    *,
    clusters: ArrayLike | None = None,
    confidence_level: float = 0.95,
) -> Interval:
    """Reward of a whole list: the sum of weight x reward over its places, on average (Li et al. 2018).

    It takes the reward of a document to depend on its place, and not on the documents around it. `requests` number the
    list of each row from 0 on; clusters are those of the rows.
    """
    sums: Floats = np.bincount(requests, weights=vector(weights) * vector(rewards)).astype(np.float64)
    of = None
    if clusters is not None:
        first = np.unique(requests, return_index=True)[1]
        of = np.asarray(clusters)[first]
    return _mean(sums, of, confidence_level, "item_position", (0.0, np.inf))


def _mean(
    values: Floats, clusters: ArrayLike | None, level: float, method: str, bounds: tuple[float, float]
) -> Interval:
    """The mean with Student's interval, extended to the side of the skew; ends beyond what can be are cut off."""
    found = mean_interval(values, clusters=clusters, confidence_level=level, method="adjusted t")
    low, high = found.low, found.high
    if found.estimate is not None and bounds[0] <= found.estimate <= bounds[1] and low is not None and high is not None:
        low, high = max(low, bounds[0]), min(high, bounds[1])
    return replace(found, low=low, high=high, method=method)
