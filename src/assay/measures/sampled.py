"""Estimates of measures from judgments of a sample whose inclusion probabilities are known.

Every judged document stands for 1/p documents, p being the probability with which it was drawn (Horvitz & Thompson
1952). An estimator below puts these sums into the definition of its measure. What is not linear in them is biased
then; the jackknife finds out how much, and how uncertain the estimate is, by leaving out documents in turn.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from assay.data import segments
from assay.data.segments import ratio
from assay.errors import UsageError
from assay.measures.gains import gains
from assay.measures.registry import REGISTRY
from assay.messages import say
from assay.stats.sampling import Jackknife, sampling_covariance

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from assay.data.ranking import Ranking
    from assay.data.segments import Bools, Floats
    from assay.measures.registry import Measure


class Estimated(NamedTuple):
    """An estimate for each query (NaN where undefined), and how much each judged document moves that of its query.

    The estimate of one query may lie beyond the bounds of its measure; cutting it there would bias the mean.
    """

    values: Floats
    influence: Floats


@dataclass(frozen=True, eq=False)
class Documents:
    """Judged documents in the order of their queries, each of which stands for `weight` documents of its pool.

    `rank` is infinite where a document is not retrieved; there are `size` queries.
    """

    query: Any
    grade: Floats
    rank: Floats
    weight: Floats
    size: int

    def relevant(self, min_relevance: float) -> Bools:
        """Mark the relevant documents."""
        return self.grade >= max(min_relevance, 0.0)

    def total(self, values: Floats) -> Floats:
        """Estimate the sum over the pool of each query."""
        return segments.total(self.weight * values, self.query, self.size)


@dataclass(frozen=True, eq=False)
class SampledRanking:
    """A ranking whose judged documents were drawn with known probabilities; one row per judged document.

    `query`, `grade`, `rank` (infinite if not retrieved) and `inclusion` are in the order of the queries.
    """

    ranking: Ranking
    inclusion: Floats

    @classmethod
    def of(cls, ranking: Ranking, inclusion: Floats, judged: Bools) -> SampledRanking:
        """Leave only some rows of the pool, those that were judged."""
        row, hit = np.cumsum(judged) - 1, judged[ranking.pool_of_hit]
        names = ("query", "rank", "position", "grade", "tie_first", "tie_last")
        kept = replace(
            ranking,
            **{name: getattr(ranking, name)[hit] for name in names},
            pool_of_hit=row[ranking.pool_of_hit[hit]],
            pool_query=ranking.pool_query[judged],
            pool_grade=ranking.pool_grade[judged],
        )
        return cls(kept, inclusion[judged])

    @cached_property
    def weight(self) -> Floats:
        """How many documents of the pool each judged one stands for."""
        return 1 / self.inclusion

    @property
    def query(self) -> Any:
        """The query of each document."""
        return self.ranking.pool_query

    @property
    def grade(self) -> Floats:
        """The grade of each document."""
        return self.ranking.pool_grade

    @cached_property
    def rank(self) -> Floats:
        """The rank of each document."""
        found = np.full(len(self.grade), np.inf)
        found[self.ranking.pool_of_hit] = self.ranking.rank
        return found

    @cached_property
    def degrees(self) -> Floats:
        """How many values the error of each query rests on, less one: those of documents that are worth something."""
        worth = segments.count(self.query[self.grade > 0], len(self.ranking))
        return np.asarray(np.maximum(worth - 1.0, 1.0))

    def total(self, values: Floats) -> Floats:
        """Estimate the sum over the pool of each query."""
        return segments.total(self.weight * values, self.query, len(self.ranking))

    def variance(self, values: Floats) -> Floats:
        """The estimated variance of such a sum, for each query."""
        return sampling_covariance(values, values, self.inclusion, self.query, len(self.ranking))

    @cached_property
    def replicates(self) -> tuple[Jackknife, Documents]:
        """The sample with one document left out in turn; only those above grade 0 can matter to most measures."""
        return self.leave_out(self.grade > 0)

    def leave_out(self, counting: Bools) -> tuple[Jackknife, Documents]:
        """The sample with one of the documents that count left out in turn."""
        drawn = Jackknife.of(self.inclusion, self.query, counting, len(self.ranking))
        rows = drawn.item
        return drawn, Documents(drawn.replicate, self.grade[rows], self.rank[rows], drawn.weight, drawn.size)


_ESTIMATORS: dict[str, Callable[..., Floats]] = {}


def estimator(name: str) -> Callable[[Callable[..., Floats]], Callable[..., Floats]]:
    """Register the estimator of a measure; it takes documents, a cutoff and the parameters of the measure."""

    def register(function: Callable[..., Floats]) -> Callable[..., Floats]:
        assert name in REGISTRY
        _ESTIMATORS[name] = function
        return function

    return register


def estimable() -> list[str]:
    """The names of the measures that can be estimated from sampled judgments."""
    return sorted(_ESTIMATORS)


def can_estimate(measure: Measure) -> bool:
    """Return whether a measure, with its parameters, can be estimated from sampled judgments."""
    allowed = {"gain": {"average_precision": {"binary"}}, "over": {"average_precision": {"all"}, "precision": {"k"}}}
    return (
        measure.name in _ESTIMATORS
        and not dict(measure.params).get("judged_only")
        and not measure.arguments.get("capped")
        and all(
            measure.arguments.get(parameter) in values[measure.name]
            for parameter, values in allowed.items()
            if measure.name in values
        )
    )


def estimate(measure: Measure, sample: SampledRanking) -> Estimated:
    """Estimate a measure for every query."""
    if not can_estimate(measure):
        raise UsageError(
            say(
                "{measure} cannot be estimated from sampled judgments; these can: {names}",
                measure=str(measure),
                names=estimable(),
            )
        )
    everything = np.ones(len(sample.grade), dtype=bool)
    drawn, documents = sample.leave_out(everything) if _values_zero(measure) else sample.replicates
    values, influence = drawn.combine(_ESTIMATORS[measure.name](documents, measure.k, **measure.arguments))
    if measure.spec.needs_relevant and measure.threshold is not None:
        relevant = sample.grade >= max(measure.threshold, 0.0)
        values[segments.count(sample.query[relevant], len(sample.ranking)) == 0] = np.nan
    return Estimated(values, influence)


def _values_zero(measure: Measure) -> bool:
    """Return whether documents of grade 0 are worth something, by a threshold of 0 or a table of gains."""
    if measure.threshold is not None and measure.threshold <= 0:
        return True
    gain = measure.arguments.get("gain")
    return not isinstance(gain, str | None) and bool(gains(np.zeros(1), gain, measure.arguments.get("min_relevance")))


@estimator("precision")
def _precision(found: Documents, k: int, *, min_relevance: float, **_: Any) -> Floats:
    return found.total((found.relevant(min_relevance) & (found.rank <= k)) / k)


@estimator("num_rel")
def _num_rel(found: Documents, _k: None, *, min_relevance: float) -> Floats:
    return found.total(found.relevant(min_relevance).astype(np.float64))


@estimator("num_rel_ret")
def _num_rel_ret(found: Documents, _k: None, *, min_relevance: float, **_: Any) -> Floats:
    return found.total((found.relevant(min_relevance) & np.isfinite(found.rank)).astype(np.float64))


@estimator("recall")
def _recall(found: Documents, k: int, *, min_relevance: float, **_: Any) -> Floats:
    relevant = found.relevant(min_relevance).astype(np.float64)
    return _divide(found.total(relevant * (found.rank <= k)), found.total(relevant))


@estimator("average_precision")
def _average_precision(found: Documents, k: int | None, *, min_relevance: float, **_: Any) -> Floats:
    """Estimate the sum of precisions: the ranks of relevant documents, and of those above them, count 1/p each."""
    relevant = found.relevant(min_relevance).astype(np.float64)
    order = np.lexsort((found.rank, found.query))
    query, rank = found.query[order], found.rank[order]
    listed = relevant[order] * (rank <= (np.inf if k is None else k)) * np.isfinite(rank)
    weight = found.weight[order] * listed
    above = segments.running(weight, query) - weight
    sums = segments.total(weight * ratio(1 + above, rank), query, found.size)
    return _divide(sums, found.total(relevant))


@estimator("dcg")
def _dcg(found: Documents, k: int | None, *, gain: Any, min_relevance: float | None, **_: Any) -> Floats:
    return _discount(found, k, gains(found.grade, gain, min_relevance))


@estimator("ndcg")
def _ndcg(found: Documents, k: int | None, *, gain: Any, ideal: str, min_relevance: float | None, **_: Any) -> Floats:
    worth = gains(found.grade, gain, min_relevance)
    return _divide(_discount(found, k, worth), _ideal(found, worth, k if ideal == "cut" else None))


def _divide(above: Floats, below: Floats) -> Floats:
    return np.asarray(np.divide(above, below, out=np.full(len(above), np.nan), where=below > 0))


def _discount(found: Documents, k: int | None, worth: Floats) -> Floats:
    listed = np.isfinite(found.rank) & (found.rank <= (np.inf if k is None else k))
    return found.total(np.where(listed, worth / np.log2(np.where(listed, found.rank, 1.0) + 1), 0.0))


def _ideal(found: Documents, worth: Floats, k: int | None) -> Floats:
    """The DCG of the best order of what the judged documents stand for."""
    order = np.lexsort((-worth, found.query))
    query, gain = found.query[order], worth[order]
    counted = found.weight[order] * (gain > 0)
    end = segments.running(counted, query)
    most = 2 + int(end.max(initial=0.0))
    ranks = np.arange(1, (most if k is None else min(k, most)) + 1)
    heights = np.concatenate([[0.0], np.cumsum(1 / np.log2(ranks + 1))])  # of the first n ranks; n need not be whole
    steps = np.interp(end, np.arange(len(heights)), heights)
    steps -= np.interp(end - counted, np.arange(len(heights)), heights)
    return segments.total(gain * steps, query, found.size)


def pick_estimable(measures: Mapping[str, Measure]) -> dict[str, Measure]:
    """The measures that can be estimated, by their labels."""
    return {label: measure for label, measure in measures.items() if can_estimate(measure)}
