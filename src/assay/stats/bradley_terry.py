"""Strengths of systems from comparisons two by two: the model of Bradley and Terry (1952), comparisons in clusters."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from assay.errors import InputError, UsageError
from assay.messages import say
from assay.stats.inputs import Bools, Floats, Ints, check_share, vector
from assay.stats.intervals import Interval
from assay.stats.moments import NO_SPREAD, ONE_CLUSTER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

APART = "the systems are not all linked by comparisons"
ONE_SIDED = "a system won, or lost, all of its comparisons"
_STEPS, _CLOSE = 100, 1e-12


@dataclass(frozen=True)
class BradleyTerry:
    """Log strengths that add up to 0: a beats b with the chance 1/(1 + exp(b - a)).

    Where the systems are not all linked by comparisons, there are none. Where some of them never lost to the others,
    the best strengths are infinite: half a win and half a loss are then added to each two systems that were compared
    (`regularised`), and there are no intervals. `reason` says so.
    """

    strengths: tuple[Interval, ...]
    regularised: bool
    reason: str = ""


def bradley_terry(
    first: Sequence[int], second: Sequence[int], *, shares: ArrayLike, groups: ArrayLike, systems: int,
    confidence_level: float = 0.95,
) -> BradleyTerry:  # fmt: skip
    """Fit strengths to comparisons: numbers of two systems, and the share of the first (1 won, 0.5 tie, 0 lost).

    Maximum likelihood, a tie counting as half a win of each. Comparisons of one group (question) may depend on each
    other: intervals are Wald's with the sandwich of the groups' scores, G/(G - 1) times their sum of squares for G
    groups, and Student's t with G - 1 degrees of freedom.
    """
    check_share(confidence_level, "confidence_level")
    share = vector(shares, "shares")
    codes = np.unique(np.asarray(groups), return_inverse=True)[1].astype(np.int64)
    a, b = np.asarray(first, dtype=np.int64), np.asarray(second, dtype=np.int64)
    if not len(a) == len(b) == len(share) == len(codes):
        raise UsageError(say("first, second, shares and groups must have the same length"))
    if np.isnan(share).any() or (share < 0).any() or (share > 1).any():
        raise InputError(say("shares must lie between 0 and 1"))
    beaten = np.zeros((systems, systems), dtype=bool)
    beaten[a[share > 0], b[share > 0]] = True
    beaten[b[share < 1], a[share < 1]] = True
    if not _reach(beaten | beaten.T).all():
        return BradleyTerry(tuple(_open(None, confidence_level, APART) for _ in range(systems)), False, APART)  # noqa: FBT003
    if not _reach(beaten).all():
        one, other = np.nonzero(np.triu(beaten | beaten.T))
        theta, _ = _fit(np.append(a, one), np.append(b, other), np.append(share, np.full(len(one), 0.5)), systems)
        found = tuple(_open(float(value), confidence_level, ONE_SIDED) for value in theta)
        return BradleyTerry(found, regularised=True, reason=ONE_SIDED)
    theta, inverse = _fit(a, b, share, systems)
    count = int(codes.max()) + 1
    if count < 2:  # noqa: PLR2004
        return BradleyTerry(tuple(_open(float(one), confidence_level, ONE_CLUSTER) for one in theta), regularised=False)
    rest = share - 1 / (1 + np.exp(theta[b] - theta[a]))
    scores = np.zeros((count, systems))  # what each group adds to the gradient
    np.add.at(scores, (codes, a), rest)
    np.add.at(scores, (codes, b), -rest)
    covariance = inverse @ (scores.T @ scores) @ inverse * count / (count - 1)
    return BradleyTerry(_intervals(theta, np.diag(covariance), count, confidence_level), regularised=False)


def _reach(edges: Bools) -> Bools:
    """Which systems lead to which others, over any number of comparisons."""
    found: Bools = edges | np.eye(len(edges), dtype=bool)
    for _ in range(math.ceil(math.log2(max(len(edges), 2)))):
        found = (found.astype(np.int64) @ found.astype(np.int64)) > 0
    return found


def _fit(a: Ints, b: Ints, share: Floats, systems: int) -> tuple[Floats, Floats]:
    """Strengths by Newton's method, halving steps that overshoot, and the inverse of the information."""
    design = np.zeros((len(a), systems))
    design[np.arange(len(a)), a] = 1.0
    design[np.arange(len(a)), b] -= 1.0
    theta: Floats = np.zeros(systems)
    inverse: Floats = np.zeros((systems, systems))
    step: Floats = np.zeros(systems)
    best = _likelihood(design, share, theta)
    for _ in range(_STEPS):
        chance = 1 / (1 + np.exp(-(design @ theta)))
        information = design.T @ (design * (chance * (1 - chance))[:, None])
        # All strengths may grow together: their sum stays 0.
        inverse = np.asarray(np.linalg.inv(information + 1 / systems), dtype=np.float64)
        step[:] = inverse @ design.T @ (share - chance)
        while (found := _likelihood(design, share, theta + step)) < best - _CLOSE * abs(best):
            step /= 2
        theta += step
        best = max(found, best)
        if np.abs(step).max() < _CLOSE:
            break
    return theta - theta.mean(), inverse


def _likelihood(design: Floats, share: Floats, theta: Floats) -> float:
    ahead = design @ theta
    return float(-(share * np.logaddexp(0, -ahead) + (1 - share) * np.logaddexp(0, ahead)).sum())


def _intervals(theta: Floats, variances: Floats, groups: int, level: float) -> tuple[Interval, ...]:
    from scipy.special import stdtrit

    quantile = float(stdtrit(groups - 1, 0.5 + level / 2))
    found = []
    for value, variance in zip(theta.tolist(), variances.tolist(), strict=True):
        half = quantile * math.sqrt(max(variance, 0.0))
        low, high = (value - half, value + half) if half else (None, None)
        found.append(Interval(value, low, high, level, "sandwich", groups, "" if half else NO_SPREAD))
    return tuple(found)


def _open(value: float | None, level: float, reason: str) -> Interval:
    return Interval(value, None, None, level, "sandwich", 0, reason)
