"""Measures of the retrieved set as a whole, and plain counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from assay.data.segments import ratio
from assay.measures.ranked import count_relevant, f_measure
from assay.measures.registry import measure

if TYPE_CHECKING:
    from assay.data.ranking import Ranking
    from assay.data.segments import Floats


@measure(cutoff="none", order_free=True)
def set_precision(ranking: Ranking, _k: None, *, min_relevance: float = 1) -> Floats:
    """Share of everything retrieved that is relevant.

    Definition: relevant retrieved / retrieved.
    Agrees with: trec_eval set_P, ir_measures SetP.
    Reading: .10 means one in ten documents of the list is relevant, at any rank.
    Use when: a filter returns a set, not a ranking.
    Not when: lists have a fixed length such as 1,000.
    """
    return ratio(count_relevant(ranking, None, min_relevance), ranking.retrieved)


@measure(cutoff="none", order_free=True, ideal_is_one=True)
def set_recall(ranking: Ranking, _k: None, *, min_relevance: float = 1) -> Floats:
    """Share of all relevant documents that was retrieved at all.

    Definition: relevant retrieved / all relevant.
    Agrees with: trec_eval set_recall, ir_measures SetR.
    Reading: the ceiling of what any reranking of this list can reach.
    Use when: a filter returns a set, or a candidate list is judged.
    Not when: lists are cut at different lengths.
    """
    return ratio(count_relevant(ranking, None, min_relevance), ranking.num_relevant(min_relevance))


@measure(cutoff="none", order_free=True)
def set_f1(ranking: Ranking, _k: None, *, beta: float = 1, min_relevance: float = 1) -> Floats:
    """Harmonic mean of set precision and set recall.

    Definition: (1 + beta^2) P R / (beta^2 P + R).
    Parameters:
      beta: how much more recall weighs than precision.
    Odd cases: trec_eval's set_F.x takes x = beta squared, and so does ir_measures' SetF(beta=x): both are read so,
      set_F.4 and SetF(beta=4) as set_f1(beta=2). set_f1(beta=...) and set_f(beta=...) take beta itself.
    Agrees with: trec_eval set_F.x and ir_measures SetF(beta=x) at beta = sqrt(x).
    Reading: close to the smaller of the two.
    Use when: a filter returns a set, not a ranking.
    Not when: lists have a fixed length.
    """
    return f_measure(
        count_relevant(ranking, None, min_relevance), ranking.retrieved, ranking.num_relevant(min_relevance), beta
    )


@measure(cutoff="none", order_free=True)
def set_average_precision(ranking: Ranking, _k: None, *, min_relevance: float = 1) -> Floats:
    """Set precision times set recall.

    Definition: relevant retrieved^2 / (retrieved x all relevant).
    Agrees with: trec_eval set_map, ir_measures SetAP.
    Reading: average precision if the relevant documents were spread evenly over the list.
    Use when: a filter returns a set, not a ranking.
    Not when: lists have a fixed length.
    """
    hits = count_relevant(ranking, None, min_relevance).astype(np.float64)
    return ratio(hits * hits, ranking.retrieved * ranking.num_relevant(min_relevance))


@measure(cutoff="required", ideal_is_one=True)
def relative_precision(ranking: Ranking, k: int, *, min_relevance: float = 1) -> Floats:
    """Precision relative to the best that is possible at k.

    Definition: relevant documents in the top k / min(k, all relevant).
    Odd cases: the same as recall(capped=true)@k.
    Agrees with: trec_eval relative_P_k, BEIR's R_cap.
    Reading: 1 means that nothing better could be shown in k places.
    Use when: queries have fewer than k relevant documents.
    Not when: readers expect the more common recall(capped=true).
    """
    return ratio(count_relevant(ranking, k, min_relevance), np.minimum(ranking.num_relevant(min_relevance), k))


@measure(cutoff="none", order_free=True)
def set_relative_precision(ranking: Ranking, _k: None, *, min_relevance: float = 1) -> Floats:
    """Set precision relative to the best that is possible for a list of this length.

    Definition: relevant retrieved / min(retrieved, all relevant).
    Agrees with: trec_eval set_relative_P.
    Reading: 1 means that nothing better could be shown in a list of this length.
    Use when: a filter returns a set, not a ranking.
    Not when: lists have a fixed length.
    """
    return ratio(
        count_relevant(ranking, None, min_relevance), np.minimum(ranking.num_relevant(min_relevance), ranking.retrieved)
    )


@measure(cutoff="none", order_free=True, needs_relevant=False, bounds=(-np.inf, np.inf))
def utility(
    ranking: Ranking,
    _k: None,
    *,
    a: float = 1,
    b: float = -1,
    c: float = 0,
    d: float = 0,
    collection_size: int = 0,
    min_relevance: float = 1,
) -> Floats:
    """Weighted count of right and wrong decisions.

    Definition: a x relevant retrieved + b x other retrieved + c x relevant missed + d x others not retrieved.
    Parameters:
      a: value of a relevant document retrieved.
      b: value of a document retrieved that is not relevant.
      c: value of a relevant document missed.
      d: value of a document that is neither; needs collection_size.
      collection_size: number of documents in the collection (trec_eval -N).
    Agrees with: trec_eval utility.
    Reading: in the unit of the weights.
    Use when: right and wrong documents have a known value.
    Not when: lists have a fixed length.
    """
    hits = count_relevant(ranking, None, min_relevance)
    relevant = ranking.num_relevant(min_relevance)
    rest = collection_size + hits - ranking.retrieved - relevant
    return a * hits + b * (ranking.retrieved - hits) + c * (relevant - hits) + d * rest  # type: ignore[no-any-return]


@measure(cutoff="none", order_free=True, aggregate="sum", needs_relevant=False, bounds=(0, 1))
def num_q(ranking: Ranking, _k: None) -> Floats:
    """Number of queries evaluated.

    Definition: 1 per query; the total is the number of queries in the mean.
    Agrees with: trec_eval num_q, ir_measures NumQ.
    Reading: compare it with what you expect before reading anything else.
    Use when: always.
    Not when: you want a measure of quality, which it is not.
    """
    return np.ones(len(ranking))


@measure(cutoff="none", order_free=True, aggregate="sum", needs_relevant=False, bounds=(0, np.inf))
def num_ret(ranking: Ranking, _k: None) -> Floats:
    """Number of documents retrieved.

    Definition: length of the list; summed over queries.
    Agrees with: trec_eval num_ret, ir_measures NumRet.
    Reading: far fewer than queries x depth means short lists.
    Use when: lists may be short.
    Not when: you want a measure of quality, which it is not.
    """
    return ranking.retrieved.astype(np.float64)


@measure(cutoff="none", order_free=True, aggregate="sum", needs_relevant=False, bounds=(0, np.inf))
def num_rel(ranking: Ranking, _k: None, *, min_relevance: float = 1) -> Floats:
    """Number of relevant documents in the judgments.

    Definition: documents with grade >= min_relevance; summed over queries.
    Agrees with: trec_eval num_rel, ir_measures NumRel.
    Reading: a property of the judgments, not of the system.
    Use when: the threshold is in doubt.
    Not when: you want a measure of quality, which it is not.
    """
    return ranking.num_relevant(min_relevance).astype(np.float64)


@measure(cutoff="none", order_free=True, aggregate="sum", needs_relevant=False, bounds=(0, np.inf))
def num_rel_ret(ranking: Ranking, _k: None, *, min_relevance: float = 1) -> Floats:
    """Number of relevant documents retrieved.

    Definition: retrieved documents with grade >= min_relevance; summed over queries.
    Agrees with: trec_eval num_rel_ret, ir_measures NumRelRet.
    Reading: divided by num_rel it is recall over all queries together.
    Use when: counts are easier to explain than shares.
    Not when: queries should weigh the same.
    """
    return count_relevant(ranking, None, min_relevance).astype(np.float64)


@measure(cutoff="none", order_free=True, aggregate="sum", needs_relevant=False, bounds=(0, np.inf))
def num_nonrel_judged_ret(ranking: Ranking, _k: None, *, min_relevance: float = 1) -> Floats:
    """Number of retrieved documents that were judged and are not relevant.

    Definition: retrieved documents with 0 <= grade < min_relevance; summed over queries.
    Agrees with: trec_eval num_nonrel_judged_ret.
    Reading: num_ret - num_rel_ret - this is the number of unjudged documents retrieved.
    Use when: you suspect that many documents are unjudged.
    Not when: you want a measure of quality, which it is not.
    """
    return ranking.count(ranking.is_judged & ~ranking.relevant(min_relevance)).astype(np.float64)
