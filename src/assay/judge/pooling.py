"""Pairs to judge with their texts, and which of them have a grade already."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.errors import InputError, excerpt
from assay.judge.relevance import Pair
from assay.messages import say

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from assay.data.judgments import Judgments


def pairs_of(ids: Iterable[tuple[str, str]], queries: Mapping[str, str], documents: Mapping[str, str]) -> list[Pair]:
    """Give pairs their texts; a query or document without one is an error that names it."""
    found = []
    for query, doc in ids:
        if query not in queries:
            raise InputError(
                say("query {query} has no text", query=excerpt(query)), hint=say("give every query of the runs a text")
            )
        if doc not in documents:
            raise InputError(
                say("document {doc} has no text", doc=excerpt(doc)), hint=say("give every pooled document a text")
            )
        found.append(Pair(query, doc, queries[query], documents[doc]))
    return found


def is_judged(known: Judgments, query: str, doc: str) -> bool:
    """Return whether a pair has a grade already; a negative one does not count."""
    return known.by_query.get(query, {}).get(doc, -1.0) >= 0
