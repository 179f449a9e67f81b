"""Expected values over all orders of tied documents, in closed form.

McSherry & Najork, Computing information retrieval performance measures efficiently in the presence of tied scores,
ECIR 2008. Each hit knows the first and last rank of its tie; an unjudged document in the tie is not relevant.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from assay.data import segments
from assay.data.segments import ratio
from assay.errors import UsageError
from assay.measures.scale import require_max_grade
from assay.messages import say

if TYPE_CHECKING:
    from assay.data.ranking import Ranking
    from assay.data.segments import Bools, Floats, Ints


def share_in_top(ranking: Ranking, k: int | None) -> Floats:
    """Probability that each hit is in the top k."""
    size = ranking.tie_last - ranking.tie_first + 1
    if k is None:
        return np.ones(len(size))
    return np.clip(k - ranking.tie_first + 1, 0, size) / size


def precision(ranking: Ranking, k: int, *, over: str = "k", min_relevance: float = 1) -> Floats:
    """Expected precision@k."""
    divisor = np.full(len(ranking), float(k)) if over == "k" else ranking.count_shown(k)
    return ratio(_mean_found(ranking, k, min_relevance), divisor)


def recall(ranking: Ranking, k: int, *, capped: bool = False, min_relevance: float = 1) -> Floats:
    """Expected recall@k."""
    if ranking.subtopics is not None and ranking.subtopics.gold:
        raise UsageError(
            say("recall over gold groups cannot be averaged over orders of tied documents: use ties='docid'")
        )
    total = ranking.num_relevant(min_relevance)
    return ratio(_mean_found(ranking, k, min_relevance), np.minimum(total, k) if capped else total, empty=np.nan)


def _mean_found(ranking: Ranking, k: int | None, min_relevance: float) -> Floats:
    return ranking.total(share_in_top(ranking, k), ranking.relevant(min_relevance))


class _Ties:
    """Groups of equal scores that hold a relevant document: query, first rank, size, relevant ones in and above."""

    def __init__(self, ranking: Ranking, relevant: Bools) -> None:
        query, first, last = (a[relevant] for a in (ranking.query, ranking.tie_first, ranking.tie_last))
        order = np.lexsort((first, query))
        query, first, last = query[order], first[order], last[order]
        fresh = segments.changes(query) | segments.changes(first)
        self.row_of_tie = order
        self.tie_of_row = np.cumsum(fresh) - 1
        self.query, self.first = query[fresh], first[fresh]
        self.size = (last - first + 1)[fresh]
        self.relevant = segments.count(self.tie_of_row, len(self.query))
        self.above = (segments.running(self.relevant, self.query) - self.relevant).astype(np.int64)

    def sums(self, values: Floats) -> Floats:
        """Sum a value of the relevant hits within each tie."""
        return segments.total(values[self.row_of_tie], self.tie_of_row, len(self.query))


def hit_rate(ranking: Ranking, k: int, *, min_relevance: float = 1) -> Floats:
    """Expected hit rate: 1 minus the chance that the part of the deciding tie in the top k holds none."""
    ties = _Ties(ranking, ranking.relevant(min_relevance))
    drawn = np.clip(k - ties.first + 1, 0, ties.size)
    values = 1.0 - _none_drawn(ties.size, ties.relevant, drawn)
    out = np.zeros(len(ranking))
    np.maximum.at(out, ties.query, values)
    return out


def _none_drawn(size: Ints, relevant: Ints, drawn: Ints) -> Floats:
    """Chance that `drawn` of `size` documents miss all `relevant` ones."""
    left = size - relevant
    possible = drawn <= left
    spare = np.where(possible, left - drawn, 0)
    chance = np.exp(_log_factorial(left) - _log_factorial(spare) + _log_factorial(size - drawn) - _log_factorial(size))
    return np.where(possible, np.where(drawn == 0, 1.0, chance), 0.0)


def _log_factorial(n: Ints) -> Floats:
    table = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, int(n.max(initial=0)) + 1)))])
    return table[n]


def reciprocal_rank(ranking: Ranking, k: int | None, *, min_relevance: float = 1) -> Floats:
    """Expected 1 / rank of the first relevant document: only the first tie that holds one matters."""
    ties = _Ties(ranking, ranking.relevant(min_relevance))
    first = segments.changes(ties.query)
    query, start, size, relevant = (a[first] for a in (ties.query, ties.first, ties.size, ties.relevant))
    tie, place = _unroll(size - relevant + 1)
    before = place - 1
    # The first relevant one is at `place` when the places before it are taken by others.
    chance = _none_drawn(size[tie], relevant[tie], before) * relevant[tie] / (size[tie] - before)
    rank = start[tie] + before
    terms = chance / rank * (1.0 if k is None else rank <= k)
    return segments.total(terms, query[tie], len(ranking))


def average_precision(
    ranking: Ranking,
    k: int | None,
    *,
    over: str = "all",
    gain: str = "binary",
    max_grade: float | None = None,
    min_relevance: float = 1,
) -> Floats:
    """Expected average precision: any place of a tie holds any of its documents with equal chance."""
    if over == "found":
        raise UsageError(
            say("average_precision(over='found') cannot be averaged over orders of tied documents: use ties='docid'")
        )
    ties = _Ties(ranking, ranking.relevant(min_relevance))
    weight = np.ones(len(ranking.grade))
    if gain == "graded":
        weight = ranking.grade / require_max_grade(max_grade, "average_precision(gain='graded')")
    worth = ties.sums(weight[ranking.relevant(min_relevance)]) / ties.size
    tie, place = _unroll(ties.size)
    rank = ties.first[tie] + place - 1
    others = ratio((place - 1) * (ties.relevant - 1)[tie], (ties.size - 1)[tie])
    terms = worth[tie] * (ties.above[tie] + 1 + others) / rank * (1.0 if k is None else rank <= k)
    divisor = ranking.num_relevant(min_relevance)
    if over == "min_k" and k is not None:
        divisor = np.minimum(divisor, k)
    return ratio(segments.total(terms, ties.query[tie], len(ranking)), divisor, empty=np.nan)


def _unroll(sizes: Ints) -> tuple[Ints, Ints]:
    """List the places 1, 2 ... of each group with the group's number."""
    group = np.repeat(np.arange(len(sizes)), sizes)
    return group, segments.ordinals(group)


def mean_discount(ranking: Ranking, k: int | None) -> Floats:
    """Mean of 1 / log2(rank + 1) over the places that each hit may take, 0 below the cut."""
    depth = int(ranking.tie_last.max(initial=0))
    sums: Any = np.concatenate([[0.0], np.cumsum(1.0 / np.log2(np.arange(2, depth + 2)))])
    end = ranking.tie_last if k is None else np.clip(k, ranking.tie_first - 1, ranking.tie_last)
    return (sums[end] - sums[ranking.tie_first - 1]) / (ranking.tie_last - ranking.tie_first + 1)  # type: ignore[no-any-return]
