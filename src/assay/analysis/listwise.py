"""Lists against lists: how far rankings differ, and what any reranker could make of the same candidates."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from assay.analysis.evaluate import rank, score
from assay.data.scores import aggregate
from assay.measures.lists import overlap_lists, ranked_lists, rbo_lists
from assay.results.comparison import Lift, Likeness

if TYPE_CHECKING:
    from collections.abc import Mapping

    from assay.analysis.settings import Settings
    from assay.data.judgments import Judgments
    from assay.data.run import Run
    from assay.results.comparison import Comparison

_DEPTH = 100  # rank-biased overlap at p = .9 gives the ranks below a weight of 0.00003


def likeness(baseline: Run, system: Run, k: int = 10, *, given: bool = False) -> Likeness:
    """Compare two runs list by list, over the queries of either; `given` keeps the order of equal scores."""
    first, second = ranked_lists(baseline, _DEPTH, given=given), ranked_lists(system, _DEPTH, given=given)
    queries = sorted({*first, *second})
    pairs = [(first.get(query, []), second.get(query, [])) for query in queries]
    overlaps = [overlap_lists(a, b, k) for a, b in pairs]
    rbos = [rbo_lists(a, b, 0.9) for a, b in pairs]
    return Likeness(
        system.name, math.fsum(overlaps) / len(pairs), k, math.fsum(rbos) / len(pairs), _contained(baseline, system)
    )


def _contained(baseline: Run, system: Run) -> float:
    """Share of the system's (query, document) rows that are rows of the baseline too."""
    ids = ["query_id", "doc_id"]
    rows = system.frame.select(ids)
    return len(rows.join(baseline.frame.select(ids), on=ids, how="semi")) / max(len(rows), 1)


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


def lifts(comparison: Comparison, system: str, limits: Mapping[str, float], primary: str | None) -> tuple[Lift, ...]:
    """Say what a reranker made of its candidates, measure by measure; a ceiling is not known for every measure."""
    found = []
    for label in comparison.measures:
        contrast = comparison.contrast(system, label)
        before = comparison.means[label][0].estimate
        after = comparison.means[label][comparison.systems.index(system)].estimate
        if before is None or after is None:
            continue
        ceiling = limits.get(label)
        found.append(
            Lift(
                system, label, before, after, contrast.relative, ceiling,
                reached=after / ceiling if ceiling else None,
                headroom=(after - before) / (ceiling - before) if ceiling is not None and ceiling > before else None,
                pays=contrast.pays if label == primary else None,
            )
        )  # fmt: skip
    return tuple(found)
