"""Which pairs to judge: the top k of several runs, or what a file lists, less what is judged already."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from assay.errors import InputError, excerpt
from assay.judge.relevance import Pair
from assay.messages import say

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from assay.data.judgments import Judgments
    from assay.data.run import Run


def pool(runs: Iterable[Run], depth: int) -> list[tuple[str, str]]:
    """Pairs within the first `depth` ranks of any run, each once, in the order of ids."""
    tops = [
        run.frame.select("query_id", "doc_id", "score")
        .sort(["query_id", "score", "doc_id"], descending=[False, True, True])
        .group_by("query_id", maintain_order=True)
        .head(depth)
        .select("query_id", "doc_id")
        for run in runs
    ]
    found = pl.concat(tops).unique().sort(["query_id", "doc_id"])
    return list(found.iter_rows())


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
