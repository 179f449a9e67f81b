"""Scores that are estimates, because only a sample of the documents was judged, and how uncertain that makes them."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from assay.data.sampling import Influence, Sampling
from assay.data.scores import Counts, Scores
from assay.data.status import MISSING, SCORED, UNDEFINED, UNJUDGED
from assay.errors import InputError, UsageError
from assay.measures import sampled
from assay.messages import say
from assay.results.sampled import SampledDifference, SampledMean, SampledScores
from assay.stats.inputs import check_share
from assay.stats.intervals import Interval, mean_interval, note_bounds
from assay.stats.sampling import sampling_covariance, sampling_error

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.analysis.settings import Settings
    from assay.data.judgments import Judgments
    from assay.data.ranking import Ranking
    from assay.data.segments import Bools, Floats

_MOST_UNJUDGED = 0.05  # of the documents that were drawn; more of them may differ from those that were judged


def settle_sampled(settings: Settings, judgments: Judgments, *, named: bool) -> Settings:
    """For judgments of a sample, keep the measures that can be estimated; named ones that cannot be are refused."""
    if judgments.inclusion is None:
        return settings
    kept = sampled.pick_estimable(settings.measures)
    lost = [label for label in settings.measures if label not in kept]
    if (lost and named) or not kept:
        raise UsageError(say("sample.not_estimable", measures=lost, names=sampled.estimable()))
    protocol = settings.protocol
    protocol = replace(
        protocol,
        measures={label: text for label, text in protocol.measures.items() if label in kept},
        primary=protocol.primary if protocol.primary in kept else None,
        headline=tuple(label for label in protocol.headline if label in kept),
    )
    notes = (*settings.notes, *([say("sample.left_out", measures=lost)] if lost else []))
    return replace(settings, protocol=protocol, measures=kept, notes=notes)


def score_sample(ranking: Ranking, inclusion: Floats, settings: Settings, weights: Floats | None) -> Scores:
    """Estimate all measures from judgments of a sample."""
    if ranking.expected or ranking.listed_position is not None:
        raise UsageError(say("sample.not_folded"))
    sample = _keep_judged(ranking, inclusion)
    found = {label: sampled.estimate(measure, sample) for label, measure in settings.measures.items()}
    size = len(ranking)
    values, status = np.full((size, len(found)), np.nan), np.full((size, len(found)), UNJUDGED, dtype=np.uint8)
    counts: dict[str, Counts] = {}
    for i, (label, one) in enumerate(found.items()):
        values[:, i], status[:, i] = _cells(ranking, one.values, settings)
        counts[label] = Counts(
            queries=int((~np.isnan(values[:, i])).sum()),
            missing=int((status[:, i] == MISSING).sum()),
            undefined=int((status[:, i] == UNDEFINED).sum()),
            unjudged=int((ranking.in_run & ~ranking.judged).sum()),
        )
    influence = Influence(np.stack([one.influence for one in found.values()], 1), sample.inclusion, sample.query)
    cutoffs = [measure.k for measure in settings.measures.values() if measure.k is not None]
    sampling = Sampling(
        errors=np.stack([np.sqrt(sample.variance(one.influence)) for one in found.values()], 1),
        judged=len(sample.grade),
        pooled=round(float(sample.weight.sum())),
        unpooled=_estimate_outside_pool(sample, min(cutoffs)) if cutoffs else None,
        influence=influence,
        degrees=sample.degrees,
    )
    columns = tuple(measure.column(label) for label, measure in settings.measures.items())
    return Scores(
        "run", ranking.query_ids, columns, values, status, counts, settings.protocol, weights, asked=settings.asked,
        sampling=sampling,
    )  # fmt: skip


def _cells(ranking: Ranking, raw: Floats, settings: Settings) -> tuple[Floats, np.ndarray]:
    """Values and statuses of one measure, by the rules of the protocol."""
    protocol = settings.protocol
    value, status = raw.copy(), np.full(len(raw), SCORED, dtype=np.uint8)
    undefined = ranking.judged & np.isnan(raw)
    value[undefined] = np.nan if protocol.undefined == "skip" else 0.0
    status[undefined] = UNDEFINED
    missing = ranking.judged & ~ranking.in_run
    value[missing] = np.nan if protocol.missing == "skip" else 0.0
    status[missing] = MISSING
    value[~ranking.judged] = np.nan
    status[~ranking.judged] = UNJUDGED
    return value, status


def _keep_judged(ranking: Ranking, inclusion: Floats) -> sampled.SampledRanking:
    """Leave the documents that were judged; a few that were drawn and not judged lower the probability of the rest."""
    judged = ranking.pool_grade >= 0
    lost = 1 - judged.mean()
    if lost > _MOST_UNJUDGED:
        raise InputError(
            say("sample.unfinished", n=int((~judged).sum()), drawn=len(judged)),
            hint=say("sample.finish", n=int(judged.sum())),
        )
    size = len(ranking)
    share = np.bincount(ranking.pool_query[judged], minlength=size) / np.maximum(
        np.bincount(ranking.pool_query, minlength=size), 1
    )
    return sampled.SampledRanking.of(ranking, inclusion * share[ranking.pool_query], judged)


def _estimate_outside_pool(sample: sampled.SampledRanking, k: int) -> float:
    """The estimated share of the documents in the top k that were not in the pool."""
    shown = sample.ranking.count_shown(k)
    kept = sample.ranking.judged & (shown > 0)
    covered = sample.total((sample.rank <= k).astype(np.float64))
    return float(np.clip(1 - covered[kept].sum() / max(float(shown[kept].sum()), 1.0), 0, 1))


def sampled_scores(systems: Sequence[Scores], *, confidence_level: float = 0.95) -> SampledScores:
    """How uncertain the means of sampled judgments are, and the differences from the first system.

    Two intervals, separately: that of judging only a sample, for these very queries, and that of the queries being a
    sample, too, which includes the first.

    >>> import assay
    >>> drawn = [("q1", "a", 1, 1.0), ("q1", "b", 0, 0.5), ("q2", "a", 0, 1.0), ("q2", "c", 1, 0.5)]
    >>> rows = [dict(zip(("query_id", "doc_id", "grade", "inclusion"), one)) for one in drawn]
    >>> run = {"q1": {"a": 2, "b": 1}, "q2": {"a": 2, "c": 1}}
    >>> found = assay.sampled_scores([assay.evaluate(rows, run, "P@2")])
    >>> found.means[0].estimate
    0.75
    """
    check_share(confidence_level, "confidence_level")
    given = [scores for scores in systems if scores.sampling is not None]
    if not given or len(given) < len(systems):
        raise UsageError(say("sample.no_sampling"))
    first = given[0]
    means = tuple(
        _mean(scores, label, confidence_level) for scores in given for label in first.labels if label in scores.labels
    )
    differences = tuple(
        _difference(first, scores, label, confidence_level)
        for scores in given[1:]
        for label in first.labels
        if label in scores.labels
    )
    assert first.sampling is not None
    return SampledScores(
        first.name, first.sampling.judged, first.sampling.pooled, first.judged, confidence_level, means, differences,
        {scores.name: scores.sampling.unpooled for scores in given if scores.sampling and scores.sampling.unpooled},
    )  # fmt: skip


def _share(scores: Scores, kept: Bools) -> Floats:
    """The weight of each query in a mean."""
    weight = np.ones(len(kept)) if scores.weights is None else scores.weights
    weight = np.where(kept, weight, 0.0)
    return np.asarray(weight / weight.sum()) if weight.sum() else weight


def _mean(scores: Scores, label: str, level: float) -> SampledMean:
    assert scores.sampling is not None
    place, column = scores.labels.index(label), scores.about(label)
    values = scores.values[:, place]
    kept = ~np.isnan(values)
    share = _share(scores, kept)
    if column.aggregate == "sum":
        share = kept.astype(np.float64)
    variances = (share * np.nan_to_num(scores.sampling.errors[:, place])) ** 2
    error, reach = sampling_error(variances, scores.sampling.degrees, level)
    estimate = scores[label]
    both = mean_interval(
        values, weights=scores.weights, clusters=scores.clusters, bounds=column.limits(values), confidence_level=level
    )
    return SampledMean(
        scores.name, label, estimate, error, _interval(estimate, reach, level, int(kept.sum()), column.bounds),
        both if column.is_mean else Interval(estimate, None, None, level, "t", int(kept.sum()), say("sample.total")),
    )  # fmt: skip


def _interval(
    estimate: float, reach: float, level: float, n: int, bounds: tuple[float | None, float | None] = (None, None)
) -> Interval:
    if not reach > 0:
        return Interval(estimate, None, None, level, "sampling", n, say("sample.no_spread"))
    low, high = estimate - reach, estimate + reach
    low = low if bounds[0] is None else max(low, bounds[0])
    high = high if bounds[1] is None else min(high, bounds[1])
    return note_bounds(Interval(estimate, low, high, level, "sampling", n), bounds)


def _difference(first: Scores, other: Scores, label: str, level: float) -> SampledDifference:
    one, two = first.column(label), other.column(label)
    kept = ~np.isnan(one) & ~np.isnan(two)
    change = np.where(kept, two - one, np.nan)
    share = _share(first, kept)
    if first.about(label).aggregate == "sum":
        share = kept.astype(np.float64)
    estimate = float(math.fsum(share[kept] * change[kept]))
    error = difference_error(first, other, label, share, level)
    sampling = (
        Interval(estimate, None, None, level, "sampling", int(kept.sum()), say("sample.needs_judgments"))
        if error is None
        else _interval(estimate, error[1], level, int(kept.sum()))
    )
    both = mean_interval(change, weights=first.weights, clusters=first.clusters, confidence_level=level)
    return SampledDifference(other.name, label, estimate, error and error[0], sampling, both)


def difference_error(
    first: Scores, other: Scores, label: str, share: Floats, level: float
) -> tuple[float, float] | None:
    """The error of a difference of means from judging a sample, and how far its interval reaches; None if unknown."""
    mine, theirs = first.sampling, other.sampling
    assert mine is not None and theirs is not None
    a, b = mine.influence, theirs.influence
    if a is None or b is None or first.query_ids != other.query_ids or len(a.query) != len(b.query):
        return None
    change = b.values[:, other.labels.index(label)] - a.values[:, first.labels.index(label)]
    variance = sampling_covariance(change, change, a.inclusion, a.query, len(share))
    return sampling_error(share**2 * variance, mine.degrees, level)
