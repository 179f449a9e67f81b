"""Measures for judgments with subtopics: how many aspects of a query the list covers, and how soon."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from assay.data import segments
from assay.data.segments import ratio
from assay.measures.gains import discount
from assay.measures.registry import measure

if TYPE_CHECKING:
    from assay.data.ranking import Ranking
    from assay.data.segments import Floats, Ints


def _subtopic_count(ranking: Ranking) -> Ints:
    """Count the subtopics of each query that have a relevant document."""
    assert ranking.subtopics is not None
    pair = np.unique(np.stack([ranking.pool_query[ranking.subtopics.pool], ranking.subtopics.subtopic]), axis=1)
    return segments.count(pair[0], len(ranking))


def _rows_of_hits(ranking: Ranking, k: int | None) -> tuple[Ints, Ints]:
    """List (hit, subtopic) rows of the top k, ordered by subtopic and rank."""
    assert ranking.subtopics is not None
    hit_of_pool = np.full(len(ranking.pool_grade), -1)
    kept = np.flatnonzero(ranking.within(k))
    hit_of_pool[ranking.pool_of_hit[kept]] = kept
    hit = hit_of_pool[ranking.subtopics.pool]
    hit, subtopic = hit[hit >= 0], ranking.subtopics.subtopic[hit >= 0]
    order = np.lexsort((ranking.rank[hit], subtopic))
    return hit[order], subtopic[order]


def _novelty_gain(ranking: Ranking, k: int | None, alpha: float) -> Floats:
    """Gain of each hit: for each of its subtopics (1 - alpha)^(times the subtopic was seen above)."""
    hit, subtopic = _rows_of_hits(ranking, k)
    worth = (1.0 - alpha) ** (segments.ordinals(subtopic) - 1)
    return segments.total(worth, hit, len(ranking.rank))


def _ideal_alpha_dcg(ranking: Ranking, k: int | None, alpha: float) -> Floats:
    """DCG of the greedy best order: at every rank the document with the largest remaining gain."""
    assert ranking.subtopics is not None
    pool, subtopic = ranking.subtopics.pool, ranking.subtopics.subtopic
    docs, doc = np.unique(pool, return_inverse=True)
    query = ranking.pool_query[docs]
    seen = np.zeros(int(subtopic.max(initial=-1)) + 1)
    left = np.ones(len(docs), dtype=bool)
    total = np.zeros(len(ranking))
    for rank in range(1, min(k or len(docs), int(np.bincount(query, minlength=1).max())) + 1):
        gain = np.where(left, np.bincount(doc, weights=(1.0 - alpha) ** seen[subtopic], minlength=len(docs)), -1.0)
        order = np.lexsort((-np.arange(len(docs)), -gain, query))
        best = order[segments.changes(query[order])]
        best = best[gain[best] > 0]
        total[query[best]] += gain[best] * discount(np.array([rank]))
        left[best] = False
        chosen = np.zeros(len(docs), dtype=bool)
        chosen[best] = True
        np.add.at(seen, subtopic[chosen[doc]], 1.0)
    return total


@measure(needs_subtopics=True, needs_relevant=False, bounds=(0, 1.05), swap_safe=False)
def alpha_ndcg(ranking: Ranking, k: int | None, *, alpha: float = 0.5) -> Floats:
    """Gain of new aspects, discounted by rank, relative to a greedy best order.

    Definition: alpha-DCG@k / that of the greedy ideal, where a document gains for each of its subtopics
      (1 - alpha)^(times the subtopic was seen above), divided by log2(rank + 1).
    Parameters:
      alpha: how quickly a subtopic that was seen stops gaining; 0 rewards repetition, 1 forbids it.
    Odd cases: the true ideal is hard to compute; a list can slightly beat the greedy one, so values may exceed 1.
      Moving a document up can lower the value of others.
    Reference: Clarke et al., Novelty and diversity in information retrieval evaluation, SIGIR 2008.
    Agrees with: ndeval alpha-nDCG@k, ir_measures alpha_nDCG@k.
    Reading: as ndcg, with repeated aspects worth little.
    Use when: a query has several meanings or aspects.
    Not when: judgments have no subtopics.
    """
    mask = ranking.within(k)
    gain = ranking.total(_novelty_gain(ranking, k, alpha) * discount(ranking.rank), mask)
    return ratio(gain, _ideal_alpha_dcg(ranking, k, alpha), empty=np.nan)


_ENDLESS = 1000  # ranks after which (1 - alpha)^rank adds nothing


def _normalise(ranking: Ranking, gain: Floats, best: Floats, norm: str) -> Floats:
    """Divide by the number of subtopics and, for norm='best', by what documents on every subtopic would gain."""
    return ratio(gain, _subtopic_count(ranking) * (float(best.sum()) if norm == "best" else 1.0), empty=np.nan)


def _all_covering(k: int | None, alpha: float) -> Floats:
    """Gain per subtopic at each rank of an imagined list whose documents cover every subtopic."""
    return np.power(1.0 - alpha, np.arange(k or _ENDLESS, dtype=np.float64))


@measure(needs_subtopics=True, needs_relevant=False, bounds=(0, 1.0), swap_safe=False)
def alpha_dcg(ranking: Ranking, k: int | None, *, alpha: float = 0.5, norm: Literal["best", "none"] = "best") -> Floats:
    """Gain of new aspects, discounted by rank, relative to a list whose documents cover every aspect.

    Definition: the sum of alpha_ndcg's numerator per subtopic, divided by the same sum for an imagined list whose
      documents cover every subtopic.
    Parameters:
      alpha: as for alpha_ndcg.
      norm: 'best' divides by the imagined list's value, 'none' only by the number of subtopics.
    Odd cases: unlike alpha_ndcg the ideal does not depend on the documents of the collection.
    Reference: Clarke et al., 2008.
    Agrees with: norm='best': ndeval alpha-DCG@k, ir_measures alpha_DCG@k.
    Reading: only in comparison with another system on the same queries.
    Use when: the greedy ideal of alpha_ndcg is disputed.
    Not when: queries differ in their number of subtopics.
    """
    gain = ranking.total(_novelty_gain(ranking, k, alpha) * discount(ranking.rank), ranking.within(k))
    best = _all_covering(k, alpha)
    return _normalise(ranking, gain, best * discount(np.arange(1, len(best) + 1)), norm)


@measure(needs_subtopics=True, needs_relevant=False, swap_safe=False)
def err_ia(ranking: Ranking, k: int | None, *, alpha: float = 0.5, norm: Literal["best", "none"] = "best") -> Floats:
    """Expected reciprocal rank for each aspect, averaged over the aspects.

    Definition: mean over subtopics of the sum over ranks r of documents on the subtopic of
      alpha (1 - alpha)^(documents on it above) / r, divided by the same sum for documents that cover everything.
    Parameters:
      alpha: chance that a document on the subtopic satisfies the reader.
      norm: 'best' divides by the best value that any list of k documents could have; 'none' is the plain expectation.
    Odd cases: a document is on a subtopic or not; grades above 0 count the same.
    Reference: Chapelle et al., Intent-based diversification of web search results, 2011.
    Agrees with: norm='best': ndeval ERR-IA@k, ir_measures ERR_IA@k.
    Reading: as reciprocal_rank, averaged over the aspects of each query.
    Use when: a query has several meanings and one document per meaning is enough.
    Not when: judgments have no subtopics.
    """
    gain = ranking.total(_novelty_gain(ranking, k, alpha) / ranking.rank, ranking.within(k))
    best = _all_covering(k, alpha)
    value = _normalise(ranking, gain, best / np.arange(1, len(best) + 1), norm)
    return value if norm == "best" else alpha * value


@measure(cutoff="required", needs_subtopics=True, needs_relevant=False, ideal_is_one=False)
def subtopic_recall(ranking: Ranking, k: int) -> Floats:
    """Share of a query's aspects that the top k covers.

    Definition: subtopics with a relevant document in the top k / subtopics with a relevant document at all.
    Reference: Zhai, Cohen & Lafferty, Beyond independent relevance, SIGIR 2003.
    Agrees with: ndeval strec@k, ir_measures StRecall@k.
    Reading: .75 means that three of four aspects are covered.
    Use when: no aspect of a question may be missed.
    Not when: judgments have no subtopics.
    """
    hit, subtopic = _rows_of_hits(ranking, k)
    first = segments.changes(subtopic)
    return ratio(segments.count(ranking.query[hit[first]], len(ranking)), _subtopic_count(ranking), empty=np.nan)
