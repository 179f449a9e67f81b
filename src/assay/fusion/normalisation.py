"""Normalisations of scores within one list, each one registered function from an overlay to a matrix like its scores.

In the formulas, s is a document's score and r its rank from 1 on.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from assay.data import segments
from assay.errors import UnknownName
from assay.messages import say

if TYPE_CHECKING:
    from collections.abc import Callable

    from assay.data.segments import Floats
    from assay.fusion.overlay import Overlay

NORMS: dict[str, Norm] = {}


@dataclass(frozen=True)
class Norm:
    """A normalisation of scores within one list."""

    name: str
    function: Callable[[Overlay], Floats]

    @property
    def text(self) -> str:
        """What the normalisation does: formula, odd cases, reference."""
        return inspect.getdoc(self.function) or ""


def norm(name: str) -> Callable[[Callable[[Overlay], Floats]], Callable[[Overlay], Floats]]:
    """Register a normalisation."""

    def register(function: Callable[[Overlay], Floats]) -> Callable[[Overlay], Floats]:
        NORMS[name] = Norm(name, function)
        return function

    return register


def norm_of(name: str) -> Norm:
    """Find a normalisation by its name."""
    if name not in NORMS:
        raise UnknownName(say("normalisation"), name, NORMS, hint=say("see: assay fuse --list"))
    return NORMS[name]


@norm("none")
def none(lists: Overlay) -> Floats:
    """Scores as they are.

    Formula: s.
    """
    return lists.score


@norm("min-max")
def min_max(lists: Overlay) -> Floats:
    """Lowest score of the list to 0, highest to 1.

    Formula: (s - min) / (max - min).
    Odd cases: equal scores (also a list of one) become 1, as each of them is the highest.
    Reference: Lee, SIGIR 1997.
    """
    score = _moderate(lists)
    low = lists.lowest(score)
    return _ratio(score - low, lists.highest(score) - low, empty=1.0)


@norm("max")
def largest(lists: Overlay) -> Floats:
    """Scores as a share of the largest.

    Formula: s / max |s|; where no score is negative, s / max.
    Odd cases: zeros stay zeros.
    Reference: Lee, SIGIR 1997 (s / max).
    """
    return _ratio(lists.score, lists.highest(np.abs(lists.score)), empty=0.0)


@norm("sum")
def share(lists: Overlay) -> Floats:
    """Lowest score to 0, sum of the list to 1.

    Formula: (s - min) / sum of (s - min).
    Odd cases: equal scores become 1 / length of the list, so that they too sum to 1.
    Reference: Montague, Aslam, CIKM 2001.
    """
    score = _moderate(lists)
    above = score - lists.lowest(score)
    whole = lists.total(above)
    return np.where(whole == 0, np.where(lists.is_listed, 1 / np.maximum(lists.sizes, 1), np.nan), _ratio(above, whole))


@norm("z")
def z(lists: Overlay) -> Floats:
    """Mean of the list to 0, standard deviation to 1.

    Formula: (s - mean) / standard deviation (of the list as it is: ddof 0).
    Odd cases: equal scores become 0.
    Reference: Montague, Aslam, CIKM 2001 (ZMUV).
    """
    score = _moderate(lists)
    number = np.maximum(lists.sizes, 1)
    distance = score - lists.total(score) / number
    deviation = np.sqrt(lists.total(distance**2) / number)
    return _ratio(distance, np.where(lists.lowest(score) == lists.highest(score), 0, deviation))


@norm("rank")
def by_rank(lists: Overlay) -> Floats:
    """Share of the list that does not rank above the document.

    Formula: 1 - (r - 1) / length of the list.
    Reference: Lee, SIGIR 1997.
    """
    return 1 - (lists.rank - 1) / np.maximum(lists.sizes, 1)


@norm("borda")
def by_points(lists: Overlay) -> Floats:
    """Share of all candidates that do not rank above the document; completes every list.

    Formula: of c candidates 1 - (r - 1) / c; an unlisted one gets the mean of what is left, 1/2 - (length of the
    list - 1) / 2c.
    Odd cases: every run that has the query then scores every candidate, and n is the number of such runs.
    Reference: Renda, Straccia, SAC 2003.
    """
    candidates = lists.candidates[:, None]
    rest = np.where(lists.sizes, 1 / 2 - (lists.sizes - 1) / (2 * candidates), np.nan)
    return np.where(lists.is_listed, 1 - (lists.rank - 1) / candidates, rest)


def lift_scores(lists: Overlay, score: Floats) -> Floats:
    """Shift a list with negative scores up until its lowest is 0, so that an unlisted document never beats it."""
    return score - np.minimum(lists.lowest(score), 0)


def _moderate(lists: Overlay) -> Floats:
    """Scale each list by a power of two to at most 1: exact, and no difference or square can overflow."""
    exponent = np.frexp(np.nan_to_num(lists.highest(np.abs(lists.score))))[1]
    return np.ldexp(lists.score, -exponent)


def _ratio(numerator: Floats, denominator: Floats, empty: float = 0.0) -> Floats:
    """Divide; where the denominator is 0 but the document is listed, the result is `empty`."""
    return np.where(np.isnan(numerator), np.nan, segments.ratio(numerator, denominator, empty))
