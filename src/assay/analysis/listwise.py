"""Compare ranked lists: how far they differ, and the best that any reranker could do with the same candidates."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.analysis.evaluate import rank, score
from assay.analysis.joining import prepare_run
from assay.analysis.settings import settings_of
from assay.data.scores import aggregate
from assay.errors import NotComparable, UsageError
from assay.formats.conversion import as_judgments, as_whole_run
from assay.measures.lists import order_lists, overlap_lists, rbo_lists
from assay.messages import say
from assay.results.comparison import Likeness, Reordering

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from assay.analysis.settings import Settings
    from assay.data.judgments import Judgments
    from assay.data.run import Run
    from assay.data.scores import Scores
    from assay.results.comparison import Comparison

_RERANK = "rerank"
_DEPTH = 100  # rank-biased overlap at p = .9 gives the ranks below a weight of 0.00003


def with_lists(
    comparison: Comparison,
    runs: Mapping[str, Any],
    *,
    judgments: Any = None,
    chunks: Mapping[str, str] | str | None = None,
    dedupe: bool = False,
) -> Comparison:
    """Compare the lists of every run with the baseline's; runs that reorder its documents get a ceiling."""
    base = comparison.scores[0]
    missing = next((name for name in comparison.systems if name not in runs), None)
    if missing is not None:
        raise UsageError(say("there is no run of {system}: give a run of every system, or none", system=missing))
    raw = {name: replace(as_whole_run(runs[name]), name=name) for name in comparison.systems}
    protocol = base.protocol
    given = protocol.ties == "given"
    lists = {name: prepare_run(run, protocol, chunks, dedupe=dedupe) for name, run in raw.items()}
    first = lists[comparison.baseline]
    alike = tuple(likeness(first, lists[name], given=given) for name in comparison.systems[1:])
    told = protocol.name == _RERANK  # then even lists that were cut are a reranker's
    rerankers = [one for one in alike if one.reranks or (told and one.from_candidates == 1.0)]
    if not rerankers:
        return replace(comparison, likeness=alike)
    weights = None if base.weights is None else dict(zip(base.query_ids, base.weights.tolist(), strict=True))
    judged = _judgments_of(base, judgments)
    limits = ceilings(judged, raw[comparison.baseline], settings_of(base), chunks=chunks, weights=weights)
    chosen = protocol.primary if protocol.primary in comparison.measures else comparison.measures[0]
    gains = [lift for one in rerankers for lift in lifts(comparison, one.system, limits, chosen)]
    return replace(comparison, likeness=alike, lifts=tuple(gains))


def _judgments_of(scores: Scores, given: Any) -> Judgments:
    if given is None:
        if isinstance(scores.judgments, str):
            raise UsageError(
                say("the scores come from a file: give the judgments too, as in compare(..., judgments=...)")
            )
        return scores.judgments
    found = as_judgments(given)
    if found.digest != scores.judgments_digest:
        raise NotComparable(say("these are not the judgments that the scores were made with: their content differs"))
    return found


def likeness(baseline: Run, system: Run, k: int = 10, *, given: bool = False) -> Likeness:
    """Compare two runs list by list, over the queries of either; `given` keeps the order of equal scores."""
    first, second = order_lists(baseline, _DEPTH, given=given), order_lists(system, _DEPTH, given=given)
    queries = sorted({*first, *second})
    pairs = [(first.get(query, []), second.get(query, [])) for query in queries]
    overlaps = [overlap_lists(a, b, k) for a, b in pairs]
    rbos = [rbo_lists(a, b, 0.9) for a, b in pairs]
    return Likeness(
        system.name,
        math.fsum(overlaps) / len(pairs),
        k,
        math.fsum(rbos) / len(pairs),
        _share_contained(baseline, system),
        sum(_reorders(a, b) for a, b in pairs) / len(pairs),
    )


def _share_contained(baseline: Run, system: Run) -> float:
    """Share of the system's (query, document) rows that are rows of the baseline too."""
    ids = ["query_id", "doc_id"]
    rows = system.frame.select(ids)
    return len(rows.join(baseline.frame.select(ids), on=ids, how="semi")) / max(len(rows), 1)


def _reorders(before: Sequence[str], after: Sequence[str]) -> bool:
    """Say whether a list is not merely the earlier one without some of its documents."""
    kept = {*after}
    return {*before} == kept or [doc for doc in before if doc in kept] != [*after]


def ceilings(
    judgments: Judgments,
    candidates: Run,
    settings: Settings,
    *,
    chunks: Mapping[str, str] | str | None = None,
    weights: Mapping[str, float] | None = None,
) -> dict[str, float]:
    """Mean of each measure if every candidate list were in its best order; only for measures that order can only help.

    Chunks folded after the cut are left out: their best order depends on which chunks share a document.
    """
    ranking, _ = rank(judgments, candidates, settings.protocol, chunks=chunks, dedupe=True)
    fitting = {label: m for label, m in settings.measures.items() if m.spec.swap_safe and m.spec.aggregate == "mean"}
    if not fitting or ranking.expected or ranking.listed_position is not None:
        return {}
    best = score(ranking.best(), type(settings)(settings.protocol, fitting))
    aligned = None if weights is None else np.array([weights.get(query, 0.0) for query in best.query_ids])
    return {
        label: aggregate(best.column(label), ~np.isnan(best.column(label)), "mean", aligned) for label in best.labels
    }


def lifts(
    comparison: Comparison, system: str, limits: Mapping[str, float], primary: str | None
) -> tuple[Reordering, ...]:
    """Return how much a reranker improved its candidates on each measure; some measures have no ceiling."""
    found = []
    for label in comparison.measures:
        contrast = comparison.contrast(system, label)
        before = comparison.means[label][0].estimate
        after = comparison.means[label][comparison.systems.index(system)].estimate
        if before is None or after is None:
            continue
        ceiling = limits.get(label)
        found.append(
            Reordering(
                system, label, before, after, contrast.relative, ceiling,
                reached=after / ceiling if ceiling else None,
                headroom=(after - before) / (ceiling - before) if ceiling is not None and ceiling > before else None,
                pays=contrast.pays if label == primary else None,
            )
        )  # fmt: skip
    return tuple(found)
