"""Which samples belong together: turns of one conversation, or what a column names."""

from __future__ import annotations

from collections.abc import Mapping
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
    """Name every conversation by the first of its ids; a sample that begins no other's history is its own."""
    above: dict[str, str] = {row.query_id: row.query_id for row in samples}

    def first(query: str) -> str:
        while above[query] != query:
            query = above[query]
        return query

    ends = {texts: row.query_id for row in samples for texts in _ends(row)}
    for row in samples:
        history = tuple(turn.text for turn in row.history)
        for length in range(1, len(history) + 1):
            other = ends.get(history[:length])
            if other is not None:
                low, high = sorted((first(other), first(row.query_id)))
                above[high] = low
    return {query: first(query) for query in above}


def _ends(row: Sample) -> list[Texts]:
    """What was said before the answer, with and without the question; nothing is not a conversation."""
    history = tuple(turn.text for turn in row.history)
    return [texts for texts in (history, (*history, row.question or "")) if texts]
