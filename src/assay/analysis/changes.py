"""Compare with the baseline query by query: each query's value before and after, and the sums."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from assay.analysis.comparable import align_systems
from assay.results.comparison import Change

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.data.scores import Scores
    from assay.data.segments import Floats

Outcome = Literal["gained", "lost", "unchanged"]
SHARES = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)
_BARS = 240  # more bars than this cannot be distinguished
_DOTS = 600
_CELLS = 24


@dataclass(frozen=True)
class Density:
    """How many queries have values within a cell of a grid: its corner under both systems, and its width."""

    step: float
    cells: tuple[tuple[float, float, int], ...]


@dataclass(frozen=True)
class QueryChanges:
    """The queries that both systems have a value for.

    `ordered` are their differences, the greatest gain first, of very many evenly spaced ones; `quantiles` those of all
    at `SHARES`. `zeros` counts the queries that have 0 with both, with the baseline only, with the system only, and
    with neither. Of more queries than a picture can show, `density` counts them by value.
    """

    system: str
    baseline: str
    measure: str
    queries: tuple[Change, ...]
    ordered: tuple[float, ...]
    quantiles: tuple[float, ...]
    zeros: tuple[int, int, int, int]
    lower: bool = False
    density: Density | None = None

    @property
    def outcomes(self) -> dict[str, Outcome]:
        """What became of each query."""
        sign = -1.0 if self.lower else 1.0
        return {one.query_id: _outcome(sign * (one.after - one.before)) for one in self.queries}

    @property
    def in_order(self) -> tuple[Change, ...]:
        """The queries whose differences are `ordered`; nothing where those are only some of them."""
        if len(self.ordered) < len(self.queries):
            return ()
        sign = 1.0 if self.lower else -1.0
        return tuple(sorted(self.queries, key=lambda one: (sign * (one.after - one.before), one.query_id)))


def _outcome(gain: float) -> Outcome:
    return "gained" if gain > 0 else "lost" if gain < 0 else "unchanged"


def query_changes(systems: Sequence[Scores], measure: str) -> dict[str, QueryChanges]:
    """The changes of every system but the first, which is the baseline, by its name."""
    data = align_systems(systems, [measure])
    lower = systems[0].about(measure).lower_is_better
    before = data.values[:, 0, 0]
    return {
        name: _changes(data.query_ids, (before, data.values[:, 0, place]), (name, data.names[0], measure), lower=lower)
        for place, name in enumerate(data.names)
        if place
    }


def _changes(
    ids: Sequence[str], values: tuple[Floats, Floats], names: tuple[str, str, str], *, lower: bool
) -> QueryChanges:
    known = ~(np.isnan(values[0]) | np.isnan(values[1]))
    before, after = values[0][known], values[1][known]
    ordered = np.sort(after - before) if lower else np.sort(after - before)[::-1]
    picked = ordered
    if len(ordered) > _BARS:
        picked = ordered[np.linspace(0, len(ordered) - 1, _BARS).round().astype(int)]
    zero = (before == 0, after == 0)
    counts = (zero[0] & zero[1], zero[0] & ~zero[1], ~zero[0] & zero[1], ~zero[0] & ~zero[1])
    both, first, second, neither = (int(one.sum()) for one in counts)
    kept = [query for query, keep in zip(ids, known, strict=True) if keep]
    return QueryChanges(
        *names,
        queries=tuple(Change(*one) for one in zip(kept, before.tolist(), after.tolist(), strict=True)),
        ordered=tuple(picked.tolist()),
        quantiles=tuple(np.quantile(ordered, SHARES).tolist()) if len(ordered) else (),
        zeros=(both, first, second, neither),
        lower=lower,
        density=_density(before, after) if len(before) > _DOTS else None,
    )


def _density(before: Floats, after: Floats) -> Density:
    low, high = float(min(before.min(), after.min())), float(max(before.max(), after.max()))
    high = high if high > low else low + 1.0
    counts, edges, _ = np.histogram2d(before, after, bins=_CELLS, range=((low, high), (low, high)))
    cells = tuple(
        (float(edges[i]), float(edges[j]), int(counts[i, j]))
        for i in range(_CELLS)
        for j in range(_CELLS)
        if counts[i, j]
    )
    return Density(float(edges[1] - edges[0]), cells)
