"""Which combinations nothing beats in quality, time and money, where noise decides nothing.

A combination is beaten by another one that is at least as good in all three and surely better in one. Times differ from
run to run, so a difference of times counts only where it is sure; a lower mean quality counts against the other one
even where it is not sure, as it is not shown to be as good.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.analysis.decision import decide
from assay.stats.inputs import paired_differences
from assay.stats.multiplicity import adjust
from assay.stats.signflip import sign_flip
from assay.stats.signs import sign_test

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.data.segments import Floats
    from assay.results.comparison import Rules
    from assay.results.conclusion import Decision

FASTER = 1.5  # a median query must take so many times as long for a difference of times to count,
NOTICED = 1.0  # and so many milliseconds longer: smaller differences are often just noise of the machine
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
    points: Sequence[FrontPoint], rules: Rules, *, sign: float = 1.0, reach: float | None = 1.0
) -> list[FrontPlace]:
    """Find the points that none beats; `sign` is -1 for a measure that should be small, `reach` is that of `decide`."""
    signs = {pair: _compare(points, pair, found) for pair, found in _qualities(points, rules, sign, reach).items()}
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


def _qualities(
    points: Sequence[FrontPoint], rules: Rules, sign: float, reach: float | None
) -> dict[tuple[int, int], float]:
    """Compare every two combinations: by the decision on their difference (corrected), else by their means."""
    pairs = list(itertools.combinations(range(len(points)), 2))
    if not pairs:
        return {}
    changes = np.stack([paired_differences(points[i].quality, points[j].quality) for i, j in pairs], axis=1)
    raw = sign_flip(changes, n_resamples=rules.n_resamples, rng=rules.seed).pvalue
    tested = zip(raw.tolist(), adjust(raw, method=rules.correction).tolist(), strict=True)
    options: dict[str, Any] = {"sign": sign, "weights": None, "reach": reach}
    return {
        pair: _quality(decide(change, rules, pvalue=p, adjusted=corrected, **options), change, sign)
        for pair, change, (p, corrected) in zip(pairs, changes.T, tested, strict=True)
    }


def _quality(decision: Decision, change: Floats, sign: float) -> float:
    sure = {"better": 1.0, "worse": -1.0, "equivalent": 0.0}
    known = change[~np.isnan(change)]
    return sure.get(decision, 0.5 * sign * float(np.sign(known.sum())) if len(known) else 0.0)


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
