"""Putting scores of several systems side by side, or refusing to with the difference named."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from assay.analysis.doubts import about_answers
from assay.errors import NotComparable, UsageError
from assay.measures import expand, split_measures

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.data.scores import Column, Scores
    from assay.data.segments import Bools, Floats

_SHOWN = 3


@dataclass(frozen=True, eq=False)
class Aligned:
    """Per-query values of several systems over the same queries: values[query, measure, system].

    `apart` names measures of answers that are left out, because no sample has a value of every system.
    """

    query_ids: list[str]
    columns: tuple[Column, ...]
    names: tuple[str, ...]
    values: Floats
    weights: Floats | None
    apart: tuple[str, ...] = ()

    @property
    def labels(self) -> tuple[str, ...]:
        """Labels of the measures."""
        return tuple(column.label for column in self.columns)

    def column(self, label: str) -> Floats:
        """Values of one measure: one row per query that has them, one column per system; others are left out."""
        values = self.values[:, self.labels.index(label)]
        return values[~np.isnan(values).any(axis=1)]

    def signs(self) -> Floats:
        """1 for each measure that should be large, -1 for one that should be small."""
        return np.array([column.direction for column in self.columns])


def labels_of(scores: Scores, measure: object) -> list[str]:
    """Find the labels of all that one text asks for; of a list such as official, those that are means over queries."""
    try:
        several = () if str(measure) in {*scores.labels, *scores.asked} else expand(measure)  # type: ignore[arg-type]
    except UsageError:
        several = ()
    if len(several) < 2:  # noqa: PLR2004
        return [scores.label_of(measure)]
    labels = [scores.label_of(one) for one in several]
    return [label for label in labels if scores.about(label).is_mean]


def _some(labels: Sequence[str]) -> str:
    return ", ".join(labels[:8]) + (" ..." if len(labels) > 8 else "")  # noqa: PLR2004


def aligned(systems: Sequence[Scores], labels: Sequence[str] | None = None) -> Aligned:
    """Align systems for comparison, over the measures named or all that can be; weight 0 leaves a query out."""
    if len(systems) < 2:  # noqa: PLR2004
        raise UsageError("a comparison needs two systems or more")
    names = [scores.name for scores in systems]
    if len(set(names)) < len(names):
        twice = max(names, key=names.count)
        raise UsageError(
            f"two systems are called {twice!r}: name them, as in new=FILE on the command line or name='new' in Python"
        )
    first = systems[0]
    chosen = _labels(systems, labels)
    for other in systems[1:]:
        _check(first, other, chosen)
    queries = first.query_ids if all(s.query_ids == first.query_ids for s in systems) else _union(systems)
    twins = [[_twin(scores, first, label) or label for label in chosen] for scores in systems]
    stacked = np.stack([_values(s, queries, labels) for s, labels in zip(systems, twins, strict=True)], axis=2)
    answers = [first.about(label).subject == "answers" for label in chosen]
    _leave_out(stacked, answers)
    chosen, stacked, apart = _in_common(chosen, stacked, answers, asked=labels is not None)
    _check_queries(queries, chosen, names, stacked)
    rows: Bools = np.asarray(~np.isnan(stacked).all(axis=(1, 2)))
    weights = None if first.weights is None else _weights(first, queries)
    if weights is not None:
        rows &= weights > 0
    return Aligned(
        query_ids=[query for query, kept in zip(queries, rows.tolist(), strict=True) if kept],
        columns=tuple(first.about(label) for label in chosen),
        names=tuple(names),
        values=stacked[rows],
        weights=None if weights is None else weights[rows],
        apart=apart,
    )


def _in_common(
    labels: tuple[str, ...], values: Floats, answers: list[bool], *, asked: bool
) -> tuple[tuple[str, ...], Floats, tuple[str, ...]]:
    """Leave out measures of answers without a sample that every system has a value for, unless they were asked for."""
    lacking: Bools = np.asarray(np.isnan(values).all(axis=(0, 2))) & np.array(answers)
    apart = tuple(label for label, empty in zip(labels, lacking.tolist(), strict=True) if empty)
    if apart and (asked or len(apart) == len(labels)):
        raise NotComparable(f"{apart[0]}: no sample has a value of every system")
    return tuple(label for label in labels if label not in apart), values[:, ~lacking], apart


def _labels(systems: Sequence[Scores], asked: Sequence[str] | None) -> tuple[str, ...]:
    """Labels to compare: means only, as totals and geometric means are not sums of differences of queries."""
    first = systems[0]
    if asked is not None:
        found = [label for measure in split_measures(asked) for label in labels_of(first, measure)]
        for label in found:
            for scores in systems:
                if _twin(scores, first, label) is None:
                    scores.label_of(label)
            if not first.about(label).is_mean:
                kind = first.about(label).aggregate
                raise UsageError(f"{label} is a {kind} over queries, not a mean, and cannot be tested query by query")
        return tuple(dict.fromkeys(found))
    shared = [
        label
        for label in first.labels
        if all(_twin(other, first, label) is not None for other in systems)
        and first.about(label).is_mean
        and not (first.about(label).over == "run" and _runs_differ(systems, label))
    ]
    if not shared:
        held = "; ".join(f"{scores.name} has {_some(scores.labels)}" for scores in systems)
        raise NotComparable(f"the systems have no measure in common that is a mean over queries: {held}")
    return tuple(shared)


def _twin(scores: Scores, first: Scores, label: str) -> str | None:
    """Find a system's column of the same definition, whatever its label; of the same label, if there is none."""
    definition = first.definitions[label]
    if scores.definitions.get(label) == definition:
        return label
    same = [name for name, text in scores.definitions.items() if text == definition]
    return same[0] if same else label if label in scores.labels else None


