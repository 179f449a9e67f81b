"""Which combinations nothing beats in quality, time and money, where noise decides nothing.

A combination is beaten by another one that is at least as good in all three and surely better in one. Times differ from
run to run, so a difference of times counts only where it is sure; a lower mean quality counts against the other one
even where it is not sure, as it is not shown to be as good.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from assay.analysis.decision import decide
from assay.stats.inputs import paired_differences
from assay.stats.moments import moments
from assay.stats.multiplicity import adjust
from assay.stats.signflip import sign_flip
from assay.stats.signs import sign_test

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from assay.data.segments import Floats
    from assay.results.comparison import Rules
    from assay.results.conclusion import Decision

    Clusters = NDArray[np.str_] | None

FASTER = 1.5  # a median query must take so many times as long for a difference of times to count,
NOTICED = 1.0  # and so many milliseconds longer: smaller differences are often just noise of the machine
_SURE_QUALITY: dict[Decision, float] = {"better": 1.0, "worse": -1.0, "equivalent": 0.0}
_SURE = 0.01  # and as good as all queries must agree on it


@dataclass(frozen=True, eq=False)
class FrontPoint:
    """Each query's quality, milliseconds and money under one combination; None if not known."""

    quality: Floats
    ms: Floats | None
    money: Floats | None


@dataclass(frozen=True)
class FrontPlace:
    """Whether a combination is on the front, and whether noise makes it indistinguishable from another one there."""

    on_front: bool
    within_noise: bool = False


def find_front(
    points: Sequence[FrontPoint],
    rules: Rules,
    *,
    sign: float = 1.0,
    reach: float | None = 1.0,
    weights: Floats | None = None,
    clusters: Clusters = None,
) -> list[FrontPlace]:
    """Find the points that none beats; `sign` is -1 for a measure that should be small, `reach` is that of `decide`.

    Weights and clusters are those of the queries, in the order of the qualities.
    """
    changes = _changes(points)
    decided = _qualities(changes, rules, weights, clusters, sign=sign, reach=reach)
    signs = {pair: _compare(points, pair, found) for pair, found in decided.items()}
    signs |= {(j, i): tuple(-one for one in found) for (i, j), found in signs.items()}
    beaten = [any(_beats(signs[j, i]) for j in range(len(points)) if j != i) for i in range(len(points))]
    return [
        FrontPlace(
            not beaten[i],
            not beaten[i] and any(_alike(signs[i, j]) for j in range(len(points)) if j != i and not beaten[j]),
        )
        for i in range(len(points))
    ]


Signs = tuple[float, ...]  # quality, time, money: 1 surely better, 0.5 better by its figure, 0 no difference


def _beats(signs: Signs) -> bool:
    return all(one >= 0 for one in signs) and any(one == 1 for one in signs)


def _alike(signs: Signs) -> bool:
    return all(abs(one) < 1 for one in signs)


def _changes(points: Sequence[FrontPoint]) -> dict[tuple[int, int], Floats]:
    """The differences in quality of every two combinations, query by query."""
    return {
        (i, j): paired_differences(points[i].quality, points[j].quality)
        for i, j in itertools.combinations(range(len(points)), 2)
    }


def _qualities(
    changes: Mapping[tuple[int, int], Floats], rules: Rules, weights: Floats | None, clusters: Clusters, *,
    sign: float, reach: float | None,
) -> dict[tuple[int, int], float]:  # fmt: skip
    """Compare every two combinations: by the decision on their difference (corrected), else by their means."""
    if not changes:
        return {}
    tested = sign_flip(
        np.stack(list(changes.values()), axis=1), weights=weights, clusters=clusters, n_resamples=rules.n_resamples,
        rng=rules.seed,
    )  # fmt: skip
    pvalues = zip(tested.pvalue.tolist(), adjust(tested.pvalue, method=rules.correction).tolist(), strict=True)
    found = {}
    for (pair, change), (p, corrected) in zip(changes.items(), pvalues, strict=True):
        decision = decide(
            change, rules, pvalue=p, adjusted=corrected, sign=sign, weights=weights, reach=reach, clusters=clusters
        )
        mean = moments(change, weights, clusters=clusters).mean
        found[pair] = _SURE_QUALITY.get(decision, 0.5 * sign * float(np.sign(mean or 0.0)))
    return found


def _compare(points: Sequence[FrontPoint], pair: tuple[int, int], quality: float) -> Signs:
    one, other = (points[i] for i in pair)
    return quality, _compare_costs(one.ms, other.ms, FASTER, NOTICED), _compare_costs(one.money, other.money)


def _compare_costs(one: Floats | None, other: Floats | None, factor: float = 1.0, least: float = 0.0) -> float:
    """1 if the first is surely cheaper, -1 if the second is, else 0; half where only one is known."""
    if one is None or other is None:
        return 0.5 * (float(one is not None) - float(other is not None))
    known = ~(np.isnan(one) | np.isnan(other))
    a, b = one[known], other[known]
    if not len(a):
        return 0.0
    if (a == a[0]).all() and (b == b[0]).all() and factor == 1:  # a fixed price varies with nothing
        return float(np.sign(b[0] - a[0]))
    p = sign_test(a - b).pvalue
    if p is None or p > _SURE:
        return 0.0
    middle_a, middle_b = float(np.median(a)), float(np.median(b))
    if abs(middle_a - middle_b) < least:
        return 0.0
    return 1.0 if middle_a * factor <= middle_b else -1.0 if middle_b * factor <= middle_a else 0.0
