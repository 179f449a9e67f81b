"""Measures against k: curves with bands, and what they say about the k to choose."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.analysis.comparable import AlignedScores
from assay.analysis.conclude import conclude
from assay.analysis.evaluate import evaluate_run
from assay.analysis.means import column_mean
from assay.analysis.protocols import load_protocol
from assay.analysis.settings import need_subtopics, settings_for
from assay.data.run import Run
from assay.errors import UsageError
from assay.formats.conversion import as_judgments, as_runs
from assay.measures import defaults, parse, split_measures
from assay.messages import say
from assay.results.comparison import Rules
from assay.results.sweep import Curve, CutoffChoice, Sweep

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from assay.data.protocol import Protocol
    from assay.data.scores import Scores
    from assay.data.segments import Bools
    from assay.measures import Measure
    from assay.results.conclusion import Conclusion
    from assay.stats.intervals import Interval

CUTOFFS = (1, 3, 5, 10, 20)
RECALL_TARGET = 0.70
_NEEDED = (defaults.CLEAN, defaults.COMPLETE, defaults.BALANCED)  # what the choice of k is based on
_ANSWERS = (3, 5)
_SURVEYS = (10, 20)


def sweep(
    judgments: Any,
    runs: Any,
    k: Sequence[int] = CUTOFFS,
    *,
    measures: str | Measure | Sequence[str | Measure] = defaults.CURVES,
    protocol: str | Protocol = "trec",
    recall_target: float = RECALL_TARGET,
    alpha: float = 0.05,
    chunks: Mapping[str, str] | str | None = None,
    weights: Mapping[str, float] | None = None,
    clusters: Mapping[str, str] | None = None,
    dedupe: bool = False,
    calibration: str = "",
    **overrides: object,
) -> Sweep:
    """Evaluate one run or several at several k; judgments and runs may be anything that `evaluate` takes.

    Precision, recall and F1 are computed too, as the choice of k needs them.

    >>> import assay
    >>> found = assay.sweep({"q": {"a": 1}}, {"q": {"b": 2.0, "a": 1.0}}, [1, 2], measures="P")
    >>> [point.estimate for point in found.curve("run", "P").points]
    [0.0, 0.5]
    """
    cutoffs = _cutoffs(k)
    shown = {_plain(name): str(name) for name in split_measures(measures)}
    names = {**shown, **{name: name for name in _NEEDED if name not in shown}}
    if not 0 < alpha < 0.5:  # noqa: PLR2004
        raise UsageError(say("alpha = {alpha:g}: expected a number between 0 and 0.5", alpha=alpha))
    if not 0 < recall_target <= 1:
        raise UsageError(say("recall target {target:g}: expected a share, as in 0.7", target=recall_target))
    base = load_protocol(protocol) if isinstance(protocol, str) else protocol
    asked = {name: [_measure_at(base, name, cut) for cut in cutoffs] for name in names}
    texts = [text for texts in asked.values() for text in texts]
    judged = as_judgments(judgments, subtopics=need_subtopics(texts, base), dedupe=dedupe)
    listed = as_runs(runs)
    chunked = [run for run in listed.values() if isinstance(run, Run) and chunks is None]
    settings = settings_for(chunked, judged, texts, base, **overrides)
    options: dict[str, Any] = {
        "chunks": chunks, "weights": weights, "clusters": clusters, "dedupe": dedupe, "calibration": calibration,
    }  # fmt: skip
    found = tuple(evaluate_run(judged, run, settings, name=name, **options) for name, run in listed.items())
    curves = tuple(
        Curve(scores.name, names[name], cutoffs, _points(scores, texts, 1 - alpha))
        for scores in found
        for name, texts in asked.items()
    )
    return Sweep(
        k=cutoffs,
        measures=tuple(shown.values()),
        systems=tuple(scores.name for scores in found),
        curves=curves,
        choices=tuple(
            _choice(
                scores.name, curves, names, recall_target, _conclude(scores, asked[defaults.BALANCED], cutoffs, alpha)
            )
            for scores in found
        ),
        recall_target=recall_target,
        queries=found[0].judged,
        confidence_level=1 - alpha,
        scores=found,
    )


def _cutoffs(k: Sequence[int]) -> tuple[int, ...]:
    if not k or any(cut < 1 for cut in k):
        raise UsageError(say("k must be whole numbers, 1 or more, as in --k 1,3,5,10"))
    return tuple(sorted(set(k)))


def _plain(name: str | Measure) -> str:
    """The canonical text of a measure without a cutoff."""
    if "@" in str(name):
        raise UsageError(say("{name}: a sweep sets the cutoffs itself, so leave out @k", name=str(name)))
    return str(parse(f"{name}@1")).removesuffix("@1")


def _measure_at(protocol: Protocol, name: str, cut: int) -> str:
    """A measure at a cutoff as the protocol defines it, also where it does so at other cutoffs only."""
    if f"{name}@{cut}" in protocol.measures:
        return f"{name}@{cut}"
    other = [text for label, text in protocol.measures.items() if label.rpartition("@")[0] == name]
    return f"{other[0].rpartition('@')[0]}@{cut}" if other else f"{name}@{cut}"


def _points(scores: Scores, asked: Sequence[str], level: float) -> tuple[Interval, ...]:
    return tuple(column_mean(scores, text, confidence_level=level) for text in asked)


def _choice(
    system: str, curves: Sequence[Curve], names: Mapping[str, str], recall_target: float, decided: Conclusion | None
) -> CutoffChoice:
    by_name = {curve.measure: curve for curve in curves if curve.system == system}
    precision, recall, f1 = (by_name[names[name]] for name in _NEEDED)
    enough = [k for k, point in zip(recall.k, recall.points, strict=True) if (point.estimate or 0.0) >= recall_target]
    return CutoffChoice(
        system,
        f1=_highest(f1, (1, max(recall.k))) or recall.k[0],
        recall=min(enough, default=None),
        answers=_highest(precision, _ANSWERS),
        survey=_highest(recall, _SURVEYS),
        conclusion=decided,
    )


def _conclude(scores: Scores, asked: Sequence[str], cutoffs: Sequence[int], alpha: float) -> Conclusion | None:
    """Return which k is best by one measure, treating every k as a system."""
    if len(cutoffs) < 2:  # noqa: PLR2004
        return None
    values = np.stack([scores.column(text) for text in asked], axis=1)
    known: Bools = np.asarray(~np.isnan(values).any(axis=1))
    if scores.weights is not None:
        known &= scores.weights > 0
    data = AlignedScores(
        query_ids=[query for query, kept in zip(scores.query_ids, known.tolist(), strict=True) if kept],
        columns=(replace(scores.about(asked[0]), label=defaults.BALANCED),),
        names=tuple(f"k = {k}" for k in cutoffs),
        values=values[known][:, None, :],
        weights=None if scores.weights is None else scores.weights[known],
        clusters=None if scores.clusters is None else np.array(scores.clusters)[known],
    )
    return conclude(data, Rules(alpha=alpha))[0] if known.any() else None


def _highest(curve: Curve, bounds: tuple[int, int]) -> int | None:
    """The k within bounds with the highest mean, the smallest of equals."""
    inside = [
        (k, point.estimate or 0.0)
        for k, point in zip(curve.k, curve.points, strict=True)
        if bounds[0] <= k <= bounds[1]
    ]
    return max(inside, key=lambda pair: (pair[1], -pair[0]))[0] if inside else None
