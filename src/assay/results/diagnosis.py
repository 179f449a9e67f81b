"""Why one system's numbers are what they are: targets, stages, slices, the worst queries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

from assay.data.protocol import Protocol, Target
from assay.data.record import Record, Value
from assay.messages import say
from assay.results.answers import WeakStatement
from assay.results.codec import UNSTORED, ScoresBehind
from assay.results.parts import part
from assay.stats.intervals import Interval

TargetStatus = Literal["excellent", "ok", "low", "high", "unclear", "unattainable", "unmeasured"]
RetrievalStage = Literal["missing", "not_retrieved", "below_k", "partly", "complete", "no_relevant"]
RETRIEVAL_STAGES: tuple[RetrievalStage, ...] = get_args(RetrievalStage)


@dataclass(frozen=True)
class TargetCheck:
    """A target and whether it was reached; `advice` is empty where it was, and where that is not clear.

    It is not clear where the `interval` of the value spans the target. A value that was measured elsewhere has none.
    `limit` is the highest value that any system could have, where the judgments set one below the target.
    """

    target: Target
    value: float | None
    status: TargetStatus
    advice: str
    interval: Interval | None = None
    limit: float | None = None

    @property
    def misses_target(self) -> bool:
        """Return whether the value was measured and does not reach the target."""
        return self.status in {"low", "high"}

    @property
    def reaches_target(self) -> bool:
        """Return whether the value surely reaches the target."""
        return self.status in {"ok", "excellent"}


@dataclass(frozen=True)
class Slice:
    """Queries that share a value of an attribute: their mean, and how many of them failed.

    `effective` is the number of equal, independent queries that they are worth, where they have weights or clusters.
    """

    attribute: str
    value: str
    queries: int
    mean: Interval
    failed: int
    effective: float | None = None


@dataclass(frozen=True)
class RankedDocument:
    """One document of a ranked list; `grade` is None when it was not judged."""

    rank: int
    doc_id: str
    score: float
    grade: float | None


@dataclass(frozen=True)
class Worst:
    """One of the worst queries: the documents above its first relevant one (or on top, if it has none)."""

    query_id: str
    value: float
    stage: RetrievalStage | None
    first_relevant: int | None
    relevant: int | None
    above: tuple[RankedDocument, ...]
    text: str = ""


@part("diagnoses", many=True, view="diagnosis")
@dataclass(frozen=True)
class Diagnosis(Record):
    """All that is known about why one system's numbers are what they are.

    `stages` has the queries by how far their relevant documents got, `limits` the highest mean that any system could
    have. Of answers, `answers` has the samples by the stage at which they went wrong, `weakest` the statements with the
    least support. `judge` is named where its grades are not calibrated.
    """

    system: str
    measure: str
    k: int
    queries: int
    protocol: Protocol
    targets: tuple[TargetCheck, ...]
    stages: Mapping[RetrievalStage, tuple[str, ...]]
    slices: tuple[Slice, ...]
    worst: tuple[Worst, ...]
    judge: str = ""
    limits: Mapping[str, float] = field(default_factory=dict)
    answers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    weakest: tuple[WeakStatement, ...] = ()
    scores: ScoresBehind = field(default=(), compare=False, repr=False, metadata=UNSTORED)

    def __post_init__(self) -> None:
        if self.stages and set(self.stages) != set(RETRIEVAL_STAGES):
            raise ValueError(say("queries must be listed by every stage or by none"))

    def limit_of(self, check: TargetCheck) -> float | None:
        """The highest value that any system could have, where that is below a target that is not reached."""
        most = self.limits.get(check.target.measure, 1.0) if check.limit is None else check.limit
        return None if check.reaches_target or check.target.below or most >= check.target.target else most

    def count(self, *statuses: TargetStatus) -> int:
        """How many targets have one of these statuses."""
        return sum(check.status in statuses for check in self.targets)

    @property
    def targets_with_value(self) -> tuple[TargetCheck, ...]:
        """Targets for which something was measured."""
        return tuple(check for check in self.targets if check.status != "unmeasured")

    def to_rows(self) -> list[dict[str, Value]]:
        """One row per target."""
        return [
            {
                "system": self.system,
                "measure": check.target.measure,
                "value": check.value,
                "low": None if check.interval is None else check.interval.low,
                "high": None if check.interval is None else check.interval.high,
                "target": check.target.target,
                "excellent": check.target.excellent,
                "status": check.status,
            }
            for check in self.targets
        ]
