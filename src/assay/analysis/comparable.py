"""Putting scores of several systems side by side, or refusing to with the difference named."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from assay.errors import NotComparable, UnknownName, UsageError
from assay.measures import parse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.data.scores import Scores
    from assay.data.segments import Bools, Floats

_SHOWN = 3


@dataclass(frozen=True, eq=False)
class Aligned:
    """Per-query values of several systems over the same queries: values[query, measure, system]."""

    query_ids: list[str]
    labels: tuple[str, ...]
    definitions: dict[str, str]
    names: tuple[str, ...]
    values: Floats
    weights: Floats | None

    def column(self, label: str) -> Floats:
        """Values of one measure: one row per query that has them, one column per system; others are left out."""
        values = self.values[:, self.labels.index(label)]
        return values[~np.isnan(values).any(axis=1)]

    def signs(self) -> Floats:
        """1 for each measure that should be large, -1 for one that should be small."""
        return np.array([direction(self.definitions[label]) for label in self.labels])


def direction(definition: str) -> float:
    """1 if a higher value of the measure is better, -1 if a lower one is."""
    try:
        return -1.0 if parse(definition).spec.lower_is_better else 1.0
    except UsageError:
        return 1.0  # a custom measure of another session


def aligned(systems: Sequence[Scores], labels: Sequence[str] | None = None) -> Aligned:
    """Align systems for comparison, over the measures named or all that can be compared."""
    if len(systems) < 2:  # noqa: PLR2004
        raise UsageError("a comparison needs two systems or more")
    names = [scores.name for scores in systems]
    if len(set(names)) < len(names):
        raise UsageError(f"two systems are called {max(names, key=names.count)!r}: give each a name of its own")
    first = systems[0]
    chosen = _labels(systems, labels)
    for other in systems[1:]:
        _check(first, other, chosen)
    queries = first.query_ids if all(s.query_ids == first.query_ids for s in systems) else _union(systems)
    stacked = np.stack([_values(scores, queries, chosen) for scores in systems], axis=2)
    _check_queries(queries, chosen, names, stacked)
    rows: Bools = np.asarray(~np.isnan(stacked).all(axis=(1, 2)))
    return Aligned(
        query_ids=[query for query, kept in zip(queries, rows.tolist(), strict=True) if kept],
        labels=chosen,
        definitions={label: first.definitions[label] for label in chosen},
        names=tuple(names),
        values=stacked[rows],
        weights=None if first.weights is None else _weights(first, queries)[rows],
    )


def _labels(systems: Sequence[Scores], asked: Sequence[str] | None) -> tuple[str, ...]:
    """Labels to compare: means only, as totals and geometric means are not sums of differences of queries."""
    first = systems[0]
    if asked is not None:
        found = [label if label in first.labels else first.asked.get(label, label) for label in asked]
        for label in found:
            for scores in systems:
                if label not in scores.labels:
                    raise UnknownName(f"measure in {scores.name}", label, scores.labels)
            if first.aggregates.get(label, "mean") != "mean":
                kind = first.aggregates[label]
                raise UsageError(f"{label} is a {kind} over queries, not a mean, and cannot be tested query by query")
        return tuple(dict.fromkeys(found))
    shared = [
        label
        for label in first.labels
        if all(label in other.labels for other in systems) and first.aggregates.get(label, "mean") == "mean"
    ]
    if not shared:
        raise NotComparable(f"{first.name} and {systems[1].name} have no measure in common that is a mean over queries")
    return tuple(shared)


def _check(first: Scores, other: Scores, labels: Sequence[str]) -> None:
    pair = f"{first.name} and {other.name}"
    if first.judgments_digest != other.judgments_digest:
        raise NotComparable(f"{pair} were evaluated on different judgments: evaluate both on the same file")
    mine, theirs = first.protocol.rules(), other.protocol.rules()
    for rule, value in mine.items():
        if theirs[rule] != value:
            raise NotComparable(f"{pair} were evaluated under different rules: {rule} = {value} and {theirs[rule]}")
    for label in labels:
        if first.definitions[label] != other.definitions[label]:
            raise NotComparable(
                f"{label} of {first.name} is {first.definitions[label]}, of {other.name} {other.definitions[label]}:"
                " these are different measures"
            )
    if (first.weights is None) != (other.weights is None) or (
        first.weights is not None and _weight_map(first) != _weight_map(other)
    ):
        raise NotComparable(f"{pair} were evaluated with different query weights")


def _weight_map(scores: Scores) -> dict[str, float]:
    assert scores.weights is not None
    return {query: float(w) for query, w in zip(scores.query_ids, scores.weights, strict=True) if w}


def _union(systems: Sequence[Scores]) -> list[str]:
    return sorted({query for scores in systems for query in scores.query_ids})


def _values(scores: Scores, queries: list[str], labels: Sequence[str]) -> Floats:
    found = np.full((len(queries), len(labels)), np.nan)
    place = {query: i for i, query in enumerate(queries)}
    rows = [place[query] for query in scores.query_ids]
    found[rows] = scores.values[:, [scores.labels.index(label) for label in labels]]
    return found


def _weights(scores: Scores, queries: list[str]) -> Floats:
    by_query = _weight_map(scores)
    return np.array([by_query.get(query, 0.0) for query in queries])


def _check_queries(queries: list[str], labels: Sequence[str], names: list[str], values: Floats) -> None:
    """Refuse systems of which one has values for queries that another lacks."""
    absent = np.isnan(values)
    for i, label in enumerate(labels):
        odd = np.flatnonzero(absent[:, i].any(axis=1) & ~absent[:, i].all(axis=1))
        if len(odd):
            lacking = names[int(np.flatnonzero(absent[odd[0], i])[0])]
            having = names[int(np.flatnonzero(~absent[odd[0], i])[0])]
            some = ", ".join(queries[row] for row in odd[:_SHOWN]) + (" ..." if len(odd) > _SHOWN else "")
            raise NotComparable(
                f"{label} stands on different queries: {lacking} has no value for {len(odd)} that {having} has"
                f" ({some}); evaluate with --missing zero and --undefined zero"
            )
