"""Align the scores of several systems, or refuse with an error that names the difference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from assay.analysis.warnings import about_answers
from assay.errors import NotComparable, UsageError
from assay.measures import expand, split_measures
from assay.messages import say, some

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from assay.data.scores import Column, Scores
    from assay.data.segments import Bools, Floats

_SHOWN = 3
_LISTED = 8


@dataclass(frozen=True, eq=False)
class AlignedScores:
    """Per-query values of several systems over the same queries: values[query, measure, system].

    `apart` names measures of answers that are left out, because no sample has a value of every system.
    """

    query_ids: list[str]
    columns: tuple[Column, ...]
    names: tuple[str, ...]
    values: Floats
    weights: Floats | None
    apart: tuple[str, ...] = ()
    clusters: NDArray[np.str_] | None = None

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
    """Find the labels that a text asks for; of a list such as official, those that are means over queries."""
    try:
        several = () if str(measure) in {*scores.labels, *scores.asked} else expand(measure)  # type: ignore[arg-type]
    except UsageError:
        several = ()
    if len(several) < 2:  # noqa: PLR2004
        return [scores.label_of(measure)]
    labels = [scores.label_of(one) for one in several]
    return [label for label in labels if scores.about(label).is_mean]


def align_systems(systems: Sequence[Scores], labels: Sequence[str] | None = None) -> AlignedScores:
    """Align systems for comparison, on the named measures or all possible ones; weight 0 leaves a query out."""
    if len(systems) < 2:  # noqa: PLR2004
        raise UsageError(say("a comparison needs two systems or more"))
    names = [scores.name for scores in systems]
    if len(set(names)) < len(names):
        twice = max(names, key=names.count)
        raise UsageError(
            say(
                "two systems are called {name!r}: name them, as in new=FILE on the command line or "
                "name='new' in Python",
                name=twice,
            )
        )
    first = systems[0]
    chosen = _labels(systems, labels)
    for other in systems[1:]:
        _check(first, other, chosen)
    queries = first.query_ids if all(s.query_ids == first.query_ids for s in systems) else _union(systems)
    twins = [[_matching_label(scores, first, label) or label for label in chosen] for scores in systems]
    stacked = np.stack([_values(s, queries, labels) for s, labels in zip(systems, twins, strict=True)], axis=2)
    answers = [first.about(label).subject == "answers" for label in chosen]
    if all(answers) and not set(first.query_ids).intersection(*(scores.query_ids for scores in systems[1:])):
        raise NotComparable(say("answers.apart"))
    _leave_out(stacked, answers)
    chosen, stacked, apart = _in_common(chosen, stacked, answers, asked=labels is not None)
    _check_queries(queries, chosen, names, stacked)
    rows: Bools = np.asarray(~np.isnan(stacked).all(axis=(1, 2)))
    weights = None if first.weights is None else _weights(first, queries)
    if weights is not None:
        rows &= weights > 0
    return AlignedScores(
        query_ids=[query for query, kept in zip(queries, rows.tolist(), strict=True) if kept],
        columns=tuple(first.about(label) for label in chosen),
        names=tuple(names),
        values=stacked[rows],
        weights=None if weights is None else weights[rows],
        apart=apart,
        clusters=_clusters(systems, queries, rows),
    )


def _in_common(
    labels: tuple[str, ...], values: Floats, answers: list[bool], *, asked: bool
) -> tuple[tuple[str, ...], Floats, tuple[str, ...]]:
    """Drop measures of answers that no sample has for every system, unless they were asked for."""
    lacking: Bools = np.asarray(np.isnan(values).all(axis=(0, 2))) & np.array(answers)
    apart = tuple(label for label, empty in zip(labels, lacking.tolist(), strict=True) if empty)
    if apart and (asked or len(apart) == len(labels)):
        raise NotComparable(
            say(
                "{label}: no sample has a value for every system; judge all systems by the same method, or compare "
                "another measure",
                label=apart[0],
            )
        )
    return tuple(label for label in labels if label not in apart), values[:, ~lacking], apart


def _labels(systems: Sequence[Scores], asked: Sequence[str] | None) -> tuple[str, ...]:
    """Labels to compare: means only, as totals and geometric means are not sums of differences of queries."""
    first = systems[0]
    if asked is not None:
        found = [label for measure in split_measures(asked) for label in labels_of(first, measure)]
        for label in found:
            for scores in systems:
                if _matching_label(scores, first, label) is None:
                    scores.label_of(label)
            if not first.about(label).is_mean:
                raise UsageError(
                    say("{label} is not a mean over queries, so it cannot be tested query by query", label=label)
                )
        return tuple(dict.fromkeys(found))
    shared = [
        label
        for label in first.labels
        if all(_matching_label(other, first, label) is not None for other in systems)
        and first.about(label).is_mean
        and not (first.about(label).over == "run" and _runs_differ(systems, label))
    ]
    if not shared:
        held = [say("{system}: {measures}", system=one.name, measures=some(one.labels, _LISTED)) for one in systems]
        raise NotComparable(
            say(
                "the systems have no measure in common that is a mean over queries ({held}): evaluate them with the "
                "same measures",
                held=held,
            )
        )
    return tuple(shared)


def _matching_label(scores: Scores, first: Scores, label: str) -> str | None:
    """Find a system's column of the same definition under any label; if there is none, that of the same label."""
    definition = first.definitions[label]
    if scores.definitions.get(label) == definition:
        return label
    same = [name for name, text in scores.definitions.items() if text == definition]
    return same[0] if same else label if label in scores.labels else None


