"""The rules of a comparison, and the verdict on one difference."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from assay.results.comparison import LEAST_QUERIES
from assay.stats.bounded import bounded_equivalence, bounded_pvalue
from assay.stats.guarded import guard_interval
from assay.stats.inputs import EQUAL
from assay.stats.moments import moments, sample

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
    pvalue: float | None = None,
) -> Decision:
    """Return the verdict: equivalent if the difference is surely too small to matter, else better or worse if shown.

    `adjusted` is the corrected p of the difference and `pvalue` the plain one, `sign` is -1 where lower values are
    better, and `reach` is the largest difference that a query can have: the range of the measure, None for one without
    bounds. `clusters` say which queries belong together. What the test shows must also hold for skewed differences
    (`holds_if_skewed`), at the level that the correction leaves.
    """
    of = moments(change, weights, clusters=clusters)
    if of.mean is None or too_few(of.effective_n):
        return "inconclusive"
    if abs(of.mean) < rules.smallest_effect and _surely_small(change, rules, weights, reach, clusters):
        return "equivalent"
    level = rules.alpha if pvalue is None else rules.alpha * pvalue / adjusted
    shown = adjusted <= rules.alpha and of.mean and holds_if_skewed(change, level, weights, reach, clusters)
    if not shown:
        return "inconclusive"
    return "better" if sign * of.mean > 0 else "worse"


def holds_if_skewed(
    change: Floats, level: float, weights: Floats | None, reach: float | None, clusters: Clusters
) -> bool:
    """Return whether a difference that a sign-flip test shows is safe from the tail that the queries may not show.

    The test takes a difference to be as likely as its opposite. Where many queries gain a little and few lose much, a
    sample may hold none of the losses. So the interval that is printed must exclude 0, too: it allows for skewness, and
    where fewer than three queries oppose the difference, it counts on what was not seen. Where all differences are the
    same, the bounds of the measure must exclude 0 at the risk of that side.
    """
    found = sample(change, weights, clusters)
    if reach is None or not len(found.values) or np.abs(found.values).max() > reach * (1 + EQUAL):
        return True
    return guard_interval(change, reach, weights=weights, clusters=clusters, confidence_level=1 - level).excludes(0.0)


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
