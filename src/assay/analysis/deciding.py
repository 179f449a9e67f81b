"""Documents whose grade could move the difference of two systems most, for any measure of rankings."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.analysis.evaluate import rank
from assay.analysis.settings import Settings
from assay.curation.pools import Grades, PooledDocument
from assay.data.judgments import Judgments

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.curation.pools import QueryPool
    from assay.data.ranking import Ranking
    from assay.data.run import Run
    from assay.data.segments import Floats, Ints
    from assay.measures import Measure

_BLOCK = 200_000  # rows of what is scored at once


def by_decision(
    pools: Sequence[QueryPool], systems: tuple[Run, Run], grades: Grades, measure: Any, top: float
) -> dict[PooledDocument, float]:
    """The documents by falling effect: how far the difference moves if they have the highest grade instead of 0.

    Documents without a grade count as not relevant while the effect of one of them is computed. Documents that have a
    grade come first, with no effect: their place in the order is behind us.
    """
    rows = {
        one.query_id: {doc: max(grades.get(one.query_id, {}).get(doc, 0.0), 0.0) for doc in one.doc_ids}
        for one in pools
    }
    judged = Judgments.from_dict(rows)  # type: ignore[arg-type]
    settings = Settings.of(judged, [measure], "trec")
    (chosen,) = settings.measures.values()
    rankings = [rank(judged, run, settings.protocol)[0] for run in systems]
    effect = np.abs(_gain(rankings[1], chosen, top) - _gain(rankings[0], chosen, top))
    places = [PooledDocument(q, d) for q, one in enumerate(pools) for d in range(len(one.doc_ids))]
    known = [grades.get(pools[q].query_id, {}).get(pools[q].doc_ids[d], -1.0) >= 0 for q, d in places]
    best = [float(pools[q].best[d]) for q, d in places]
    order = sorted(range(len(places)), key=lambda i: (not known[i], -effect[i], best[i], i))
    return {places[i]: 0.0 if known[i] else float(effect[i]) for i in order}


def _gain(ranking: Ranking, measure: Measure, top: float) -> Floats:
    """What the value of its query would gain by each document of the pool having the highest grade."""
    base = np.nan_to_num(measure.compute(ranking))
    size = np.bincount(ranking.pool_query, minlength=len(ranking))
    found = np.empty(len(ranking.pool_grade))
    rows = np.arange(len(found))
    start = 0
    while start < len(rows):
        end = start + int(np.searchsorted(np.cumsum(size[ranking.pool_query[start:]]), _BLOCK)) + 1
        block = rows[start:end]
        value = np.nan_to_num(measure.compute(_with_one_more(ranking, block, top)))
        found[block] = value - base[ranking.pool_query[block]]
        start = end
    return found


def _with_one_more(ranking: Ranking, rows: Ints, top: float) -> Ranking:
    """A ranking with a query for each of these documents, in which it has the highest grade."""
    owner = ranking.pool_query[rows]
    pool_rows, pool_of = _spread(ranking.pool_query, owner, len(ranking))
    hit_rows, hit_of = _spread(ranking.query, owner, len(ranking))
    grade = ranking.pool_grade[pool_rows].copy()
    first = np.flatnonzero(np.r_[True, np.diff(pool_of) > 0])
    start = np.searchsorted(ranking.pool_query, owner)
    grade[first + rows - start] = top
    pool_of_hit = first[hit_of] + ranking.pool_of_hit[hit_rows] - start[hit_of]
    return replace(
        ranking,
        query_ids=[str(row) for row in rows.tolist()],
        judged=ranking.judged[owner],
        in_run=ranking.in_run[owner],
        retrieved=ranking.retrieved[owner],
        query=hit_of,
        rank=ranking.rank[hit_rows],
        position=ranking.position[hit_rows],
        grade=grade[pool_of_hit],
        tie_first=ranking.tie_first[hit_rows],
        tie_last=ranking.tie_last[hit_rows],
        pool_of_hit=pool_of_hit,
        pool_query=pool_of,
        pool_grade=grade,
    )


def _spread(group: Ints, owner: Ints, size: int) -> tuple[Ints, Ints]:
    """The rows of the group of each owner, one after the other, and the number of the owner of each."""
    number = np.bincount(group, minlength=size)[owner]
    start = np.searchsorted(group, owner)
    of = np.repeat(np.arange(len(owner)), number)
    return np.arange(number.sum()) - np.repeat(np.cumsum(number) - number - start, number), of
