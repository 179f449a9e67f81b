"""Measures that add up gains: nDCG and its family, rank-biased precision, expected reciprocal rank."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from assay.data import segments
from assay.data.segments import ratio
from assay.errors import UsageError
from assay.measures import expected
from assay.measures.registry import measure
from assay.measures.scale import require_max_grade
from assay.messages import say

if TYPE_CHECKING:
    from assay.data.ranking import Ranking
    from assay.data.segments import Bools, Floats, Ints

_EXP_LIMIT = 1000.0

Gain = Literal["linear", "exp", "binary"]


def gains(grades: Floats, gain: Gain | Mapping[float, float], min_relevance: float | None) -> Floats:
    """Turn grades into gains; negative grades are worth nothing."""
    if gain == "binary":
        return (grades >= max(1 if min_relevance is None else min_relevance, 0)).astype(np.float64)
    worth = np.maximum(grades, 0.0)
    if gain == "exp":
        if worth.max(initial=0.0) > _EXP_LIMIT:
            raise UsageError(
                say(
                    "the exponential gain of grade {grade:g} is too large: use linear gain or a table",
                    grade=worth.max(),
                )
            )
        worth = np.exp2(worth) - 1.0
    elif isinstance(gain, Mapping):
        worth = worth.copy()
        for grade, value in gain.items():
            worth[grades == grade] = value
        worth[grades < 0] = 0.0
    return worth if min_relevance is None else np.where(grades >= min_relevance, worth, 0.0)


def discount(rank: Ints) -> Floats:
    """1 / log2(rank + 1)."""
    return 1.0 / np.log2(rank + 1)


class Ideal(NamedTuple):
    """Positive gains of the pool in their best order, with their places; `size` is the number of queries."""

    query: Ints
    gain: Floats
    place: Ints
    size: int

    @property
    def start(self) -> Ints:
        """Row at which each query's gains begin."""
        return segments.starts(self.query, self.size)

    @property
    def number(self) -> Ints:
        """Number of each query's gains."""
        return segments.count(self.query, self.size)


def ideal_order(ranking: Ranking, pool: Floats) -> Ideal:
    """Sort each query's positive gains in falling order."""
    query, gain = ranking.pool_query, pool[ranking.best_first]
    if ((gain[1:] > gain[:-1]) & (query[1:] == query[:-1])).any():  # a table may pay less for a higher grade
        gain = pool[np.lexsort((-pool, query))]
    useful = gain > 0
    return Ideal(query[useful], gain[useful], ranking.pool_place[useful], len(ranking))


def ideal_dcg(ranking: Ranking, pool: Floats, k: int | None) -> Floats:
    """DCG of the best possible order, cut at k."""
    best = ideal_order(ranking, pool)
    mask = np.ones(len(best.place), dtype=bool) if k is None else best.place <= k
    terms = best.gain[mask] * discount(best.place[mask])
    return segments.total(terms, best.query[mask], len(ranking))


def dcg_of(ranking: Ranking, worth: Floats, k: int | None) -> Floats:
    """DCG of the lists cut at k, or its expectation over ties."""
    if ranking.expected:
        return ranking.total(worth * expected.mean_discount(ranking, k), np.ones(len(worth), dtype=bool))
    return ranking.total(worth * discount(ranking.rank), ranking.within(k))


def _threshold_for_binary(params: Mapping[str, Any]) -> frozenset[str]:
    """Take the protocol's threshold only where gains are binary."""
    return frozenset({"min_relevance"} if params["gain"] == "binary" else ())


