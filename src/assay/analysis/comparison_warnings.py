"""Warnings about a comparison, such as a careful reviewer would give."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from assay.analysis.edges import NamedMean, warn_of_edges
from assay.data.judgments import warn_of_judge
from assay.messages import Said, say

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from assay.analysis.comparable import AlignedScores
    from assay.data.scores import Column, Counts, Scores
    from assay.results.comparison import Rules
    from assay.stats.intervals import Interval

    Means = Mapping[str, Sequence[Interval]]

_FEW_QUERIES = 50
_UNJUDGED = 0.2
_UNEVEN = 0.1
_SMALL_MEAN = 0.05
_SHORT = 0.2
_ALIKE = 1.5  # lists of which the longest is at most so many times as long as the shortest


def find_comparison_warnings(
    systems: Sequence[Scores], data: AlignedScores, rules: Rules, means: Means, *, all_pairs: bool
) -> tuple[Said, ...]:
    """List warnings about the comparison as a whole; what concerns one system alone is in its own warnings."""
    general = [
        *_judge_calibration(systems),
        *_set_versions(systems),
        *_few(data),
        *_multiple(data, rules, all_pairs=all_pairs),
        *_small(data),
        *warn_of_edges(_name_means(data, means)),
    ]
    lists = [*_uneven_gaps(systems, data), *_uneven_lengths(systems, data), *_short(systems, data)]
    return (*general, *lists, *_common(systems, data))


def _name_means(data: AlignedScores, means: Means) -> Iterator[NamedMean]:
    for label in data.labels:
        for name, mean in zip(data.names, means[label], strict=True):
            yield NamedMean(label, name, mean)


def _common(systems: Sequence[Scores], data: AlignedScores) -> Iterator[Said]:
    """Warn if answers are compared on fewer samples, because not all systems have values for all."""
    if data.apart:
        yield say("answers.unshared", labels=list(data.apart))
    size = len({query for scores in systems for query in scores.query_ids})
    for i, label in enumerate(data.labels):
        kept = int((~np.isnan(data.values[:, i]).any(axis=1)).sum())
        if kept < size and data.columns[i].subject == "answers":
            yield say("answers.common", label=label, n=kept, of=size)


def _judge_calibration(systems: Sequence[Scores]) -> Iterator[Said]:
    if any(scores.uncalibrated for scores in systems):
        yield warn_of_judge(next(scores.judge for scores in systems if scores.uncalibrated))


def _set_versions(systems: Sequence[Scores]) -> Iterator[Said]:
    """Warn if systems were evaluated on different sets, or versions of one, whose judgments happen to be the same."""
    told = {tuple(sorted({source.of_set for _, source in one.inputs if source.of_set})) for one in systems} - {()}
    if len(told) > 1:
        yield say("concern.set_versions", sets=sorted({name for names in told for name in names}))


def _few(data: AlignedScores) -> Iterator[Said]:
    if len(data.query_ids) < _FEW_QUERIES:
        yield say("concern.few_queries", n=len(data.query_ids), enough=_FEW_QUERIES)


def _multiple(data: AlignedScores, rules: Rules, *, all_pairs: bool) -> Iterator[Said]:
    measures, systems = len(data.labels), len(data.names) - 1
    if rules.correction == "none" and measures * systems > 1:
        yield say("concern.uncorrected", n=measures * systems)
    elif rules.family == "systems" and measures > 1:
        kind = "concern.each_measure_pairs" if all_pairs else "concern.each_measure"
        yield say(kind, n=measures)


def _small(data: AlignedScores) -> Iterator[Said]:
    """Warn about relative gains over a small mean, which look large and say little."""
    found = [
        label for i, label in enumerate(data.labels) if 0 < abs(float(np.nanmean(data.values[:, i, 0]))) < _SMALL_MEAN
    ]
    if found:
        yield say("concern.small_mean", labels=found, least=_SMALL_MEAN)


def _counts(scores: Scores, wanted: Column) -> Counts:
    """The counts of a measure, under any label that it has in this system."""
    return next(scores.counts[one.label] for one in scores.columns if one.definition == wanted.definition)


def _uneven_gaps(systems: Sequence[Scores], data: AlignedScores) -> Iterator[Said]:
    """Unjudged documents hurt the newer system more: it finds what nobody pooled.

    Judgments thin out with depth, so shares are compared only where the lists are about as long as each other.
    """
    for column in data.columns:
        if not _alike(systems, column):
            continue
        shares = [_counts(scores, column).unjudged_share for scores in systems]
        known = [share for share in shares if share is not None]
        if len(known) == len(shares) and max(known) > _UNJUDGED and max(known) - min(known) > _UNEVEN:
            most, least = known.index(max(known)), known.index(min(known))
            yield say(
                "concern.unjudged", label=column.label, most=systems[most].name, share=max(known),
                least=systems[least].name, other=min(known),
            )  # fmt: skip
            return


def _alike(systems: Sequence[Scores], column: Column) -> bool:
    """Say whether lists are about as long as each other; where nobody knows, a cutoff makes them so."""
    lengths = [_counts(scores, column).listed for scores in systems]
    known = [length for length in lengths if length is not None]
    if len(known) < len(lengths):
        return column.k is not None
    return max(known) <= _ALIKE * min(known)


def _uneven_lengths(systems: Sequence[Scores], data: AlignedScores) -> Iterator[Said]:
    """Without a cutoff, relevant documents far down count for the system that lists them."""
    for column in data.columns:
        lengths = [_counts(scores, column).listed for scores in systems]
        known = [length for length in lengths if length is not None]
        if column.k is None and len(known) == len(lengths) and not _alike(systems, column):
            few, many = known.index(min(known)), known.index(max(known))
            yield say(
                "concern.lengths", label=column.label, short=systems[few].name, n=min(known), long=systems[many].name,
                of=max(known),
            )  # fmt: skip
            return


def _short(systems: Sequence[Scores], data: AlignedScores) -> Iterator[Said]:
    for scores in systems:
        for column in data.columns:
            counts = _counts(scores, column)
            if counts.queries and counts.short > _SHORT * counts.queries:
                yield say("concern.short", system=scores.name, n=counts.short, of=counts.queries, label=column.label)
                break