def _runs_differ(systems: Sequence[Scores], label: str) -> bool:
    """Return whether systems answered different queries: then means over a run's own queries are not comparable."""
    answered = []
    for scores in systems:
        twin = _matching_label(scores, systems[0], label)
        values = scores.column(twin or label)
        answered.append({query for query, value in zip(scores.query_ids, values, strict=True) if not np.isnan(value)})
    return any(found != answered[0] for found in answered)


def _check(first: Scores, other: Scores, labels: Sequence[str]) -> None:
    """Refuse two systems whose values cannot be compared."""
    pair = {"first": first.name, "second": other.name}
    _check_judgments(first, other, pair)
    mine, theirs = first.protocol.rules(), other.protocol.rules()
    for rule, value in mine.items():
        if theirs[rule] != value:
            raise NotComparable(
                say(
                    "{first} and {second} were evaluated under different rules ({rule} = {value} and {other}): "
                    "evaluate both under the same protocol",
                    **pair, rule=rule, value=value, other=theirs[rule],
                )
            )  # fmt: skip
    for label in labels:
        _check_column(first, other, label, pair)
    if not _same_weights(first, other):
        raise NotComparable(
            say("{first} and {second} were evaluated with different query weights: give both the same", **pair)
        )


def _check_judgments(first: Scores, other: Scores, pair: Mapping[str, str]) -> None:
    if first.judgments_digest == other.judgments_digest:
        return
    if about_answers(first):
        raise NotComparable(
            say(
                "{first} and {second} have different questions, references or ids: samples without ids are "
                "numbered, so give both files the same query_id column, or the same order",
                **pair,
            )
        )
    raise NotComparable(
        say("{first} and {second} were evaluated on different judgments: evaluate both on the same file", **pair)
    )


def _check_column(first: Scores, other: Scores, label: str, pair: Mapping[str, str]) -> None:
    """Refuse values of one measure that were judged by different judges, embedders or definitions."""
    method = first.about(label).method
    if first.judge != other.judge and method == "llm":
        raise NotComparable(
            say(
                "{label} of {first} was judged by {judge}, {label} of {second} by {other}: let one model judge both",
                **pair, label=label, judge=first.judge, other=other.judge,
            )
        )  # fmt: skip
    by_vectors = method in {"embedding", "sigmoid", "mix"} and first.embedder and other.embedder
    if by_vectors and first.embedder != other.embedder:
        raise NotComparable(
            say(
                "{label} of {first} was computed with the embeddings {embedder}, {label} of {second} with {other}: "
                "use the same for both (assay answers ... --embedder NAME)",
                **pair, label=label, embedder=first.embedder, other=other.embedder,
            )
        )  # fmt: skip
    twin = _matching_label(other, first, label)
    assert twin is not None
    if first.definitions[label] != other.definitions[twin]:
        raise NotComparable(
            say(
                "{label} is {definition} for {first}, but {other} for {second}: these are different measures",
                **pair, label=label, definition=first.definitions[label], other=other.definitions[twin],
            )
        )  # fmt: skip


def _same_weights(first: Scores, other: Scores) -> bool:
    """Return whether the queries that both have are weighted alike."""
    if first.weights is None or other.weights is None:
        return first.weights is other.weights
    mine, theirs = _weight_map(first), _weight_map(other)
    return all(mine.get(query, 0.0) == theirs.get(query, 0.0) for query in set(first.query_ids) & set(other.query_ids))


def _weight_map(scores: Scores) -> dict[str, float]:
    assert scores.weights is not None
    return {query: float(w) for query, w in zip(scores.query_ids, scores.weights, strict=True) if w}


def _clusters(systems: Sequence[Scores], queries: list[str], rows: Bools) -> NDArray[np.str_] | None:
    """The cluster of each query, which must be the same in all systems."""
    told = [_cluster_map(scores) for scores in systems]
    for other, scores in zip(told[1:], systems[1:], strict=True):
        first = told[0]
        if (other is None) != (first is None) or any(
            (first or {}).get(query, name) != name for query, name in (other or {}).items()
        ):
            raise NotComparable(
                say(
                    "{first} and {second} were evaluated with different clusters of queries: give both the same",
                    first=systems[0].name,
                    second=scores.name,
                )
            )
    if told[0] is None:
        return None
    known = {query: name for one in told for query, name in (one or {}).items()}
    return np.array([known.get(query, query) for query in queries])[rows]


def _cluster_map(scores: Scores) -> dict[str, str] | None:
    return None if scores.clusters is None else dict(zip(scores.query_ids, scores.clusters, strict=True))


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
    """Restrict answers to samples that every system has a value for: a refusal is neither faithful nor unfaithful."""
    for i, wanted in enumerate(mask):
        if wanted:
            values[np.isnan(values[:, i]).any(axis=1), i] = np.nan


def _check_queries(queries: list[str], labels: Sequence[str], names: list[str], values: Floats) -> None:
    """Refuse systems if one has values for queries that another lacks."""
    absent = np.isnan(values)
    for i, label in enumerate(labels):
        odd = np.flatnonzero(absent[:, i].any(axis=1) & ~absent[:, i].all(axis=1))
        if len(odd):
            lacking = names[int(np.flatnonzero(absent[odd[0], i])[0])]
            having = names[int(np.flatnonzero(~absent[odd[0], i])[0])]
            raise NotComparable(
                say(
                    "{label} covers different queries: {lacking} has no value for {n} that {having} has ({queries}); "
                    "evaluate both so that such queries count as 0 (assay evaluate ... --missing zero --undefined "
                    "zero), or leave out {label}",
                    label=label,
                    lacking=lacking,
                    n=len(odd),
                    having=having,
                    queries=some((queries[row] for row in odd), _SHOWN),
                )
            )