@measure(ideal_is_one=True, inherits=_threshold_for_binary, expected="itself", ignores_zeros=True)
def ndcg(
    ranking: Ranking,
    k: int | None,
    *,
    gain: Literal["linear", "exp", "binary"] | Mapping[float, float] = "linear",
    ideal: Literal["cut", "full"] = "cut",
    min_relevance: float | None = None,
) -> Floats:
    """Discounted cumulative gain of the list divided by that of the best possible order.

    Definition: DCG@k / ideal DCG, where DCG@k = sum over ranks r = 1..k of gain(r) / log2(r + 1).
    Parameters:
      gain: 'linear' (the grade itself), 'exp' (2^grade - 1), 'binary' (1 from min_relevance on), or a table such as
        {1: 0.5, 2: 1.0}; grades that the table leaves out keep their own value.
      ideal: 'cut' takes the best k documents for the ideal, 'full' all of them.
      min_relevance: grades below it gain nothing. For binary gain it is the protocol's threshold unless given; linear
        and exponential gains ignore the protocol's threshold.
    Odd cases: one input has nDCG@3 .6075 (linear, cut), .5571 (linear, full), .5767 (exp, cut), .5514 (exp, full) and
      .7654 (binary): always name the variant. Without positive gains it is undefined. Unjudged documents gain 0. With
      ideal='full' a list cut at k cannot always reach 1.
    Reference: Jarvelin & Kekalainen, Cumulated gain-based evaluation of IR techniques, TOIS 2002; exponential gain:
      Burges et al., Learning to rank using gradient descent, ICML 2005.
    Agrees with: linear, cut: trec_eval ndcg_cut, ranx ndcg, ir_measures nDCG, scikit-learn ndcg_score; linear, full:
      trec_eval -M k -m ndcg; exp, cut: gdeval, ranx ndcg_burges, OpenSearch; exp, full: Quepid; binary, cut:
      sentence-transformers.
    Reading: share of the best possible gain, with early ranks counting most; .85 is a good reranker on easy data.
    Use when: grades and order both matter: the usual choice for reranking.
    Not when: judgments are very incomplete (bpref, or judged_only=true), or people read only one result.
    """
    key = (tuple(sorted(gain.items())) if isinstance(gain, Mapping) else gain, min_relevance)
    depth = k if ideal == "cut" else None
    pool = ranking.once(("gains", *key), lambda: gains(ranking.pool_grade, gain, min_relevance))
    best = ranking.once(("ideal", *key, depth), lambda: ideal_dcg(ranking, pool, depth))
    return ratio(dcg_of(ranking, pool[ranking.pool_of_hit], k), best, empty=np.nan)


@measure(bounds=(0, np.inf), inherits=_threshold_for_binary, ignores_zeros=True)
def dcg(
    ranking: Ranking,
    k: int | None,
    *,
    gain: Literal["linear", "exp", "binary"] | Mapping[float, float] = "linear",
    min_relevance: float | None = None,
) -> Floats:
    """Discounted cumulative gain, not normalised.

    Definition: sum over ranks r = 1..k of gain(r) / log2(r + 1).
    Parameters:
      gain: as for ndcg.
      min_relevance: as for ndcg.
    Odd cases: it has no upper bound, so queries with many relevant documents dominate the mean.
    Reference: Jarvelin & Kekalainen, 2002.
    Agrees with: linear: trec_eval's newer dcg, ranx dcg; exp: ranx dcg_burges.
    Reading: only in comparison with another system on the same queries.
    Use when: the absolute amount of relevance matters.
    Not when: queries differ widely in their number of relevant documents (ndcg).
    """
    return dcg_of(ranking, gains(ranking.grade, gain, min_relevance), k)


