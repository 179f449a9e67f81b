"""What each query adds to the scores of a system: whole queries go in, and rows that add up to the scores come out.

Nothing here looks at two queries at once, so that rows which were made in parts, anywhere, are the rows of the whole.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.data.scores import Counts, Scores
from assay.data.status import MISSING, SCORED, UNDEFINED, UNJUDGED

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from assay.analysis.settings import Settings
    from assay.data.protocol import Protocol
    from assay.data.ranking import Ranking
    from assay.data.segments import Bools, Floats, Ints
    from assay.measures import Measure

_MANY = 2  # one in so many queries
_NONE = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class QueryRows:
    """One row per query: a value and a status for each measure, and what the counts of a mean are made of.

    `tied` marks the values that another order of equal scores would change. By cutoff, `shown` counts the documents
    down to it, and `known` those of them that were judged.
    """

    query_ids: list[str]
    judged: Bools
    in_run: Bools
    retrieved: Ints
    values: Floats
    status: NDArray[np.uint8]
    tied: Bools
    shown: dict[int | None, Ints]
    known: dict[int | None, Ints]


def make_rows(ranking: Ranking, settings: Settings) -> QueryRows:
    """Compute all measures of every query of a ranking."""
    size = len(ranking), len(settings.measures)
    values, status = np.empty(size), np.empty(size, dtype=np.uint8)
    tied = np.zeros(size, dtype=bool)
    queries, orders, place = _orders(ranking)
    for i, measure in enumerate(settings.measures.values()):
        raw = measure.compute(ranking)
        values[:, i], status[:, i] = _cells(ranking, measure, raw, settings.protocol)
        if len(queries):
            tied[queries, i] = _depends_on_ties(measure, raw[queries], orders, place)
    depths = depths_of(settings)
    return QueryRows(
        query_ids=ranking.query_ids,
        judged=ranking.judged,
        in_run=ranking.in_run,
        retrieved=ranking.retrieved,
        values=values,
        status=status,
        tied=tied,
        shown={k: ranking.count_shown(k) for k in depths},
        known=dict(zip(depths, ranking.count_judged(depths), strict=True)),
    )


def depths_of(settings: Settings) -> tuple[int | None, ...]:
    """The cutoffs of the measures, each once."""
    return tuple(dict.fromkeys(measure.k for measure in settings.measures.values()))


def scores_of(rows: QueryRows, settings: Settings, weights: Floats | None = None) -> Scores:
    """Put the rows of a system, in the order of their ids, together to its scores."""
    return Scores(
        name="run",
        query_ids=rows.query_ids,
        columns=settings.columns,
        values=rows.values,
        status=rows.status,
        counts={label: _count(rows, i, measure.k) for i, (label, measure) in enumerate(settings.measures.items())},
        protocol=settings.protocol,
        weights=weights,
        asked=settings.asked,
    )


def _count(rows: QueryRows, place: int, k: int | None) -> Counts:
    """How many queries are in the mean of a measure, and what they are like."""
    kept, status = ~np.isnan(rows.values[:, place]), rows.status[:, place]
    return Counts(
        queries=int(kept.sum()),
        missing=int((status == MISSING).sum()),
        undefined=int((status == UNDEFINED).sum()),
        unjudged=int((status == UNJUDGED).sum()),
        tied=int((rows.tied[:, place] & kept).sum()),
        short=0 if k is None else int((kept & rows.in_run & (rows.retrieved < k)).sum()),
        unjudged_share=_share_unjudged(rows, k, kept),
        listed=_typical_length(rows, k, kept),
    )


def _cells(ranking: Ranking, measure: Measure, raw: Floats, protocol: Protocol) -> tuple[Floats, Any]:
    """Give every query its value and status under the protocol's rules."""
    status = np.full(len(raw), SCORED, dtype=np.uint8)
    value = raw.copy()
    if measure.spec.over == "run":
        status[~ranking.in_run] = MISSING
        value[~ranking.in_run] = np.nan
        return value, status
    status[~ranking.in_run] = MISSING
    undefined = np.isnan(raw)
    status[undefined] = UNDEFINED
    status[~ranking.judged] = UNJUDGED
    if measure.spec.aggregate != "sum":
        value[status == MISSING] = 0.0
    value[undefined] = 0.0
    if protocol.missing == "skip":
        value[~ranking.in_run] = np.nan
    if protocol.undefined == "skip":
        value[undefined] = np.nan
    value[~ranking.judged] = np.nan
    return value, status


def _orders(ranking: Ranking) -> tuple[Ints, list[Ranking], Ints]:
    """Queries in which equal scores matter, rankings that have their best and worst order, and their places there.

    Nothing where the order of tied documents is averaged over. Where many queries are concerned, all are kept: what is
    known of the whole pool need not be found out again.
    """
    if ranking.expected or not (ranking.tie_last > ranking.tie_first).any():
        return _NONE, [], _NONE
    orders = [ranking.extreme(best=True), ranking.extreme(best=False)]
    moved = [np.flatnonzero((other.rank != ranking.rank) | (other.grade != ranking.grade)) for other in orders]
    queries = np.unique(ranking.query[np.concatenate(moved)])
    if len(queries) * _MANY >= len(ranking):
        return queries, orders, queries
    if not len(queries):
        return queries, [], queries
    best, worst = (other.only(queries) for other in orders)
    return queries, [best, worst.sharing(best.of_pool)], np.arange(len(queries))


def _depends_on_ties(measure: Measure, raw: Floats, orders: list[Ranking], place: Ints) -> Bools:
    """Mark the queries whose value would differ under another order of tied documents."""
    differs = np.zeros(len(raw), dtype=bool)
    for other in orders:
        value = measure.compute(other)[place]
        some = np.flatnonzero((value != raw) & ~(np.isnan(value) & np.isnan(raw)))
        if len(some):
            differs[some] |= ~np.isclose(value[some], raw[some], rtol=1e-12, atol=1e-15)
    return differs


def _share_unjudged(rows: QueryRows, k: int | None, kept: Bools) -> float | None:
    """Mean share of unjudged documents in the top k of the queries in the mean."""
    shown, known = rows.shown[k], rows.known[k]
    some = kept & (shown > 0)
    if not some.any():
        return None
    return float(np.mean((shown[some] - known[some]) / shown[some]))


def _typical_length(rows: QueryRows, k: int | None, kept: Bools) -> int | None:
    """The median of how many documents the lists in the mean have, down to k."""
    lengths = rows.shown[k][kept & rows.in_run]
    return int(np.median(lengths)) if len(lengths) else None
