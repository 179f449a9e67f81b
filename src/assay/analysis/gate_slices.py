"""Slices of a gate: the queries that share a value of an attribute."""

from __future__ import annotations

from dataclasses import replace
from itertools import compress
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from assay.data.scores import Counts
from assay.data.status import FAILED, MISSING, UNJUDGED
from assay.errors import UnknownName, UsageError
from assay.formats.queries import Queries, read_queries
from assay.messages import say

if TYPE_CHECKING:
    from assay.analysis.gate_rules import Place
    from assay.data.scores import Scores

_MOST = 30  # values of an attribute: a rule for each of more would have no power left


class SliceOf(NamedTuple):
    """The queries with one value of an attribute."""

    name: str
    queries: frozenset[str]


def split_queries(asked: str, queries: Queries | Place | None, scores: Scores) -> list[SliceOf]:
    """Find the slices that "attribute" or "attribute=value" asks for, among the queries of a system."""
    if queries is None:
        raise UsageError(say("slice {asked}: give the attributes of the queries (--queries FILE)", asked=asked))
    read = queries if isinstance(queries, Queries) else read_queries(queries)
    attribute, equals, value = asked.partition("=")
    if attribute not in read.attributes:
        raise UnknownName(say("attribute of queries"), attribute, read.attributes)
    groups = _groups(read, attribute, scores)
    if equals and value not in groups:
        raise UnknownName(say("value of {attribute}", attribute=attribute), value, sorted(groups))
    if not equals and len(groups) > _MOST:
        raise UsageError(
            say(
                "{attribute} has {n} values, too many for a rule each: name one, as in {attribute}={value}",
                attribute=attribute,
                n=len(groups),
                value=next(iter(groups)),
            )
        )
    chosen = {value: groups[value]} if equals else dict(sorted(groups.items()))
    return [SliceOf(f"{attribute}={name}", frozenset(ids)) for name, ids in chosen.items()]


def _groups(queries: Queries, attribute: str, scores: Scores) -> dict[str, list[str]]:
    held = set(scores.query_ids)
    frame = queries.frame.select("query_id", attribute)
    found: dict[str, list[str]] = {}
    for query, value in frame.iter_rows():
        if query in held:
            found.setdefault("" if value is None else str(value), []).append(query)
    return found


def restrict(scores: Scores, queries: frozenset[str]) -> Scores:
    """The same scores over some of the queries."""
    kept = [query in queries for query in scores.query_ids]
    rows = np.array(kept, dtype=bool)
    status = scores.status[rows]
    counts = {
        label: _count(scores.counts[label], scores.values[rows, place], status[:, place])
        for place, label in enumerate(scores.labels)
    }
    return replace(
        scores,
        query_ids=list(compress(scores.query_ids, kept)),
        values=scores.values[rows],
        status=status,
        counts=counts,
        weights=None if scores.weights is None else scores.weights[rows],
        clusters=None if scores.clusters is None else tuple(compress(scores.clusters, kept)),
    )


def _count(whole: Counts, values: np.ndarray, status: np.ndarray) -> Counts:
    """Count the queries of a slice; how many each fallback method judged is not known for a slice."""
    n = {code: int((status == code).sum()) for code in (MISSING, FAILED, UNJUDGED)}
    others = {", ".join(whole.judged_by): n[UNJUDGED]} if whole.judged_by else {}
    return Counts(
        int((~np.isnan(values)).sum()), missing=n[MISSING], unjudged=n[UNJUDGED], failed=n[FAILED], judged_by=others
    )
