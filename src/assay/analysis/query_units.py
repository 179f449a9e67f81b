"""Queries of judgments and of a run: whether they meet, and what each of them weighs and belongs to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from assay.errors import InputError, excerpt
from assay.messages import say, some

if TYPE_CHECKING:
    from collections.abc import Mapping

    from assay.analysis.settings import Settings
    from assay.data.segments import Bools, Floats

_FEW = 3  # queries in a message


class QueryMarks(Protocol):
    """Queries in order, and which of them are judged and in the run."""

    @property
    def query_ids(self) -> list[str]:
        """The queries."""

    @property
    def judged(self) -> Bools:
        """Which have judgments."""

    @property
    def in_run(self) -> Bools:
        """Which the run has."""


def mark_scored(rows: QueryMarks, settings: Settings) -> Bools:
    """Mark the queries that are in a mean: for coverage, every query of the run."""
    everything = any(measure.spec.over == "run" for measure in settings.measures.values())
    return rows.judged | rows.in_run if everything else rows.judged


def align_weights(rows: QueryMarks, settings: Settings, weights: Mapping[str, float] | None) -> Floats | None:
    """Align query weights; every query that is in a mean needs one."""
    if weights is None:
        return None
    pairs = zip(rows.query_ids, mark_scored(rows, settings), strict=True)
    lacking = [query for query, needs in pairs if needs and query not in weights]
    if lacking:
        raise InputError(
            say(
                "{n} {n:query has|queries have} no weight: {queries}",
                n=len(lacking),
                queries=some(map(excerpt, lacking), _FEW),
            ),
            hint=say("give every query a weight; 0 leaves it out"),
        )
    values = np.array([float(weights.get(query, 0.0)) for query in rows.query_ids])
    if not np.isfinite(values).all() or (values < 0).any() or not values.sum() > 0:
        raise InputError(say("query weights must be finite and not negative, and at least one must be above 0"))
    return values


def align_clusters(rows: QueryMarks, settings: Settings, clusters: Mapping[str, str] | None) -> tuple[str, ...] | None:
    """What each query belongs to; every query that is in a mean must belong to something."""
    if clusters is None:
        return None
    pairs = zip(rows.query_ids, mark_scored(rows, settings), strict=True)
    lacking = [query for query, needs in pairs if needs and query not in clusters]
    if lacking:
        raise InputError(
            say(
                "{n} {n:query has|queries have} no cluster: {queries}",
                n=len(lacking),
                queries=some(map(excerpt, lacking), _FEW),
            ),
            hint=say("give every query a cluster; one that belongs to no other has one of its own"),
        )
    return tuple(str(clusters.get(query, query)) for query in rows.query_ids)


def refuse_strangers(rows: QueryMarks, *, run: str = "", judgments: str = "") -> None:
    """Refuse a run none of whose queries is judged."""
    if (rows.judged & rows.in_run).any():
        return
    listed, judged = _first(rows, rows.in_run), _first(rows, rows.judged)
    raise InputError(
        say(
            "run {run} and judgments {judgments} have no query in common: the run has {listed}, the judgments have "
            "{judged}",
            run=run,
            judgments=judgments,
            listed=listed,
            judged=judged,
        )
        if run and judgments
        else say(
            "the run and the judgments have no query in common: the run has {listed}, the judgments have {judged}",
            listed=listed,
            judged=judged,
        ),
        hint=say("check that both use the same query ids"),
    )


def _first(rows: QueryMarks, mask: Bools) -> str:
    found = np.flatnonzero(mask)
    if not len(found):
        return say("none")
    first = excerpt(rows.query_ids[found[0]])
    return first if len(found) == 1 else say("{query} and {n} more", query=first, n=len(found) - 1)
