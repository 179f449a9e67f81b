"""Which samples belong together: turns of one conversation, or what a column names."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING

from assay.errors import UnknownName
from assay.messages import say

if TYPE_CHECKING:
    from assay.data.samples import Sample, Samples

Texts = tuple[str, ...]


def cluster_samples(samples: Samples, cluster: str | Mapping[str, str] | None = None) -> dict[str, str] | None:
    """What each sample belongs to, by its id: the value of a column, or the conversation; None where none share one.

    `cluster` names a column of the samples, or says it by id. Without it, samples are of one conversation where the
    history of one goes on from the other: it begins with the other's history, or with that and its question.
    """
    if isinstance(cluster, Mapping):
        return {row.query_id: str(cluster.get(row.query_id, row.query_id)) for row in samples}
    found = _by_history(samples) if cluster is None else _by_column(samples, cluster)
    return found if cluster is not None or len(set(found.values())) < len(found) else None


def _by_column(samples: Samples, column: str) -> dict[str, str]:
    known = sorted({name for row in samples for name in row.others})
    if column not in known:
        raise UnknownName(say("column"), column, known)
    told = {row.query_id: row.others.get(column) for row in samples}
    return {query: query if value in (None, "") else str(value) for query, value in told.items()}


def _by_history(samples: Samples) -> dict[str, str]:
    return join_histories({row.query_id: (ends_of(row), begins_of(row)) for row in samples})


def join_histories(told: Mapping[str, tuple[Sequence[Hashable], Sequence[Hashable]]]) -> dict[str, str]:
    """Name every conversation by the first of its ids; a sample that begins no other's history is its own.

    `told` has, by id, what was said at the end of each sample, and what its history begins with. Where several end
    alike, a history goes on from the last of them in the order of their ids.
    """
    above: dict[str, str] = {query: query for query in told}

    def first(query: str) -> str:
        while above[query] != query:
            query = above[query]
        return query

    ends = {one: query for query in sorted(told) for one in told[query][0]}
    for query, (_, begins) in told.items():
        for one in begins:
            other = ends.get(one)
            if other is not None:
                low, high = sorted((first(other), first(query)))
                above[high] = low
    return {query: first(query) for query in above}


def ends_of(row: Sample) -> list[Texts]:
    """What was said before the answer, with and without the question; nothing is not a conversation."""
    history = tuple(turn.text for turn in row.history)
    return [texts for texts in (history, (*history, row.question or "")) if texts]


def begins_of(row: Sample) -> list[Texts]:
    """All that the history of a sample begins with, from its first turn on."""
    history = tuple(turn.text for turn in row.history)
    return [history[:length] for length in range(1, len(history) + 1)]
