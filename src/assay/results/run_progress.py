"""How far a running experiment is: which stage of which combination runs, what came from the cache, what it cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from assay.stats.intervals import Interval

RunState = Literal["running", "finished", "failed", "interrupted"]
CombinationState = Literal["waiting", "running", "done", "failed", "interrupted"]
RunPhase = Literal["combinations", "unanswerable", "evaluation"]


@dataclass(frozen=True)
class StageProgress:
    """How far one stage of a combination is: `done` of `total` queries (chunks, for an index).

    `made` and `reused` count pieces of work (an index, the work of some queries) that were done now, and that the cache
    had.
    """

    stage: str
    done: int = 0
    total: int = 0
    made: int = 0
    reused: int = 0


@dataclass(frozen=True)
class CombinationProgress:
    """One combination: what it does now, and its numbers as soon as it has them.

    `spent` is what its calls cost in this run, without `unpriced` calls, whose price is not known. `on_front` is what
    the tests at the end of a run say; None before.
    """

    name: str
    state: CombinationState = "waiting"
    axes: Mapping[str, str] = field(default_factory=dict)
    stages: tuple[StageProgress, ...] = ()
    stage: str = ""
    seconds: float = 0.0
    spent: float = 0.0
    unpriced: int = 0
    reason: str = ""
    mean: Interval | None = None
    ms_p95: float | None = None
    cost_per_query: float | None = None
    on_front: bool | None = None

    @property
    def share(self) -> float:
        """The share of its stages' work that is done."""
        if self.state == "done":
            return 1.0
        parts = [one.done / one.total for one in self.stages if one.total]
        return sum(parts) / len(parts) if parts else 0.0


@dataclass(frozen=True)
class ProcessMark:
    """Which process writes: where its number means something, its number, and when it began."""

    place: str
    number: int
    began: str = ""


@dataclass(frozen=True)
class RunProgress:
    """An experiment while it runs and after; `updated` is the last sign of the process, times are UTC.

    `measure` decides, and `lower` says that lower values of it are better. `phase` is what the run as a whole does.
    `apart` is what calls cost that belong to no combination: those of a judge, and questions that no document answers;
    `apart_unpriced` counts those of them whose price is not known.
    """

    name: str
    state: RunState
    began: str
    updated: str
    process: ProcessMark
    combinations: tuple[CombinationProgress, ...]
    queries: int = 0
    phase: RunPhase = "combinations"
    measure: str = ""
    lower: bool = False
    baseline: str = ""
    seconds: float = 0.0
    apart: float = 0.0
    apart_unpriced: int = 0
    reason: str = ""
    schema: int = 1

    def count(self, *states: CombinationState) -> int:
        """How many combinations are in one of these states."""
        return sum(one.state in states for one in self.combinations)

    @property
    def share(self) -> float:
        """The share of the combinations' work that is done; those that failed count as done."""
        parts = [1.0 if one.state == "failed" else one.share for one in self.combinations]
        return sum(parts) / len(parts) if parts else 0.0

    @property
    def spent(self) -> float:
        """What all calls of this run cost so far, as far as prices are known."""
        return sum(one.spent for one in self.combinations) + self.apart

    @property
    def unpriced(self) -> int:
        """How many pieces of work have no known price."""
        return sum(one.unpriced for one in self.combinations) + self.apart_unpriced

    @property
    def is_tested(self) -> bool:
        """Whether the front is that of the tests at the end of the run."""
        return any(one.on_front is not None for one in self.combinations)

    def front(self) -> frozenset[str]:
        """The combinations that none beats in quality, P95 latency and money: as tested, else by these numbers alone.

        A number that is not known beats nothing and is not beaten.
        """
        if self.is_tested:
            return frozenset(one.name for one in self.combinations if one.on_front)
        known = [one for one in self.combinations if one.state == "done" and one.mean and one.mean.estimate is not None]
        return frozenset(one.name for one in known if not any(self._beats(other, one) for other in known))

    def _beats(self, one: CombinationProgress, other: CombinationProgress) -> bool:
        sign = 1.0 if self.lower else -1.0
        pairs = [
            (sign * (one.mean.estimate or 0.0), sign * (other.mean.estimate or 0.0))
            if one.mean and other.mean
            else (None, None),
            (one.ms_p95, other.ms_p95),
            (one.cost_per_query, other.cost_per_query),
        ]
        known = [(own, its) for own, its in pairs if own is not None and its is not None]
        alike = all((own is None) == (its is None) for own, its in pairs)
        return alike and all(own <= its for own, its in known) and any(own < its for own, its in known)
