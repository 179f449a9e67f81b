"""Measures for incomplete judgments, and measures of the gaps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from assay.data import segments
from assay.data.segments import ratio
from assay.errors import UsageError
from assay.measures.registry import measure
from assay.messages import say

if TYPE_CHECKING:
    from assay.data.ranking import Ranking
    from assay.data.segments import Floats, Ints

_EPSILON = 0.00001  # smooths inferred precision, as in trec_eval


@measure(cutoff="none", ideal_is_one=True)
def bpref(ranking: Ranking, _k: None, *, min_relevance: float = 1) -> Floats:
    """How often judged relevant documents are ranked above judged non-relevant ones.

    Definition: 1/R sum over retrieved relevant documents of 1 - min(n, R) / min(N, R), where n judged non-relevant
      documents are above and N is the number of all judged non-relevant documents.
    Odd cases: unjudged documents and negative grades are skipped. Without judged non-relevant documents above, a term
      is 1 (no division by 0).
    Reference: Buckley & Voorhees, Retrieval evaluation with incomplete information, SIGIR 2004.
    Agrees with: trec_eval bpref, ir_measures Bpref. ranx gives NaN without judged non-relevant documents.
    Reading: like a probability of the right order of two judged documents.
    Use when: many documents are unjudged.
    Not when: all retrieved documents are judged (average_precision says more).
    """
    relevant = ranking.relevant(min_relevance)
    wrong = ranking.is_judged & ~relevant
    above = segments.tally(wrong, ranking.query)
    all_wrong = ranking.once(("wrong", min_relevance), lambda: _count_wrong(ranking, min_relevance))
    number = ranking.num_relevant(min_relevance)
    limit = np.minimum(all_wrong, number)[ranking.query]
    terms = 1.0 - ratio(np.minimum(above, number[ranking.query]), limit)
    return ratio(ranking.total(terms, relevant), number)


def _count_wrong(ranking: Ranking, min_relevance: float) -> Ints:
    """Count the documents of each query that were judged not relevant, retrieved or not."""
    wrong = (ranking.pool_grade >= 0) & (ranking.pool_grade < min_relevance)
    return segments.count(ranking.pool_query[wrong], len(ranking))


@measure(cutoff="none", swap_safe=False, bounds=(0, 1.001))
def infap(ranking: Ranking, _k: None, *, min_relevance: float = 1) -> Floats:
    """Average precision inferred from a judged sample of the pool.

    Definition: average precision in which the precision above each relevant document is estimated from the judged
      documents above it, counting unpooled ones as not relevant.
    Odd cases: a negative grade means pooled but not judged and counts as part of the pool. A small constant (.00001)
      smooths the estimate, so values can slightly exceed 1. Moving a relevant document up can lower the value when it
      passes a document that is pooled but not judged.
    Reference: Yilmaz & Aslam, Estimating average precision with incomplete and imperfect judgments, CIKM 2006.
    Agrees with: trec_eval infAP, ir_measures infAP.
    Reading: as average_precision.
    Use when: only a random sample of the pool was judged and the rest is marked with a negative grade.
    Not when: judgments are complete: then it is average_precision.
    """
    relevant = ranking.relevant(min_relevance)
    wrong = ranking.is_judged & ~relevant
    rel_above = segments.tally(relevant, ranking.query) - relevant
    wrong_above = segments.tally(wrong, ranking.query)
    pooled_above = segments.tally(~ranking.is_judged, ranking.query)
    rank = ranking.rank
    judged_share = (rel_above + _EPSILON) / (rel_above + wrong_above + 2 * _EPSILON)
    above = np.maximum(rank - 1, 1)
    terms = 1 / rank + (rank - 1) / rank * ((rel_above + wrong_above + pooled_above) / above) * judged_share
    return ratio(ranking.total(terms, relevant), ranking.num_relevant(min_relevance))


@measure(cutoff="none", aggregate="geometric", ideal_is_one=True)
def geometric_bpref(ranking: Ranking, _k: None, *, min_relevance: float = 1) -> Floats:
    """Bpref, averaged over queries by the geometric mean.

    Definition: exp of the mean of log max(bpref, .00001).
    Agrees with: trec_eval gm_bpref.
    Reading: far below the mean bpref means that some queries fail badly.
    Use when: as geometric_average_precision, with incomplete judgments.
    Not when: many queries score 0.
    """
    values: Floats = bpref.spec.function(ranking, None, min_relevance=min_relevance)
    return values


def _divisor(ranking: Ranking, k: int | None, over: str, name: str) -> Floats | Ints:
    """What a share of the top k is taken of: the documents it really holds, or k."""
    if over == "retrieved":
        return ranking.count_shown(k)
    if k is None:
        raise UsageError(say("{name}(over='k') needs a cutoff: write {name}(over='k')@10", name=name))
    return np.full(len(ranking), float(k))


@measure(needs_relevant=False)
def judged(ranking: Ranking, k: int | None, *, over: Literal["retrieved", "k"] = "retrieved") -> Floats:
    """Share of the top k that has been judged.

    Definition: judged documents in the top k / documents in the top k; without a cutoff, of the whole list.
    Parameters:
      over: 'retrieved' divides by the documents that the top k really holds, 'k' by k.
    Odd cases: a negative grade means pooled but not judged and does not count as judged.
    Agrees with: ir_measures Judged and Judged@k, which count negative grades as judged.
    Reading: below .9 at the cutoff of another measure, that measure is mostly a statement about the judgments.
    Use when: always, beside every other number, for systems that did not contribute to the pool.
    Not when: you want a measure of quality, which it is not.
    """
    return ratio(ranking.count(ranking.within(k) & ranking.is_judged), _divisor(ranking, k, over, "judged"))


@measure(needs_relevant=False, swap_safe=False, lower_is_better=True)
def unjudged(ranking: Ranking, k: int | None, *, over: Literal["retrieved", "k"] = "retrieved") -> Floats:
    """Share of the top k that has not been judged.

    Definition: unjudged documents in the top k / documents in the top k; without a cutoff, of the whole list.
    Parameters:
      over: 'retrieved' divides by the documents that the top k really holds, 'k' by k as trec_eval does.
    Odd cases: a negative grade counts as unjudged. Moving a judged document up lowers the value, as it should.
    Agrees with: over='k': trec_eval 10 unj_k.
    Reading: a high value is a warning: the judgments do not cover this system.
    Use when: as judged.
    Not when: you want a measure of quality, which it is not.
    """
    left = ranking.count_shown(k) - ranking.count(ranking.within(k) & ranking.is_judged)
    return ratio(left, _divisor(ranking, k, over, "unjudged"))
