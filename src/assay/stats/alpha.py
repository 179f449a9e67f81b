"""Krippendorff's alpha: agreement of any number of raters with values missing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from assay.stats.agreement import CONSTANT, Agreement, numbered, with_interval
from assay.stats.inputs import Floats, Ints, check_choice, table
from assay.stats.moments import near_1

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

Level = Literal["ordinal", "interval", "nominal"]

NO_UNITS = "no unit has two values to compare"


def krippendorff_alpha(
    ratings: ArrayLike,
    *,
    level: Level = "ordinal",
    groups: ArrayLike | None = None,
    confidence_level: float = 0.95,
    n_resamples: int = 0,
    rng: int = 0,
) -> Agreement:
    """1 - observed/expected disagreement over all pairs of values within a unit (Krippendorff 2011).

    `ratings` has a row per unit and a column per rater, NaN where there is no rating; units with fewer than two ratings
    are left out. Undefined when all ratings are one and the same. `groups` name the group of each unit; the interval
    draws groups whole.
    """
    check_choice(level, Level, "level")
    rows = table(ratings, "ratings", dimensions=2)
    pairable = np.sum(~np.isnan(rows), axis=1) > 1
    values = np.unique(rows[pairable])
    values = values[~np.isnan(values)]
    counts: Floats = np.sum(rows[pairable][:, :, None] == values, axis=1, dtype=np.float64)

    def statistic(repeats: Ints) -> float | None:
        return _alpha(counts, values, repeats, level)

    reason = CONSTANT if pairable.any() else NO_UNITS
    labels = numbered(groups, pairable)
    method = f"alpha ({level})"
    return with_interval(statistic, labels, method, reason, (confidence_level, n_resamples, rng))


def _alpha(counts: Floats, values: Floats, repeats: Ints, level: Level) -> float | None:
    """Alpha of units with so many ratings of each value, each unit counted so many times."""
    share = repeats / (counts.sum(axis=1) - 1)
    coincidences = (counts * share[:, None]).T @ counts - np.diag(share @ counts)
    margins = coincidences.sum(axis=0)
    distance = _distance(values, margins, level)
    expected = float(margins @ distance @ margins)
    if not expected:
        return None
    return 1 - float(margins.sum() - 1) * float((coincidences * distance).sum()) / expected


def _distance(values: Floats, margins: Floats, level: Level) -> Floats:
    """Squared distance of two values: 1, their difference, or how many ratings lie between them (half of their own)."""
    if level == "nominal":
        return 1 - np.eye(len(values))
    place = near_1(values) if level == "interval" else np.cumsum(margins) - margins / 2
    apart: Floats = (place[:, None] - place) ** 2
    return apart