def _runs_differ(systems: Sequence[Scores], label: str) -> bool:
    """Coverage is averaged over the run's own queries: systems that answered different ones cannot be compared."""
    answered = []
    for scores in systems:
        twin = _twin(scores, systems[0], label)
        values = scores.column(twin or label)
        answered.append({query for query, value in zip(scores.query_ids, values, strict=True) if not np.isnan(value)})
    return any(found != answered[0] for found in answered)


def _check(first: Scores, other: Scores, labels: Sequence[str]) -> None:
    pair = f"{first.name} and {other.name}"
    if first.judgments_digest != other.judgments_digest:
        if about_answers(first):
            raise NotComparable(
                f"{pair} have different questions, references or ids: samples without ids are numbered, so give both"
                " files the same query_id column, or the same order"
            )
        raise NotComparable(f"{pair} were evaluated on different judgments: evaluate both on the same file")
    mine, theirs = first.protocol.rules(), other.protocol.rules()
    for rule, value in mine.items():
        if theirs[rule] != value:
            raise NotComparable(f"{pair} were evaluated under different rules: {rule} = {value} and {theirs[rule]}")
    for label in labels:
        method = first.about(label).method
        if first.judge != other.judge and method == "llm":
            raise NotComparable(
                f"{label} of {first.name} was judged by {first.judge}, of {other.name} by {other.judge}"
            )
        if (
            method in {"embedding", "sigmoid", "mix"}
            and first.embedder
            and other.embedder
            and first.embedder != other.embedder
        ):
            raise NotComparable(
                f"{label} of {first.name} was found with the embeddings {first.embedder}, of {other.name} with"
                f" {other.embedder}: choose one for both with --embedder"
            )
        twin = _twin(other, first, label)
        assert twin is not None
        if first.definitions[label] != other.definitions[twin]:
            raise NotComparable(
                f"{label} of {first.name} is {first.definitions[label]}, of {other.name} {other.definitions[twin]}:"
                " these are different measures"
            )
    if not _same_weights(first, other):
        raise NotComparable(f"{pair} were evaluated with different query weights")


def _same_weights(first: Scores, other: Scores) -> bool:
    """Compare the weights of the queries that both have."""
    if first.weights is None or other.weights is None:
        return first.weights is other.weights
    mine, theirs = _weight_map(first), _weight_map(other)
    return all(mine.get(query, 0.0) == theirs.get(query, 0.0) for query in set(first.query_ids) & set(other.query_ids))


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


def _leave_out(values: Floats, mask: list[bool]) -> None:
    """Compare answers over the samples that every system has a value for: one that refuses is not faithful or not."""
    for i, wanted in enumerate(mask):
        if wanted:
            values[np.isnan(values[:, i]).any(axis=1), i] = np.nan


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
                f" ({some}); evaluate both with --missing zero and --undefined zero, or leave {label} out"
            )
