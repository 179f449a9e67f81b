"""Precision, recall and related measures, which depend on the ranks of the relevant documents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from assay.data import segments
from assay.data.segments import ratio
from assay.measures import expected
from assay.measures.registry import measure
from assay.measures.scale import require_max_grade

if TYPE_CHECKING:
    from assay.data.ranking import Ranking
    from assay.data.segments import Bools, Floats, Ints


def count_relevant(ranking: Ranking, k: int | None, min_relevance: float) -> Ints:
    """Count the relevant documents in the top k."""
    return ranking.count(ranking.within(k) & ranking.relevant(min_relevance))


def precision_at_hits(ranking: Ranking, relevant: Bools) -> Floats:
    """Precision at the rank of each hit, counting the marked hits down to it."""
    return segments.tally(relevant, ranking.query) / ranking.rank


def _reachable_precision(ranking: Ranking, k: int, *, over: str, min_relevance: float) -> Floats | None:
    """The highest precision of each query: k documents hold no more relevant ones than there are."""
    if over == "retrieved":
        return None
    return np.minimum(ranking.num_relevant(min_relevance), k) / float(k)


@measure(cutoff="required", expected=expected.precision, ceiling=_reachable_precision, ignores_zeros=True)
def precision(ranking: Ranking, k: int, *, over: Literal["k", "retrieved"] = "k", min_relevance: float = 1) -> Floats:
    """Share of the top k that is relevant.

    Definition: relevant documents in the top k / k.
    Parameters:
      over: 'k' divides by k even when fewer documents were retrieved; 'retrieved' divides by the number of (unique)
        documents that the top k really holds.
    Odd cases: a list shorter than k is punished under over='k' (5 results, 3 relevant: P@10 = .30) and not under
      over='retrieved' (.60). With fewer than k relevant documents, 1 cannot be reached.
    Reference: Cleverdon & Keen, 1966; Manning, Raghavan & Schuetze, Introduction to Information Retrieval, 2008, ch. 8.
    Agrees with: over='k': trec_eval P_k, ranx, ir_measures P@k; over='retrieved': OpenSearch, Quepid.
    Reading: .60 at k = 5 means three of the first five results are relevant.
    Use when: people look at the first results only, and wrong ones waste their time.
    Not when: nothing may be missed, or queries differ widely in their number of relevant documents.
    """
    divisor = np.full(len(ranking), float(k)) if over == "k" else ranking.count_shown(k)
    return ratio(count_relevant(ranking, k, min_relevance), divisor)


def _reachable(ranking: Ranking, k: int | None, *, capped: bool, min_relevance: float) -> Floats | None:
    """The highest recall of each query: k documents hold no more than k relevant ones. NaN where there are none."""
    if k is None or capped:
        return None
    relevant = ranking.num_relevant(min_relevance)
    return ratio(np.minimum(relevant, k), relevant, empty=np.nan)


@measure(cutoff="required", expected=expected.recall, ceiling=_reachable, ignores_zeros=True)
def recall(ranking: Ranking, k: int, *, capped: bool = False, min_relevance: float = 1) -> Floats:
    """Share of all relevant documents that the top k holds.

    Definition: relevant documents in the top k / all relevant documents. Gold given as an AND of ORs counts
      satisfied groups: a group is satisfied when any of its documents is in the top k.
    Parameters:
      capped: divide by min(k, all relevant), so that 1 can be reached with more relevant documents than k (R_cap).
    Odd cases: without relevant documents it is undefined; plain recall@k cannot reach 1 when there are more than k.
    Reference: Manning, Raghavan & Schuetze, 2008, ch. 8; capped: Thakur et al., BEIR, 2021.
    Agrees with: plain: trec_eval recall_k, ranx, ir_measures R@k; capped: BEIR's R_cap.
    Reading: .70 at k = 5 means that seven in ten relevant documents are among the first five.
    Use when: nothing may be missed: first-stage retrieval, the context of a generator, legal or medical search.
    Not when: the order within the top k matters.
    """
    hits, total = _count_recalled(ranking, k, min_relevance)
    return ratio(hits, np.minimum(total, k) if capped else total, empty=np.nan)


def _count_recalled(ranking: Ranking, k: int, min_relevance: float) -> tuple[Ints, Ints]:
    """Count what recall counts, in the top k and in all: documents, or groups of gold."""
    if ranking.subtopics is not None and ranking.subtopics.gold:
        return _groups(ranking, k, min_relevance)
    return count_relevant(ranking, k, min_relevance), ranking.num_relevant(min_relevance)


def _groups(ranking: Ranking, k: int, min_relevance: float) -> tuple[Ints, Ints]:
    """Count each query's satisfied gold groups and all of them."""
    assert ranking.subtopics is not None
    seen = np.zeros(len(ranking.pool_grade), dtype=bool)
    seen[ranking.pool_of_hit[ranking.within(k)]] = True
    enough = ranking.pool_grade[ranking.subtopics.pool] >= min_relevance
    pool, group = ranking.subtopics.pool[enough], ranking.subtopics.subtopic[enough]
    groups, member = np.unique(group, return_inverse=True)
    owner = np.zeros(len(groups), dtype=np.int64)
    owner[member] = ranking.pool_query[pool]
    satisfied = np.zeros(len(groups), dtype=bool)
    satisfied[member[seen[pool]]] = True
    return segments.count(owner[satisfied], len(ranking)), segments.count(owner, len(ranking))


