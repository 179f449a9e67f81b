"""The rules of a comparison, and the verdict on one difference."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from assay.results.comparison import LEAST_QUERIES
from assay.stats.bounded import bounded_equivalence, bounded_pvalue
from assay.stats.inputs import EQUAL
from assay.stats.moments import NO_SPREAD, moments

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from assay.data.segments import Floats
    from assay.results.comparison import Payment, Rules
    from assay.results.conclusion import Decision

    Clusters = NDArray[np.str_] | None

_ROUNDING = 1e-9


def too_few(effective: float) -> bool:
    """Return whether the effective number of queries is too small for a verdict."""
    return effective < LEAST_QUERIES * (1 - _ROUNDING)


def decide(
    change: Floats,
    rules: Rules,
    *,
    adjusted: float,
    sign: float,
    weights: Floats | None,
    reach: float | None = 1.0,
    clusters: Clusters = None,
) -> Decision:
    """Return the verdict: equivalent if the difference is surely too small to matter, else better or worse if shown.

    `adjusted` is the corrected p of the difference, `sign` is -1 where lower values are better, and `reach` is the
    largest difference that a query can have: the range of the measure, None for one without bounds. `clusters` say
    which queries belong together.
    """
    of = moments(change, weights, clusters=clusters)
    if of.mean is None or too_few(of.effective_n):
        return "inconclusive"
    if abs(of.mean) < rules.smallest_effect and _surely_small(change, rules, weights, reach, clusters):
        return "equivalent"
    if (
        adjusted > rules.alpha
        or not of.mean
        or (of.reason == NO_SPREAD and not _surely_real(change, rules, weights, reach, clusters))
    ):
        return "inconclusive"
    return "better" if sign * of.mean > 0 else "worse"


def _surely_real(change: Floats, rules: Rules, weights: Floats | None, reach: float | None, clusters: Clusters) -> bool:
    """Return whether unseen queries of the opposite sign could not undo a difference that all queries share.

    A sign-flip test takes it to be as likely as its opposite, for which queries that all agree give no evidence.
    """
    if reach is None:
        return True
    p = bounded_pvalue(-np.abs(change), 0.0, upper=reach, weights=weights, clusters=clusters)
    return p is not None and p <= rules.alpha / 2


def _surely_small(
    change: Floats, rules: Rules, weights: Floats | None, reach: float | None, clusters: Clusters
) -> bool:
    """Return whether the mean is shown to be within the smallest effect, allowing for unseen values.

    Student's t would take a sample without any difference as proof that there is none. Differences beyond the reach
    show that it is not the reach, and a smallest effect beyond the reach could not be exceeded: nothing is sure.
    """
    if reach is None or rules.smallest_effect >= reach or np.nanmax(np.abs(change)) > reach * (1 + EQUAL):
        return False
    same = bounded_equivalence(
        change, rules.smallest_effect, reach=reach, weights=weights, clusters=clusters, beyond=rules.alpha
    )
    return same.pvalue is not None and same.pvalue <= rules.alpha


def decide_payment(
    verdict: Decision,
    after: Floats,
    before: Floats,
    rules: Rules,
    *,
    weights: Floats | None,
    bounds: tuple[float, float] | None,
    clusters: Clusters = None,
) -> Payment | None:
    """Return whether a relative gain is shown to be above the break-even of a reranker, below it, or neither.

    The gain is above `worth` exactly where after - (1 + worth) before has a mean above 0, which is tested within the
    bounds of the measure, on each side at alpha/2. Above takes a verdict of better too. A measure without bounds
    leaves it open, and a baseline whose mean is not above 0 has no relative gain: None.
    """
    base = moments(np.where(np.isnan(after), np.nan, before), weights, clusters=clusters)
    if base.mean is None or base.mean <= 0:
        return None
    if bounds is None or too_few(base.effective_n):
        return "open"
    factor = 1 + rules.worth
    beyond, (low, high) = after - factor * before, bounds
    mean = moments(beyond, weights, clusters=clusters).mean
    if not mean or (mean > 0 and verdict != "better"):
        return "open"
    values, upper = (beyond, high - factor * low) if mean < 0 else (-beyond, factor * high - low)
    p = bounded_pvalue(values, 0.0, upper=upper, weights=weights, clusters=clusters, beyond=rules.alpha)
    if p is None or p > rules.alpha / 2:
        return "open"
    return "below" if mean < 0 else "above"
