"""Measures against k: curves with bands, and what they say about the k to choose."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from assay.analysis.evaluate import evaluate_run
from assay.analysis.settings import Settings
from assay.errors import UsageError
from assay.stats.intervals import Interval, mean_intervals

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from assay.data.judgments import Judgments
    from assay.data.protocol import Protocol
    from assay.data.run import Run
    from assay.data.scores import Scores

CUTOFFS = (1, 3, 5, 10, 20)
MEASURES = ("precision", "recall", "f1", "ndcg")
RECALL_TARGET = 0.70
_ANSWERS = (3, 5)
_SURVEYS = (10, 20)


@dataclass(frozen=True)
class Curve:
    """One measure of one system over k, with the band of its mean at each k."""

    system: str
    measure: str
    k: tuple[int, ...]
    points: tuple[Interval, ...]


@dataclass(frozen=True)
class Choice:
    """The k to choose for one system, by purpose; None where no k that was tried will do.

    `f1` has the highest F1, `recall` is the smallest k that reaches the recall target. For question answering the k
    from 3 to 5 with the highest precision, for surveys from 10 to 20 with the highest recall; the smaller of equals.
    """

    system: str
    f1: int
    recall: int | None
    answers: int | None
    survey: int | None


@dataclass(frozen=True)
class Sweep:
    """Curves of all systems and the choices they suggest."""

    k: tuple[int, ...]
    measures: tuple[str, ...]
    systems: tuple[str, ...]
    curves: tuple[Curve, ...]
    choices: tuple[Choice, ...]
    recall_target: float
    queries: int
    confidence_level: float
    scores: tuple[Scores, ...]

    def curve(self, system: str, measure: str) -> Curve:
        """Find one curve."""
        return next(curve for curve in self.curves if (curve.system, curve.measure) == (system, measure))


def sweep(
    judgments: Judgments,
    runs: Sequence[Run],
    k: Sequence[int] = CUTOFFS,
    *,
    measures: Sequence[str] = MEASURES,
    protocol: str | Protocol = "trec",
    recall_target: float = RECALL_TARGET,
    alpha: float = 0.05,
    chunks: Mapping[str, str] | str | None = None,
    weights: Mapping[str, float] | None = None,
    dedupe: bool = False,
    **overrides: object,
) -> Sweep:
    """Evaluate runs at several k; precision, recall and F1 are always among the measures."""
    cutoffs = _cutoffs(k)
    names = tuple(dict.fromkeys([*(_plain(name) for name in measures), "precision", "recall", "f1"]))
    asked = [f"{name}@{cut}" for name in names for cut in cutoffs]
    settings = Settings.of(judgments, asked, protocol, **overrides)
    found = tuple(evaluate_run(judgments, run, settings, chunks=chunks, weights=weights, dedupe=dedupe) for run in runs)
    curves = tuple(_curve(scores, name, cutoffs, 1 - alpha) for scores in found for name in names)
    return Sweep(
        k=cutoffs,
        measures=names,
        systems=tuple(scores.name for scores in found),
        curves=curves,
        choices=tuple(_choice(scores.name, curves, recall_target) for scores in found),
        recall_target=recall_target,
        queries=found[0].judged,
        confidence_level=1 - alpha,
        scores=found,
    )


def _cutoffs(k: Sequence[int]) -> tuple[int, ...]:
    if not k or any(cut < 1 for cut in k):
        raise UsageError("k must be whole numbers from 1 on, as in --k 1,3,5,10")
    return tuple(sorted(set(k)))


def _plain(name: str) -> str:
    if "@" in name:
        raise UsageError(f"{name}: a sweep sets the cutoffs itself, so leave out @k")
    return name


def _curve(scores: Scores, name: str, cutoffs: tuple[int, ...], level: float) -> Curve:
    labels = [scores.asked[f"{name}@{cut}"] for cut in cutoffs]
    columns = np.stack([scores.column(label) for label in labels], axis=1)
    points = mean_intervals(columns, weights=scores.weights, confidence_level=level)
    return Curve(scores.name, name, cutoffs, points)


def _choice(system: str, curves: Sequence[Curve], recall_target: float) -> Choice:
    mine = {curve.measure: curve for curve in curves if curve.system == system}
    recall = mine["recall"]
    enough = [k for k, point in zip(recall.k, recall.points, strict=True) if (point.estimate or 0.0) >= recall_target]
    return Choice(
        system,
        f1=_highest(mine["f1"], (1, max(recall.k))) or recall.k[0],
        recall=min(enough, default=None),
        answers=_highest(mine["precision"], _ANSWERS),
        survey=_highest(recall, _SURVEYS),
    )


def _highest(curve: Curve, bounds: tuple[int, int]) -> int | None:
    """The k within bounds with the highest mean, the smallest of equals."""
    inside = [
        (k, point.estimate or 0.0)
        for k, point in zip(curve.k, curve.points, strict=True)
        if bounds[0] <= k <= bounds[1]
    ]
    return max(inside, key=lambda pair: (pair[1], -pair[0]))[0] if inside else None