@measure(cutoff="required", ignores_zeros=True)
def f1(
    ranking: Ranking,
    k: int,
    *,
    beta: float = 1,
    over: Literal["k", "retrieved"] = "k",
    min_relevance: float = 1,
) -> Floats:
    """Harmonic mean of precision and recall in the top k.

    Definition: (1 + beta^2) P R / (beta^2 P + R), 0 when both are 0.
    Parameters:
      beta: how much more recall weighs than precision (beta itself, not its square).
      over: the divisor of precision, as for precision.
    Odd cases: trec_eval's set_F.x takes beta squared; ours is set_f1(beta=...) and takes beta.
    Reference: van Rijsbergen, Information Retrieval, 1979.
    Agrees with: ranx f1@k; scikit-learn's fbeta on the top k.
    Reading: close to the smaller of precision and recall.
    Use when: one number must combine both, e.g. to choose k.
    Not when: the order within the top k matters.
    """
    precise = precision.spec.function(ranking, k, over=over, min_relevance=min_relevance)
    recalled = ratio(*_count_recalled(ranking, k, min_relevance))
    weight = beta * beta
    return ratio((1 + weight) * precise * recalled, weight * precise + recalled)


def f_measure(hits: Ints, retrieved: Ints | Floats, relevant: Ints, beta: float) -> Floats:
    """F of hit counts, retrieved and relevant numbers."""
    weight = beta * beta
    return ratio((1 + weight) * hits, np.where(hits > 0, retrieved + weight * relevant, 0))


@measure(cutoff="required", ideal_is_one=True, expected=expected.hit_rate, ignores_zeros=True)
def hit_rate(ranking: Ranking, k: int, *, min_relevance: float = 1) -> Floats:
    """1 if the top k holds a relevant document, else 0; its mean is the share of answered queries.

    Definition: 1 if at least one of the first k documents is relevant, else 0. Also called success@k.
    Odd cases: none; a query without relevant documents is undefined.
    Agrees with: trec_eval success_k, ranx hit_rate@k, ir_measures Success@k.
    Reading: .80 at k = 5 means that one query in five finds nothing in its first five results.
    Use when: one good document is enough.
    Not when: several relevant documents are needed.
    """
    return (count_relevant(ranking, k, min_relevance) > 0).astype(np.float64)


@measure(ideal_is_one=True, expected=expected.reciprocal_rank, ignores_zeros=True)
def reciprocal_rank(ranking: Ranking, k: int | None, *, min_relevance: float = 1) -> Floats:
    """1 / rank of the first relevant document, 0 if there is none; the mean is MRR.

    Definition: 1 / (rank of the first relevant document in the top k), else 0.
    Odd cases: chunks folded to documents are ranked after folding. trec_eval ignores a cutoff here; this one does not.
    Reference: Voorhees, TREC-8 Question Answering Track, 1999.
    Agrees with: trec_eval recip_rank, ranx mrr, ir_measures RR (with ties broken the same way).
    Reading: MRR .71 is as if the first relevant document came at rank 1.4 in every query (1 / .71).
    Use when: a question has a single answer and only the first hit counts.
    Not when: several documents are wanted: everything after the first relevant document is ignored.
    """
    mask = ranking.within(k) & ranking.relevant(min_relevance)
    query, rank = ranking.query[mask], ranking.rank[mask]
    first = segments.changes(query)
    values = np.zeros(len(ranking))
    values[query[first]] = 1.0 / rank[first]
    return values


