"""How the values of each query are spread: counts of queries by value, the same bins for every system."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from assay.data.scores import Scores

_BINS = 10


@dataclass(frozen=True)
class Distribution:
    """How many queries of each system have a value between two edges; the last bin holds its upper edge."""

    measure: str
    edges: tuple[float, ...]
    counts: Mapping[str, tuple[int, ...]]


def distribution(systems: Sequence[Scores], label: str) -> Distribution | None:
    """Count the queries by value, over the bounds of the measure or, without them, over what there is."""
    values = {scores.name: scores.column(label) for scores in systems if label in scores.labels}
    known = {name: column[~np.isnan(column)] for name, column in values.items()}
    every = np.concatenate(list(known.values())) if known else np.empty(0)
    if not len(every):
        return None
    owner = next(scores for scores in systems if label in scores.labels)
    low, high = owner.about(label).limits(every) or (float(every.min()), float(every.max()))
    edges = np.linspace(low, high if high > low else low + 1.0, _BINS + 1)
    counts = {name: tuple(np.histogram(column, edges)[0].tolist()) for name, column in known.items()}
    return Distribution(label, tuple(edges.round(12).tolist()), counts)
