"""Estimates of measures from judgments of a sample whose inclusion probabilities are known.

Every judged document stands for 1/p documents, p being the probability with which it was drawn (Horvitz & Thompson
1952). A ratio of two such sums is biased where the sum below is uncertain; Beale's estimator (1962) removes the largest
part of that. Standard errors are those of linearised values (Deville 1999).
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
from assay.stats.sampling import sampling_covariance

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from assay.data.ranking import Ranking
    from assay.data.segments import Bools, Floats
    from assay.measures.registry import Measure

_TINY = 1e-12
_SECOND_ORDER = 8.0  # how far linearised errors of ratios are too small: found by simulation, docs/pools.md


class Estimated(NamedTuple):
    """An estimate for each query (NaN where undefined), and how much each judged document moves that of its query.

    The estimate of one query may lie beyond the bounds of its measure; cutting it there would bias the mean.
    """

    values: Floats
    influence: Floats


@dataclass(frozen=True, eq=False)
class Sample:
    """A ranking whose judged documents were drawn with known probabilities; one row per judged document.

    `query`, `grade`, `rank` (infinite if not retrieved) and `inclusion` are in the order of the queries.
    """

    ranking: Ranking
    inclusion: Floats

    @classmethod
    def of(cls, ranking: Ranking, inclusion: Floats, judged: Bools) -> Sample:
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

    def relevant(self, min_relevance: float) -> Bools:
        """Mark the relevant documents."""
        return self.grade >= max(min_relevance, 0.0)

    def total(self, values: Floats) -> Floats:
        """Estimate the sum over the pool of each query."""
        return segments.total(self.weight * values, self.query, len(self.ranking))

    def covariance(self, one: Floats, other: Floats) -> Floats:
        """The estimated covariance of two such sums, for each query."""
        return sampling_covariance(one, other, self.inclusion, self.query, len(self.ranking))

    def variance(self, values: Floats) -> Floats:
        """The estimated variance of such a sum, for each query."""
        return self.covariance(values, values)


class Sum(NamedTuple):
    """A sum for each query, and what it would gain if a document stood for one more."""

    value: Floats
    slope: Floats


def divide(sample: Sample, above: Sum, below: Sum) -> Estimated:
    """Estimate a ratio of two sums; undefined where the sum below is 0."""
    known = below.value > 0
    size = np.where(known, below.value, 1.0)
    spread = sample.variance(below.slope) / size
    both = sample.covariance(above.slope, below.slope) / size
    values = np.where(known, (above.value + both) / (size + spread), np.nan)
    plain = np.where(known, above.value / size, 0.0)
    factor = np.sqrt(1 + _SECOND_ORDER * spread / size) / size
    slope = (above.slope - plain[sample.query] * below.slope) * factor[sample.query]
    return Estimated(values, np.where(known[sample.query], slope, 0.0))


_ESTIMATORS: dict[str, Callable[..., Estimated]] = {}


def estimator(name: str) -> Callable[[Callable[..., Estimated]], Callable[..., Estimated]]:
    """Register the estimator of a measure; it takes a sample, a cutoff and the parameters of the measure."""

    def register(function: Callable[..., Estimated]) -> Callable[..., Estimated]:
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


def estimate(measure: Measure, sample: Sample) -> Estimated:
    """Estimate a measure for every query."""
    if not can_estimate(measure):
        raise UsageError(
            say(
                "{measure} cannot be estimated from sampled judgments; these can: {names}",
                measure=str(measure),
                names=estimable(),
            )
        )
    found = _ESTIMATORS[measure.name](sample, measure.k, **measure.arguments)
    values = found.values.copy()
    if measure.spec.needs_relevant and measure.threshold is not None:
        number = segments.count(sample.query[sample.relevant(measure.threshold)], len(sample.ranking))
        values[number == 0] = np.nan
    return Estimated(values, found.influence)


@estimator("precision")
def _precision(sample: Sample, k: int, *, min_relevance: float, **_: Any) -> Estimated:
    found = (sample.relevant(min_relevance) & (sample.rank <= k)) / k
    return Estimated(sample.total(found), found)


@estimator("num_rel")
def _num_rel(sample: Sample, _k: None, *, min_relevance: float) -> Estimated:
    found = sample.relevant(min_relevance).astype(np.float64)
    return Estimated(sample.total(found), found)


@estimator("num_rel_ret")
def _num_rel_ret(sample: Sample, _k: None, *, min_relevance: float, **_: Any) -> Estimated:
    found = (sample.relevant(min_relevance) & np.isfinite(sample.rank)).astype(np.float64)
    return Estimated(sample.total(found), found)


@estimator("recall")
def _recall(sample: Sample, k: int, *, min_relevance: float, **_: Any) -> Estimated:
    relevant = sample.relevant(min_relevance).astype(np.float64)
    found = relevant * (sample.rank <= k)
    return divide(sample, Sum(sample.total(found), found), Sum(sample.total(relevant), relevant))


@estimator("average_precision")
def _average_precision(sample: Sample, k: int | None, *, min_relevance: float, **_: Any) -> Estimated:
    """Estimate the sum of precisions: the ranks of relevant documents, and of those above them, count 1/p each."""
    relevant = sample.relevant(min_relevance).astype(np.float64)
    order = np.lexsort((sample.rank, sample.query))
    query, rank = sample.query[order], sample.rank[order]
    listed = relevant[order] * (rank <= (np.inf if k is None else k)) * np.isfinite(rank)
    share = listed * ratio(np.ones(len(rank)), rank)
    stands, weight = sample.weight[order], sample.weight[order] * share
    above = _above(stands * listed, query)
    below = segments.total(weight, query, len(sample.ranking))[query] - _above(weight, query) - weight
    own = share * (1 + above)
    slope = np.empty(len(order))
    slope[order] = own + listed * below
    value = segments.total(stands * own, query, len(sample.ranking))
    return divide(sample, Sum(value, slope), Sum(sample.total(relevant), relevant))


def _above(values: Floats, query: Any) -> Floats:
    """The sum of each query's values before each row."""
    return segments.running(values, query) - values