@measure(
    ignores_zeros=True,
    ideal_is_one=True,
    expected=expected.average_precision,
    inherits=lambda p: frozenset({"min_relevance", "max_grade"} if p["gain"] == "graded" else {"min_relevance"}),
)
def average_precision(
    ranking: Ranking,
    k: int | None,
    *,
    over: Literal["all", "min_k", "found"] = "all",
    gain: Literal["binary", "graded"] = "binary",
    max_grade: float | None = None,
    min_relevance: float = 1,
) -> Floats:
    """Mean of the precision at each relevant rank; the mean over queries is MAP.

    Definition: sum over relevant ranks in the top k of precision at that rank / all relevant documents.
    Parameters:
      over: 'all' divides by all relevant documents, 'min_k' by min(k, all relevant), 'found' by those found.
      gain: 'graded' multiplies each term by grade / max_grade (grade 2 of 2 weighs 1, grade 1 weighs .5).
    Odd cases: with a cutoff, 1 is out of reach when there are more relevant documents than k. AP@3 of one input is
      .5000, .6667 and 1.0000 under the three divisors. gain='graded' has an ideal below 1 and can fall when a better
      document moves up: grades 0,1,2 in ranked order score .4583, but 0,2,1 score .4167. over='found' rises when a late
      relevant document is lost, so it can reward forgetting.
    Reference: Buckley & Voorhees, Evaluating evaluation measure stability, 2000.
    Agrees with: over='all': trec_eval map and map_cut, ranx, ir_measures AP; over='min_k': sentence-transformers;
      over='found': torchmetrics, ragas, deepeval, AutoRAG.
    Reading: between precision and recall: .50 means roughly that relevant documents are every second one.
    Use when: overall quality over the whole list counts and judgments are binary.
    Not when: grades matter (ndcg), or only the first screen does (precision).
    """
    relevant = ranking.relevant(min_relevance)
    mask = relevant & ranking.within(k)
    terms = precision_at_hits(ranking, relevant)
    if gain == "graded":
        terms = terms * (ranking.grade / require_max_grade(max_grade, "average_precision(gain='graded')"))
    divisor = ranking.num_relevant(min_relevance)
    if over == "min_k" and k is not None:
        divisor = np.minimum(divisor, k)
    elif over == "found":
        divisor = np.where(divisor > 0, np.maximum(ranking.count(mask), 1), 0)
    return ratio(ranking.total(terms, mask), divisor, empty=np.nan)


@measure(
    cutoff="required",
    over="run",
    needs_relevant=False,
    ideal_is_one=True,
    expected=expected.hit_rate,
    ignores_zeros=True,
)
def coverage(ranking: Ranking, k: int, *, min_relevance: float = 1) -> Floats:
    """Share of the run's queries whose top k holds a relevant document.

    Definition: 1 if the top k holds a relevant document, else 0, averaged over the queries of the run.
    Odd cases: the only measure that averages over the run's queries, judged or not; all others average over the judged
      ones. A query without judgments counts as 0 here.
    Agrees with: nothing under this name; hit_rate@k is the same per query, averaged over the judged queries.
    Reading: .90 means that nine in ten of the queries that were asked got something useful.
    Use when: traffic is sampled and some queries have no judged answer at all.
    Not when: systems with different query sets are compared.
    """
    return (count_relevant(ranking, k, min_relevance) > 0).astype(np.float64)


@measure(cutoff="required", needs_relevant=True, bounds=(0, np.inf), ignores_zeros=True)
def hits(ranking: Ranking, k: int, *, min_relevance: float = 1) -> Floats:
    """Count the relevant documents in the top k.

    Definition: relevant documents in the top k.
    Agrees with: ranx hits@k.
    Reading: a plain count; the mean is relevant documents per query.
    Use when: counts are easier to explain than shares.
    Not when: queries differ widely in their number of relevant documents.
    """
    return count_relevant(ranking, k, min_relevance).astype(np.float64)