@measure(cutoff="none", needs_relevant=False, bounds=(0, 1.0), swap_safe=False)
def ndcg_rel(
    ranking: Ranking,
    _k: None,
    *,
    gain: Literal["linear", "exp", "binary"] | Mapping[float, float] = "linear",
) -> Floats:
    """Mean of nDCG taken at the rank of each relevant document.

    Definition: mean over documents with positive gain of nDCG at their rank; for one that was not retrieved, the list's
      DCG / the full ideal DCG.
    Parameters:
      gain: as for ndcg.
    Odd cases: experimental in trec_eval; the ideal list scores 1. Moving a better document up can lower it, because the
      nDCG at the places it leaves is no longer averaged.
    Agrees with: trec_eval ndcg_rel.
    Reading: as ndcg, with deep ranks counting more.
    Use when: trec_eval's figure is needed.
    Not when: in all other cases use ndcg.
    """
    pool = gains(ranking.pool_grade, gain, None)
    worth, best = pool[ranking.pool_of_hit], ideal_order(ranking, pool)
    sums = segments.running(best.gain * discount(best.place), best.query)
    reached = segments.running(worth * discount(ranking.rank), ranking.query)
    useful = worth > 0
    query = ranking.query[useful]
    place = np.minimum(ranking.rank[useful], best.number[query])
    at_rank = reached[useful] / sums[best.start[query] + place - 1]
    missed = best.number - segments.count(query, len(ranking))
    final = ratio(
        dcg_of(ranking, worth, None), segments.total(best.gain * discount(best.place), best.query, len(ranking))
    )
    return ratio(segments.total(at_rank, query, len(ranking)) + missed * final, best.number, empty=np.nan)


@measure(cutoff="none", swap_safe=False)
def r_ndcg(
    ranking: Ranking,
    _k: None,
    *,
    gain: Literal["linear", "exp", "binary"] | Mapping[float, float] = "linear",
    min_relevance: float = 1,
) -> Floats:
    """Mean of nDCG taken where the ideal gain changes.

    Definition: with c documents of the highest gain, d of the next and so on: the mean of nDCG at ranks c, c + d ...,
      and at the end of the list when it is longer than that by more than one.
    Parameters:
      gain: as for ndcg.
    Odd cases: experimental in trec_eval, whose last term depends on the list's length. Moving a better document up
      within a level changes nothing.
    Agrees with: trec_eval Rndcg.
    Reading: as ndcg.
    Use when: trec_eval's figure is needed.
    Not when: in all other cases use ndcg.
    """
    del min_relevance
    size = len(ranking)
    pool = gains(ranking.pool_grade, gain, None)
    worth, best = pool[ranking.pool_of_hit], ideal_order(ranking, pool)
    sums = segments.running(best.gain * discount(best.place), best.query)
    last = np.append((best.query[1:] != best.query[:-1]) | (best.gain[1:] != best.gain[:-1]), True)[: len(best.query)]
    query, place = best.query[last], best.place[last]
    terms = ratio(_dcg_at(ranking, worth, query, place), sums[last])
    total, number = segments.total(terms, query, size), segments.count(query, size)
    longer = (ranking.retrieved > best.number + 1) & (best.number > 0)
    ideal_total = segments.total(best.gain * discount(best.place), best.query, size)
    total = total + np.where(longer, ratio(dcg_of(ranking, worth, None), ideal_total), 0.0)
    return ratio(total, number + longer, empty=np.nan)


def _dcg_at(ranking: Ranking, worth: Floats, query: Ints, place: Ints) -> Floats:
    """DCG of the list of each given query down to the given rank."""
    reached = np.append(0.0, segments.running(worth * discount(ranking.rank), ranking.query))
    width = int(max(ranking.rank.max(initial=0), place.max(initial=0))) + 2
    row = np.searchsorted(ranking.query * width + ranking.rank, query * width + place, side="right")
    some = row > segments.starts(ranking.query, len(ranking))[query]
    return np.where(some, reached[row], 0.0)


