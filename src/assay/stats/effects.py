"""Effect sizes of paired differences: how large, how often."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from assay.errors import UsageError
from assay.messages import say
from assay.stats.inputs import vector
from assay.stats.moments import NO_SPREAD, NO_VALUES, exact_sum, moments, sample

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


@dataclass(frozen=True)
class Effect:
    """An effect size; None, with the reason, where it cannot be computed."""

    value: float | None
    n: int
    reason: str = ""


@dataclass(frozen=True)
class WinsTiesLosses:
    """How many differences are positive, (nearly) 0 and negative; NaN is counted nowhere."""

    wins: int
    ties: int
    losses: int


def cohen_dz(differences: ArrayLike, *, weights: ArrayLike | None = None) -> Effect:
    """d_z: mean difference / standard deviation of the differences (ddof 1).

    With weights u summing to 1 the variance is sum(u (x - m)^2)/(1 - sum(u^2)). Differences that are all 0 have
    d_z = 0; all the same but not 0, none.
    """
    of = moments(differences, weights)
    if of.mean is None or of.deviation is None:
        return Effect(None, of.n, of.reason)
    if of.reason == NO_SPREAD:
        return Effect(0.0, of.n, of.reason) if of.mean == 0 else Effect(None, of.n, of.reason)
    return Effect(of.mean / of.deviation, of.n)


def superiority(differences: ArrayLike, *, weights: ArrayLike | None = None, tolerance: float = 0.0) -> Effect:
    """Probability of superiority: share of pairs with a positive difference, ties counted half."""
    _check_tolerance(tolerance)
    x, shares, _ = sample(differences, weights)
    if not len(x):
        return Effect(None, 0, NO_VALUES)
    points = np.where(np.abs(x) <= tolerance, 0.5, x > 0)
    return Effect(exact_sum(points) / len(x) if shares is None else exact_sum(points * shares), len(x))


def wins_ties_losses(differences: ArrayLike, *, tolerance: float = 0.0) -> WinsTiesLosses:
    """Count the differences above, within and below the tolerance; a difference of just the tolerance is a tie."""
    _check_tolerance(tolerance)
    x = vector(differences, "differences")
    wins, losses = int(np.sum(x > tolerance)), int(np.sum(x < -tolerance))
    return WinsTiesLosses(wins, int(np.sum(~np.isnan(x))) - wins - losses, losses)


def _check_tolerance(tolerance: float) -> None:
    if not 0 <= tolerance < math.inf:
        raise UsageError(say("tolerance must be a number, 0 or more, not {tolerance}", tolerance=tolerance))