@measure(cutoff="none", ideal_is_one=True, ignores_zeros=True)
def r_precision(ranking: Ranking, _k: None, *, multiple: float = 1, min_relevance: float = 1) -> Floats:
    """Precision at rank R, the number of relevant documents.

    Definition: relevant documents in the top c / c, with c = R times `multiple`, rounded as trec_eval does
      (c = floor(multiple R + .9)).
    Parameters:
      multiple: look at this multiple of R (trec_eval's Rprec_mult).
    Odd cases: the ideal ranking scores 1 for multiples up to 1 and less beyond.
    Reference: Buckley & Voorhees, 2000.
    Agrees with: trec_eval Rprec and Rprec_mult_x, ranx r_precision, ir_measures Rprec.
    Reading: .40 means that of the first R results two in five are relevant; precision and recall are equal there.
    Use when: queries differ in their number of relevant documents.
    Not when: R is 1 for most queries (then it is precision@1).
    """
    cutoff = np.floor(multiple * ranking.num_relevant(min_relevance) + 0.9)
    mask = ranking.relevant(min_relevance) & (ranking.rank <= cutoff[ranking.query])
    return ratio(ranking.count(mask), cutoff)


@measure(cutoff="none", ideal_is_one=True)
def interpolated_precision(
    ranking: Ranking,
    _k: None,
    *,
    recall: float = 0.0,
    rounding: Literal["nearest", "trec9"] = "nearest",
    min_relevance: float = 1,
) -> Floats:
    """Highest precision at any rank from a recall level on.

    Definition: the largest precision at any rank where at least c relevant documents have been seen, c being the recall
      level times R in whole documents.
    Parameters:
      recall: the recall level, 0 to 1; interpolated_precision@0.1 is short for it.
      rounding: 'nearest' rounds c as trec_eval 10 does; 'trec9' takes floor(x + .9) as version 9 did.
    Odd cases: the two versions of trec_eval round differently, so their 11-point averages differ.
    Reference: Manning, Raghavan & Schuetze, 2008, ch. 8.
    Agrees with: trec_eval iprec_at_recall_x, ir_measures IPrec@x (version 9's rounding).
    Reading: one point of the recall-precision curve.
    Use when: a recall-precision curve is drawn.
    Not when: you want a single number.
    """
    return _interpolate(ranking, (recall,), rounding, min_relevance)


@measure(cutoff="none", ideal_is_one=True)
def eleven_point(
    ranking: Ranking,
    _k: None,
    *,
    points: tuple[float, ...] = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0),
    rounding: Literal["nearest", "trec9"] = "nearest",
    min_relevance: float = 1,
) -> Floats:
    """Mean of the interpolated precision at eleven recall levels.

    Definition: mean of interpolated_precision at recall 0, .1, .2 ... 1.
    Parameters:
      points: the recall levels to average over.
      rounding: as for interpolated_precision.
    Odd cases: kept for comparison with old results; average_precision has replaced it.
    Reference: Manning, Raghavan & Schuetze, 2008, ch. 8.
    Agrees with: trec_eval 11pt_avg.
    Reading: the area under the recall-precision curve.
    Use when: results must be comparable with old figures.
    Not when: in all other cases use average_precision.
    """
    return _interpolate(ranking, points, rounding, min_relevance)


def _interpolate(
    ranking: Ranking, points: tuple[float, ...], rounding: Literal["nearest", "trec9"], min_relevance: float
) -> Floats:
    relevant = ranking.relevant(min_relevance)
    query, nth = ranking.query[relevant], segments.tally(relevant, ranking.query)[relevant]
    height = nth / ranking.rank[relevant]
    number = ranking.num_relevant(min_relevance)
    total = np.zeros(len(ranking))
    for point in points:
        need = np.floor(point * number + (0.5 if rounding == "nearest" else 0.9))[query]
        mask = nth >= need
        best = np.zeros(len(ranking))
        np.maximum.at(best, query[mask], height[mask])
        total += best
    return total / len(points)


@measure(cutoff="none", aggregate="geometric", ideal_is_one=True, ignores_zeros=True)
def geometric_average_precision(ranking: Ranking, _k: None, *, min_relevance: float = 1) -> Floats:
    """Average precision, averaged over queries by the geometric mean (GMAP).

    Definition: exp of the mean of log max(average precision, .00001).
    Odd cases: per-query values are plain average precision; only the mean differs.
    Reference: Robertson, On GMAP and other transformations, CIKM 2006.
    Agrees with: trec_eval gm_map.
    Reading: far below MAP means that some queries fail badly.
    Use when: poorly performing queries matter most.
    Not when: many queries score 0 (the floor decides then).
    """
    values: Floats = average_precision.spec.function(ranking, None, min_relevance=min_relevance)
    return values