@measure(cutoff="none", needs_relevant=False, bounds=(0, 1.0), ideal_is_one=True, swap_safe=False)
def g(
    ranking: Ranking,
    _k: None,
    *,
    gain: Literal["linear", "exp", "binary"] | Mapping[float, float] = "linear",
) -> Floats:
    """Gain discounted by how much better the list could have been so far.

    Definition: 1 / (all gain) times the sum over documents of gain / log2(2 + cost - result), where result is the gain
      collected so far including this document and cost the ideal gain so far, at least 1 per rank.
    Parameters:
      gain: as for ndcg.
    Odd cases: experimental in trec_eval. Moving a better document up can lower it when grades differ by more than 1.
    Agrees with: trec_eval G.
    Reading: between average_precision and ndcg.
    Use when: trec_eval's figure is needed.
    Not when: in all other cases use ndcg.
    """
    pool = gains(ranking.pool_grade, gain, None)
    worth, best = pool[ranking.pool_of_hit], ideal_order(ranking, pool)
    costs = segments.running(np.maximum(best.gain, 1.0), best.query)
    number = best.number[ranking.query]
    place = np.minimum(ranking.rank, number)
    known = np.append(0.0, costs)[np.where(place > 0, best.start[ranking.query] + place, 0)]
    cost = known + ranking.rank - place
    result = segments.running(worth, ranking.query)
    terms = np.where(worth != 0, worth / np.log2(2 + cost - result), 0.0)
    return ratio(
        segments.total(terms, ranking.query, len(ranking)),
        segments.total(best.gain, best.query, len(ranking)),
        empty=np.nan,
    )


@measure(cutoff="none", ideal_is_one=True)
def binary_g(ranking: Ranking, _k: None, *, min_relevance: float = 1) -> Floats:
    """Relevant documents discounted by the non-relevant ones above them.

    Definition: 1/R sum over retrieved relevant documents of 1 / log2(2 + documents above that are not relevant).
    Odd cases: experimental in trec_eval.
    Agrees with: trec_eval binG.
    Reading: between average_precision and ndcg.
    Use when: trec_eval's figure is needed.
    Not when: in all other cases use ndcg(gain='binary').
    """
    relevant = ranking.relevant(min_relevance)
    wrong_above = ranking.rank - segments.tally(relevant, ranking.query)
    terms = 1.0 / np.log2(2.0 + np.where(relevant, wrong_above, 0))
    return ratio(ranking.total(terms, relevant), ranking.num_relevant(min_relevance))


def _check_persistence(p: float) -> None:
    if not 0 < p < 1:
        raise UsageError(say("the persistence p = {p:g} of rbp must lie between 0 and 1", p=p))


def _scale_parameters(params: Mapping[str, Any]) -> frozenset[str]:
    """Take the protocol's threshold for binary gains, its scale for graded ones."""
    return frozenset({"binary": {"min_relevance"}, "graded": {"max_grade"}}.get(params["gain"], ()))


def _without_grades(ranking: Ranking) -> Bools:
    """Mark the queries that have no document of a positive grade."""
    lacking: Bools = segments.count(ranking.pool_query[ranking.pool_grade > 0], len(ranking)) == 0
    return lacking


@measure(bounds=(0, np.inf), inherits=_scale_parameters, ignores_zeros=True)
def rbp(
    ranking: Ranking,
    k: int | None,
    *,
    p: float = 0.8,
    gain: Literal["binary", "graded", "topic", "raw"] = "binary",
    max_grade: float | None = None,
    min_relevance: float = 1,
) -> Floats:
    """Rank-biased precision: gain seen by a reader who continues to the next rank with probability p.

    Definition: (1 - p) sum over ranks r of gain(r) p^(r - 1).
    Parameters:
      p: persistence; .5 looks at about two documents, .8 at five, .95 at twenty.
      gain: 'binary' (1 from min_relevance on), 'graded' (grade / max_grade), 'topic' (grade / the largest grade of the
        topic, if that exceeds 1), 'raw' (the grade itself).
    Odd cases: ranx's rbp.95 is read as rbp(p=0.95).
      p = .8 on one input is .462 (binary), .295 (topic) and .885 (raw). What unjudged documents could add is
      rbp_residual. Only an endless list of relevant documents would reach 1.
    Reference: Moffat & Zobel, Rank-biased precision for measurement of retrieval effectiveness, TOIS 2008.
    Agrees with: binary: cwl_eval and ir_measures RBP; topic with p=.9: trec_eval 10 rbp; raw: ranx rbp.
    Reading: expected gain per document looked at.
    Use when: you want a user model, or bounds on what is not judged.
    Not when: values of different p are compared.
    """
    _check_persistence(p)
    if gain == "binary":
        worth = ranking.relevant(min_relevance).astype(np.float64)
    else:
        worth = np.maximum(ranking.grade, 0.0)
        if gain == "graded":
            worth = worth / require_max_grade(max_grade, "rbp(gain='graded')")
        elif gain == "topic":
            top = np.zeros(len(ranking))
            np.maximum.at(top, ranking.pool_query, ranking.pool_grade)
            worth = worth / np.maximum(top, 1.0)[ranking.query]
    values = (1 - p) * ranking.total(worth * p ** (ranking.rank - 1.0), ranking.within(k))
    return values if gain == "binary" else np.where(_without_grades(ranking), np.nan, values)