@estimator("dcg")
def _dcg(sample: Sample, k: int | None, *, gain: Any, min_relevance: float | None, **_: Any) -> Estimated:
    found = _discounted(sample, k, gains(sample.grade, gain, min_relevance))
    return Estimated(sample.total(found), found)


@estimator("ndcg")
def _ndcg(sample: Sample, k: int | None, *, gain: Any, ideal: str, min_relevance: float | None, **_: Any) -> Estimated:
    worth = gains(sample.grade, gain, min_relevance)
    found = _discounted(sample, k, worth)
    return divide(sample, Sum(sample.total(found), found), _ideal(sample, worth, k if ideal == "cut" else None))


def _discounted(sample: Sample, k: int | None, worth: Floats) -> Floats:
    listed = np.isfinite(sample.rank) & (sample.rank <= (np.inf if k is None else k))
    return np.where(listed, worth / np.log2(np.where(listed, sample.rank, 1.0) + 1), 0.0)


def _ideal(sample: Sample, worth: Floats, k: int | None) -> Sum:
    """The DCG of the best order of what the judged documents stand for; it bends, so its mean is too small."""
    size = len(sample.ranking)
    order = np.lexsort((-worth, sample.query))
    query, gain = sample.query[order], worth[order]
    counted = sample.weight[order] * (gain > 0)
    end = segments.running(counted, query)
    start = end - counted
    ladder = _Ladder.of(float(end.max(initial=1.0)), k)
    value = segments.total(gain * (ladder.height(end) - ladder.height(start)), query, size)
    # One more document of this gain pushes those of lower gain down by a place.
    push = gain * (ladder.step(end) - ladder.step(start))
    later = segments.total(push, query, size)[query] - _above(push, query) - push
    slope = np.empty(len(order))
    slope[order] = np.where(gain > 0, gain * ladder.step(end) + later, 0.0)
    useful = (worth > 0).astype(np.float64)
    number, error = sample.total(useful), np.sqrt(sample.variance(useful))
    height = ladder.height(number)
    bent = (ladder.height(number + error) + ladder.height(np.maximum(number - error, 0.0))) / 2
    correction = 1 + ratio(height - bent, height)
    return Sum(value * correction, slope * correction[sample.query])


@dataclass(frozen=True)
class _Ladder:
    """The sum of the discounts of the first n ranks, for n that need not be whole."""

    heights: Floats
    k: float

    @classmethod
    def of(cls, most: float, k: int | None) -> _Ladder:
        end = 2 * int(most) + 3 if k is None else min(k, 2 * int(most) + 3)
        steps = 1 / np.log2(np.arange(1, end + 1) + 1)
        return cls(np.concatenate([[0.0], np.cumsum(steps)]), float(end))

    def height(self, n: Floats) -> Floats:
        return np.interp(np.minimum(n, self.k), np.arange(len(self.heights)), self.heights)

    def step(self, n: Floats) -> Floats:
        place = np.minimum(np.floor(n), self.k).astype(np.int64)
        steps = np.append(np.diff(self.heights), 0.0)
        return np.asarray(steps[place])


def pick_estimable(measures: Mapping[str, Measure]) -> dict[str, Measure]:
    """The measures that can be estimated, by their labels."""
    return {label: measure for label, measure in measures.items() if can_estimate(measure)}
