"""Measures against k: curves with bands, and the k to choose."""

from __future__ import annotations

from dataclasses import dataclass, field

from assay.data.record import Record, Value
from assay.messages import say
from assay.results.codec import UNSTORED, ScoresBehind
from assay.results.conclusion import Conclusion
from assay.results.parts import part
from assay.stats.intervals import Interval


@dataclass(frozen=True)
class Curve:
    """One measure of one system over k, with the band of its mean at each k."""

    system: str
    measure: str
    k: tuple[int, ...]
    points: tuple[Interval, ...]

    def __post_init__(self) -> None:
        if len(self.k) != len(self.points) or not self.k:
            raise ValueError(say("a curve must have one point for each k"))


@dataclass(frozen=True)
class CutoffChoice:
    """The k to choose for one system, by purpose; None where no k that was tried will do.

    `f1` has the highest F1, `recall` is the smallest k that reaches the recall target. For question answering the k
    from 3 to 5 with the highest precision, for surveys from 10 to 20 with the highest recall; the smaller of equals.
    `conclusion` says which k has the best F1, and whether that is shown against the others.
    """

    system: str
    f1: int
    recall: int | None
    answers: int | None
    survey: int | None
    conclusion: Conclusion | None = None


@part("sweep")
@dataclass(frozen=True)
class Sweep(Record):
    """Curves of all systems and the choices they suggest; `scores` are the values at every k."""

    k: tuple[int, ...]
    measures: tuple[str, ...]
    systems: tuple[str, ...]
    curves: tuple[Curve, ...]
    choices: tuple[CutoffChoice, ...]
    recall_target: float
    queries: int
    confidence_level: float
    scores: ScoresBehind = field(default=(), compare=False, repr=False, metadata=UNSTORED)

    def __post_init__(self) -> None:
        drawn = {(curve.system, curve.measure) for curve in self.curves}
        if any((system, measure) not in drawn for system in self.systems for measure in self.measures):
            raise ValueError(say("every system must have a curve of every measure"))

    def curve(self, system: str, measure: str) -> Curve:
        """Find one curve."""
        return next(curve for curve in self.curves if (curve.system, curve.measure) == (system, measure))

    def highest(self, system: str, measure: str) -> tuple[float, int]:
        """The highest mean of a measure, and the smallest k that has it."""
        curve = self.curve(system, measure)
        value, k = max((point.estimate or 0.0, -k) for point, k in zip(curve.points, curve.k, strict=True))
        return value, -k

    def to_rows(self) -> list[dict[str, Value]]:
        """One row per system, measure and k."""
        return [
            {
                "system": curve.system,
                "measure": curve.measure,
                "k": k,
                "mean": point.estimate,
                "low": point.low,
                "high": point.high,
            }
            for curve in self.curves
            for k, point in zip(curve.k, curve.points, strict=True)
        ]