@measure(needs_relevant=False, swap_safe=False, lower_is_better=True)
def rbp_residual(
    ranking: Ranking, k: int | None, *, p: float = 0.8, tail: Literal["always", "trec"] = "always"
) -> Floats:
    """How much rbp could still rise if every document not judged, seen or unseen, were relevant.

    Definition: 1 - (1 - p) sum over ranks r of judged documents of p^(r - 1).
    Parameters:
      p: persistence, as for rbp.
      tail: 'always' counts the unseen ranks below the list; 'trec' gives 0 when every retrieved document is judged.
    Odd cases: trec_eval 10 forgets the unseen ranks when the list holds no unjudged document. Moving a judged document
      up lowers the value, as it should.
    Reference: Moffat & Zobel, 2008.
    Agrees with: tail='trec', p=.9: trec_eval 10 rbp_resid.
    Reading: rbp .40 with residual .10 means: between .40 and .50.
    Use when: rbp is reported.
    Not when: you want a measure of quality, which it is not.
    """
    _check_persistence(p)
    mask = ranking.within(k) & ranking.is_judged
    left = 1.0 - (1 - p) * ranking.total(p ** (ranking.rank - 1.0), mask)
    if tail == "trec":
        left = np.where(ranking.count(mask) < ranking.count_shown(k), left, 0.0)
    return left


@measure(inherits=lambda _: frozenset({"max_grade"}), needs_relevant=False)
def err(ranking: Ranking, k: int | None, *, max_grade: float | None = None) -> Floats:
    """Expected reciprocal rank: 1 / rank at which a reader who stops at good documents stops.

    Definition: sum over ranks r of 1/r times stop(r) times the product over earlier ranks of 1 - stop, with
      stop = (2^grade - 1) / 2^max_grade.
    Odd cases: one input has ERR@3 .508 with largest grade 3 and .268 with 4, so the scale must be named. Even a perfect
      document stops the reader only with probability 1 - 2^-max_grade, so 1 is out of reach.
    Reference: Chapelle et al., Expected reciprocal rank for graded relevance, CIKM 2009.
    Agrees with: max_grade=4: gdeval and ir_measures ERR; max_grade=3: Quepid on 0-3 grades.
    Reading: as reciprocal_rank, with half-good documents counting in part.
    Use when: navigational queries have graded answers.
    Not when: several documents are needed.
    """
    top = require_max_grade(max_grade, "err")
    stop = (np.exp2(np.minimum(np.maximum(ranking.grade, 0.0), top)) - 1.0) / np.exp2(top)
    going_on = segments.running(1.0 - stop, ranking.query, product=True)
    first = segments.changes(ranking.query)
    reached = np.where(first, 1.0, np.append(1.0, going_on[:-1])[: len(stop)])
    values = ranking.total(reached * stop / ranking.rank, ranking.within(k))
    return np.where(_without_grades(ranking), np.nan, values)
