"""Joining {query: {document: score}} with judgments, without copying the run.

Every judged document is looked up once. A hit's rank is the number of larger scores plus one, so document ids are
looked at only where scores tie. Queries are handled in blocks: what is done once for a block costs almost nothing for
each query.
"""

from __future__ import annotations

import itertools
import math
from functools import lru_cache
from struct import Struct
from struct import error as StructError  # noqa: N812
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.data.assembly import JudgedRows, assemble
from assay.errors import InputError, excerpt
from assay.messages import say

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from assay.data.judgments import Judgments
    from assay.data.pool import Pool
    from assay.data.protocol import Ties
    from assay.data.ranking import Ranking
    from assay.data.segments import Ints

    Docs = Mapping[str, float]

_BLOCK = 1 << 17


def rank_mapping(
    judgments: Judgments, run: Mapping[str, Docs], *, ties: Ties = "docid", float32: bool = False
) -> Ranking:
    """Join judgments with a dict of dicts."""
    index = {query: i for i, query in enumerate(sorted({*judgments.query_ids, *judgments.empty, *run}))}
    number = np.fromiter((index[query] for query in run), dtype=np.int64, count=len(run))
    lengths = np.zeros(len(index), dtype=np.int64)
    lengths[number] = np.fromiter(map(len, run.values()), dtype=np.int64, count=len(run))
    in_run = np.zeros(len(index), dtype=bool)
    in_run[number] = True
    found = [np.zeros((5, 0), dtype=np.int64)]
    done = 0
    for queries in _blocks(run):
        owner, *rest = _hits(queries, judgments.pool, float32=float32, given=ties == "given")
        found.append(np.stack([number[done + owner], *rest]))
        done += len(queries)
    owners, pool, rank, first, last = np.concatenate(found, axis=1)
    hits = JudgedRows(owners, rank, rank, pool, first, last)
    return assemble(judgments, index, in_run, lengths, hits, listed=None, expected=ties == "expected")


def _blocks(run: Mapping[str, Docs]) -> Iterator[dict[str, Docs]]:
    """Group queries so that their scores fit the processor's cache."""
    block: dict[str, Docs] = {}
    size = 0
    for query, docs in run.items():
        block[query] = docs
        size += len(docs)
        if size >= _BLOCK:
            yield block
            block, size = {}, 0
    if block:
        yield block


def _hits(
    block: Mapping[str, Docs], judged: Pool, *, float32: bool, given: bool
) -> tuple[Ints, Ints, Ints, Ints, Ints]:
    """Find the judged documents of a block: number of the query within it, pool row, rank, bounds of the tie."""
    scores, ends = _falling_scores(block, float32=float32)
    names, nobody = judged.names, itertools.repeat(math.nan)
    listed: list[float] = []
    for query, docs in block.items():
        first, last = judged.spans.get(query, (0, 0))
        listed += map(docs.get, names[first:last], nobody)
    mine = np.fromiter(listed, np.float64, len(listed))
    some = ~np.isnan(mine)
    pool, owner = (each[some] for each in judged.of_queries(block))
    mine = mine[some].astype(scores.dtype, copy=False)
    start, end = ends[:-1][owner], ends[1:][owner]
    place = _bisect(scores, start, end, mine, below=False)
    above = place - start + 1
    rank, below = above.copy(), above.copy()
    tied = np.flatnonzero((place + 1 < end) & (scores[np.minimum(place + 1, len(scores) - 1)] == mine))
    if len(tied):
        below[tied] = _bisect(scores, start[tied], end[tied], mine[tied], below=True) - start[tied]
        lists = list(block.values())
        bounds = np.searchsorted(owner, np.arange(len(lists) + 1))
        for local in np.unique(owner[tied]):
            here = slice(bounds[local], bounds[local + 1])
            hits = [names[row] for row in pool[here]]
            rank[here] = _break_ties(lists[local], hits, mine[here], above[here], given=given)
    return owner, pool, rank, above, below


@lru_cache(maxsize=4096)
def _packer(length: int) -> Struct:
    """Pack doubles: the fastest way from many Python floats to an array."""
    return Struct(f"{length}d")


def _falling_scores(block: Mapping[str, Docs], *, float32: bool) -> tuple[NDArray[Any], Ints]:
    """Lay the scores of several queries end to end, each query's in falling order, as most lists already are."""
    try:
        packed = b"".join([_packer(len(docs)).pack(*docs.values()) for docs in block.values()])
    except (StructError, TypeError, ValueError, OverflowError):
        raise _refusal(block) from None
    scores: NDArray[Any] = np.frombuffer(packed)
    if not np.isfinite(scores).all():
        raise _refusal(block)
    if float32:
        scores = scores.astype(np.float32)
    ends = np.cumsum([0, *map(len, block.values())])
    rises = np.flatnonzero(scores[1:] > scores[:-1]) + 1
    within = rises[~np.isin(rises, ends)]  # a rise from one query to the next means nothing
    unsorted = np.unique(np.searchsorted(ends, within, side="right") - 1)
    if len(unsorted):
        scores = scores.copy()
        for local in unsorted:
            scores[ends[local] : ends[local + 1]][::-1].sort()
    return scores, ends


def _bisect(scores: NDArray[Any], start: Ints, end: Ints, value: NDArray[Any], *, below: bool) -> Ints:
    """First place in each falling stretch whose score is not above the value (or is below it)."""
    low, high = start.copy(), end.copy()
    while (low < high).any():
        middle = (low + high) // 2
        found = scores[np.minimum(middle, len(scores) - 1)]
        further = ((found >= value) if below else (found > value)) & (low < high)
        low = np.where(further, middle + 1, low)
        high = np.where(further, high, np.minimum(middle, high))
    return low


def _break_ties(docs: Docs, names: list[str], mine: NDArray[Any], first: Ints, *, given: bool) -> Ints:
    """Place one query's hits within their ties by document id, descending, or by the order given."""
    by_score: dict[float, list[str]] = {float(score): [] for score in mine}
    for doc, score in docs.items():
        tied = by_score.get(float(mine.dtype.type(score)))
        if tied is not None:
            tied.append(doc)
    if not given:
        for tied in by_score.values():
            tied.sort(reverse=True)
    place = {doc: i for tied in by_score.values() for i, doc in enumerate(tied)}
    return first + np.array([place[name] for name in names], dtype=np.int64)


def _refusal(block: Mapping[str, Docs]) -> InputError:
    """Name the first score that is not a finite number."""
    for query, docs in block.items():
        for doc, score in docs.items():
            try:
                if np.isfinite(float(score)):
                    continue
            except (TypeError, ValueError, OverflowError):
                pass
            return InputError(
                say(
                    "the score {score} of document {doc} for query {query} is not a finite number",
                    score=excerpt(score),
                    doc=excerpt(doc),
                    query=excerpt(query),
                ),
                hint=say("remove the document or give it a finite score"),
            )
    return InputError(say("the scores of the run cannot be read as numbers"))
