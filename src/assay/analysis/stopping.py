"""Whether the judgments of a sample so far are enough, honestly under repeated looks."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from assay.analysis.evaluate import evaluate
from assay.analysis.sampled import difference_error
from assay.curation import pools
from assay.curation.pools import PooledDocument
from assay.results.pool import Stopping
from assay.stats.intervals import Interval
from assay.stats.sampling import sampling_covariance, sampling_error, spend

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from assay.curation.pools import Grades, QueryPool
    from assay.data.run import Run
    from assay.data.segments import Floats

_LEVEL = 0.95


@dataclass(frozen=True)
class StopRule:
    """When to stop: the largest difference that does not matter, and the error level of all looks together."""

    smallest_effect: float
    alpha: float


@dataclass(frozen=True, eq=False)
class SoFar:
    """The pools of all queries, and the grades so far."""

    pools: tuple[QueryPool, ...]
    grades: Grades
    min_relevance: float

    def ids(self, place: PooledDocument) -> tuple[str, str]:
        """The ids of query and document."""
        one = self.pools[place.query]
        return one.query_id, one.doc_ids[place.doc]

    def grade(self, place: PooledDocument) -> float | None:
        """The grade so far; a negative one is none."""
        query, doc = self.ids(place)
        grade = self.grades.get(query, {}).get(doc, -1.0)
        return grade if grade >= 0 else None

    def every(self) -> Iterator[PooledDocument]:
        """Every document of the pools."""
        return (PooledDocument(q, d) for q, one in enumerate(self.pools) for d in range(len(one.doc_ids)))

    def take(self, order: Iterator[PooledDocument], budget: int) -> list[PooledDocument]:
        """The beginning of an order, up to the last of so many documents without a grade."""
        taken: list[PooledDocument] = []
        fresh = 0
        for place in order:
            fresh += self.grade(place) is None
            if fresh > budget:
                break
            taken.append(place)
        return taken

    def prefix(self, taken: Sequence[PooledDocument]) -> list[PooledDocument]:
        """The beginning of what was drawn in which every document has a grade: by itself, a smaller sample."""
        first = next((i for i, place in enumerate(taken) if self.grade(place) is None), len(taken))
        return list(taken[:first])


def number_relevant(so_far: SoFar, taken: Sequence[PooledDocument]) -> Interval | None:
    """Estimate how many relevant documents the pool has, from those of the sample that were judged."""
    judged = so_far.prefix(taken)
    if not judged:
        return None
    relevant = np.array([(so_far.grade(one) or 0.0) >= so_far.min_relevance for one in judged], dtype=np.float64)
    inclusion = np.array(pools.chances(so_far.pools, judged))
    estimate = math.fsum(relevant / inclusion)
    query = np.array([one.query for one in judged])
    variances = sampling_covariance(relevant, relevant, inclusion, query, len(so_far.pools))
    degrees = np.maximum(np.bincount(query, weights=relevant, minlength=len(variances)) - 1, 1)
    _, reach = sampling_error(variances, degrees, _LEVEL)
    low = max(estimate - reach, float(relevant.sum()))
    return Interval(estimate, low, estimate + reach, _LEVEL, "sampling", len(judged))


def stop(
    so_far: SoFar,
    taken: Sequence[PooledDocument],
    systems: tuple[Run, Run],
    measure: Any,
    *,
    limits: StopRule,
    look: int,
) -> Stopping | None:
    """Compare two systems on the sample so far; every look spends its part of the error level."""
    judged = so_far.prefix(taken)
    if not judged:
        return None
    rows = [
        {
            **dict(zip(("query_id", "doc_id"), so_far.ids(place), strict=True)),
            "grade": so_far.grade(place),
            "inclusion": chance,
        }
        for place, chance in zip(judged, pools.chances(so_far.pools, judged), strict=True)
    ]
    one, two = systems
    scores = evaluate(rows, {one.name: one, two.name: two}, [measure])
    first, second = scores[one.name], scores[two.name]
    label = first.labels[0]
    change: Floats = second.column(label) - first.column(label)
    kept = ~np.isnan(change)
    if not kept.any():
        return None
    share = kept / kept.sum()
    estimate = math.fsum(change[kept]) / int(kept.sum())
    level = spend(limits.alpha, look)
    error = difference_error(first, second, label, share, 1 - level)
    reach = error[1] if error else 0.0
    low, high = (None, None) if not reach > 0 else (estimate - reach, estimate + reach)
    difference = Interval(estimate, low, high, 1 - level, "sampling", int(kept.sum()))
    return Stopping(
        (one.name, two.name), label, look, limits.alpha, level, limits.smallest_effect, difference,
        _verdict(low, high, limits.smallest_effect),
    )  # fmt: skip


def _verdict(low: float | None, high: float | None, smallest: float) -> Literal["apart", "equal", "open"]:
    if low is None or high is None:
        return "open"
    if low > 0 or high < 0:
        return "apart"
    return "equal" if max(-low, high) < smallest else "open"
