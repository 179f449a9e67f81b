"""The mean of a column of scores with its interval, which every analysis shows alike."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.stats.guarded import guard_mean
from assay.stats.intervals import mean_interval, note_bounds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.data.scores import Scores
    from assay.stats.intervals import Interval


def column_mean(
    scores: Scores, label: str, *, rows: Sequence[int] | None = None, confidence_level: float = 0.95, sure: bool = False
) -> Interval:
    """The mean of a measure with an interval that stays within its bounds, over all queries or those of some rows.

    With `sure`, each end alone can be relied on (`guard_mean`), where the measure has bounds.
    """
    chosen = slice(None) if rows is None else list(rows)
    values, column = scores.column(label), scores.about(label)
    weights = None if scores.weights is None else scores.weights[chosen]
    clusters = None if scores.clusters is None else np.array(scores.clusters)[chosen]
    bounds = column.limits(values)
    units: dict[str, Any] = {"weights": weights, "clusters": clusters, "confidence_level": confidence_level}
    if sure and bounds is not None:
        return guard_mean(values[chosen], bounds, **units)
    found = mean_interval(values[chosen], bounds=bounds, **units)
    low, high = column.bounds
    if bounds is not None or found.low is None or found.high is None or found.estimate is None:
        return found
    # A single bound, or bounds that some values exceed, are used only if the mean is within them.
    low = None if low is None or found.estimate < low else low
    high = None if high is None or found.estimate > high else high
    inside = replace(
        found,
        low=found.low if low is None else max(found.low, low),
        high=found.high if high is None else min(found.high, high),
    )
    return note_bounds(inside, (low, high))
