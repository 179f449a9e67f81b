"""How far judges and methods can be trusted: their verdicts compared with people's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from assay.data.record import Record, Value
from assay.results.parts import part
from assay.stats.agreement import Agreement, Confusion
from assay.stats.intervals import Interval
from assay.stats.prediction_powered import PredictionPowered


@dataclass(frozen=True)
class Bias:
    """How far the judge is from the people at one of their grades, on average."""

    grade: float
    pairs: int
    mean: Interval


@dataclass(frozen=True)
class Noise:
    """How much a judge differs from itself: pairs asked several times, the share with different grades, mean spread.

    `interval` is that of the share, with queries as units; results of earlier versions have none.
    """

    judge: str
    pairs: int
    differing: float
    deviation: float
    interval: Interval | None = None


@dataclass(frozen=True)
class Corrected:
    """A system's mean over the labelled queries by people and by the judge, and over all queries, corrected."""

    system: str
    measure: str
    labelled: int
    queries: int
    human: float | None
    judge: float | None
    corrected: PredictionPowered


@part("calibration")
@dataclass(frozen=True)
class Calibration(Record):
    """Everything that was found out about a judge on pairs that people graded too.

    `stamp` says in a few words how far it agrees with people, `poor` that this is too little to replace them.
    """

    judge: str
    pairs: int
    queries: int
    exact: float
    kappa: Agreement
    alpha: Agreement
    spearman: Agreement
    confusion: Confusion
    bias: Interval
    biases: tuple[Bias, ...]
    noise: tuple[Noise, ...]
    ranking: Agreement | None
    systems: tuple[Corrected, ...]
    warnings: tuple[str, ...]
    stamp: str
    poor: bool

    def models(self) -> dict[str, str]:
        """The judge."""
        return {"judge": self.judge}

    def topic(self) -> str:
        """The judge."""
        return self.judge

    def to_rows(self) -> list[dict[str, Value]]:
        """One row per coefficient."""
        found = {"kappa": self.kappa, "alpha": self.alpha, "spearman": self.spearman, "ranking": self.ranking}
        return [_agreement(name, one) for name, one in found.items() if one is not None]


@dataclass(frozen=True)
class ScoreAgreement:
    """How far one score agrees with people on the rows that have every score.

    `scored` rows of the file have this score. `threshold` is the one given, or the best on these rows; without a given
    one, balanced accuracy is cross-fitted. `difference` is the AUROC of the first score less that of this one.
    """

    name: str
    kind: Literal["method", "published"]
    scored: int
    spearman: Agreement
    auroc: Agreement | None
    accuracy: Agreement | None
    threshold: float | None
    difference: Agreement | None


@part("validation")
@dataclass(frozen=True)
class Validation(Record):
    """Scores beside what people said about the same answers."""

    name: str
    human: str
    positive: str | float | None
    threshold: float | None
    rows: int
    compared: int
    positives: int | None
    groups: int
    scores: tuple[ScoreAgreement, ...]
    left_out: Mapping[str, int]
    notes: tuple[str, ...]

    @property
    def best(self) -> ScoreAgreement | None:
        """The score that agrees best with people: by AUROC where there is one, else by rank correlation."""
        return max(self.scores, key=_agreement_with_people, default=None)

    @property
    def leaders(self) -> tuple[ScoreAgreement, ...]:
        """All scores that agree as well as the best one."""
        best = None if self.best is None else _agreement_with_people(self.best)
        return tuple(score for score in self.scores if _agreement_with_people(score) == best)

    def topic(self) -> str:
        """The file of answers."""
        return self.name

    def to_rows(self) -> list[dict[str, Value]]:
        """One row per score and coefficient."""
        return [
            {"score": score.name, **_agreement(name, found)}
            for score in self.scores
            for name, found in (("spearman", score.spearman), ("auroc", score.auroc), ("accuracy", score.accuracy))
            if found is not None
        ]


def _agreement_with_people(score: ScoreAgreement) -> float:
    return (score.auroc or score.spearman).value or 0.0


def _agreement(name: str, found: Agreement) -> dict[str, Value]:
    low, high = (None, None) if found.interval is None else (found.interval.low, found.interval.high)
    return {"coefficient": name, "value": found.value, "low": low, "high": high, "n": found.n}
