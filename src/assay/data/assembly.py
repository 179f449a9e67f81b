"""Putting a ranking together from hits, however they were found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from assay.data import segments
from assay.data.ranking import Ranking, Subtopics
from assay.errors import UsageError
from assay.lazy import pl
from assay.messages import say

if TYPE_CHECKING:
    from assay.data.judgments import Judgments
    from assay.data.segments import Bools, Ints


@dataclass(frozen=True)
class JudgedRows:
    """Judged documents found in a run, one row each, in no particular order."""

    query: Ints
    rank: Ints
    position: Ints
    pool: Ints
    tie_first: Ints
    tie_last: Ints


def assemble(
    judgments: Judgments,
    index: dict[str, int],
    in_run: Bools,
    retrieved: Ints,
    hits: JudgedRows,
    *,
    listed: tuple[Ints, Ints] | None,
    expected: bool,
) -> Ranking:
    """Make a ranking of hits in any order; `index` numbers all queries in id order."""
    pool = judgments.pool
    number = np.fromiter((index[query] for query in pool.queries), dtype=np.int64)
    judged = np.zeros(len(index), dtype=bool)
    judged[number] = True
    judged[[index[query] for query in judgments.empty]] = True
    order = _in_order(hits)
    if expected and listed is not None:
        raise UsageError(say("ties='expected' cannot be used with folded chunks: use ties='docid' or ties='given'"))
    return Ranking(
        query_ids=list(index),
        judged=judged,
        in_run=in_run,
        retrieved=retrieved,
        query=hits.query[order],
        rank=hits.rank[order],
        position=hits.position[order],
        grade=pool.grade[hits.pool[order]],
        tie_first=hits.tie_first[order],
        tie_last=hits.tie_last[order],
        pool_of_hit=hits.pool[order],
        pool_query=np.repeat(number, pool.sizes),
        pool_grade=pool.grade,
        listed_query=None if listed is None else listed[0],
        listed_position=None if listed is None else listed[1],
        subtopics=_subtopics(judgments),
        expected=expected,
    ).sharing(judgments.facts_of(list(index)))


def _in_order(hits: JudgedRows) -> Ints | slice:
    """Order hits by query and rank; most runs come so already, or query by query in another order of queries."""
    fresh = segments.changes(hits.query)
    if not (fresh[1:] | (hits.rank[1:] > hits.rank[:-1])).all():
        return np.lexsort((hits.rank, hits.query))
    starts = np.flatnonzero(fresh)
    queries = hits.query[starts]
    if (queries[1:] > queries[:-1]).all():
        return slice(None)
    order = np.argsort(queries, kind="stable")
    if not segments.changes(queries[order]).all():  # a query in two places
        return np.lexsort((hits.rank, hits.query))
    sizes = np.diff(np.append(starts, len(fresh)))[order]
    return np.repeat(starts[order] - (np.cumsum(sizes) - sizes), sizes) + np.arange(len(fresh))


def _subtopics(judgments: Judgments) -> Subtopics | None:
    """Number the relevant (document, subtopic) rows; subtopics of different queries are different."""
    if judgments.groups == "none":
        return None
    rows = judgments.frame.filter(pl.col("grade") > 0)
    pair = judgments.pairs.select("query_id", "doc_id").with_row_index("pool")
    rows = rows.join(pair, on=["query_id", "doc_id"], how="left", maintain_order="left")
    number = rows.select(pl.struct("query_id", "subtopic").rank("dense") - 1).to_series()
    return Subtopics(
        rows["pool"].to_numpy().astype(np.int64), number.to_numpy().astype(np.int64), judgments.groups == "gold"
    )
