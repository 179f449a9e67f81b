"""How fast a target answers under one load after another: percentiles, throughput, errors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from assay.data.protocol import Target
from assay.data.record import Record, Value
from assay.messages import say
from assay.results.diagnosis import TargetStatus
from assay.results.parts import part
from assay.stats.intervals import Interval

BATCH_SECONDS = 2.0  # P95 that is good enough where nobody waits for it
_KEEPS_UP = 0.95  # of the calls that were offered


@dataclass(frozen=True)
class Latency:
    """Milliseconds of the calls of one load: percentiles with intervals, mean and standard deviation (ddof 0)."""

    p50: Interval
    p95: Interval
    p99: Interval
    mean: float
    std: float

    def percentiles(self) -> dict[str, Interval]:
        """The percentiles by their names."""
        return {"p50": self.p50, "p95": self.p95, "p99": self.p99}


@dataclass(frozen=True)
class Histogram:
    """Counts between edges in milliseconds, evenly spaced on a logarithmic scale."""

    edges: tuple[float, ...]
    counts: tuple[int, ...]

    def __post_init__(self) -> None:
        if len(self.edges) != len(self.counts) + 1:
            raise ValueError(say("a histogram must have one count between each two edges"))


@dataclass(frozen=True)
class Load:
    """What was measured under one load.

    `latency_ms` counts from the moment a call was due, `service_ms` from the moment it began: in an open loop the
    difference is the time in the queue. `count` are the calls that worked; the others are in `errors` by kind.
    """

    kind: Literal["closed", "open"]
    threads: int
    candidates: int | None
    rate: float | None
    seconds: float
    count: int
    errors: Mapping[str, int]
    examples: Mapping[str, str]
    throughput_qps: float
    latency_ms: Latency | None
    service_ms: Latency | None
    histogram: Histogram | None
    interrupted: bool = False

    @property
    def failed(self) -> int:
        """How many calls failed."""
        return sum(self.errors.values())

    @property
    def keeps_up(self) -> bool:
        """Say whether calls were served as fast as they were offered; a closed loop offers no faster than that."""
        return self.rate is None or self.throughput_qps >= self.rate * _KEEPS_UP


@part("bench")
@dataclass(frozen=True)
class Bench(Record):
    """A target under one load after another; `texts` says whose queries and documents it was asked with.

    `goal` is the P95 latency that loads are held against, where there is one.
    """

    target: str
    loads: tuple[Load, ...]
    warnings: tuple[str, ...] = ()
    confidence_level: float = 0.95
    texts: str = ""
    interrupted: bool = False
    goal: Target | None = None

    @property
    def has_candidates(self) -> bool:
        """Say whether calls had candidates to rank."""
        return any(load.candidates is not None for load in self.loads)

    @property
    def has_rates(self) -> bool:
        """Say whether calls were offered at a rate, in an open loop."""
        return any(load.rate is not None for load in self.loads)

    def status_of(self, load: Load) -> TargetStatus:
        """Hold the P95 of a load against the goal; where calls pile up, no latency is low enough."""
        value = None if load.latency_ms is None else load.latency_ms.p95.estimate
        if value is None or self.goal is None:
            return "unmeasured"
        if not load.keeps_up or not self.goal.is_reached(value, self.goal.target):
            return "high"
        excellent = self.goal.excellent
        return "excellent" if excellent is not None and self.goal.is_reached(value, excellent) else "ok"

    def speed_up(self, load: Load) -> float | None:
        """How many times the throughput of one thread a load has, where both were measured in a closed loop."""
        alone = [one for one in self.loads if one.threads == 1 and one.rate is None]
        base = next((one.throughput_qps for one in reversed(alone) if one.candidates == load.candidates), 0.0)
        return load.throughput_qps / base if base else None

    def to_rows(self) -> list[dict[str, Value]]:
        """One row per load."""
        return [self._row(load) for load in self.loads]

    def _row(self, load: Load) -> dict[str, Value]:
        of = load.latency_ms
        ends = {} if of is None else of.percentiles()
        return {
            "target": self.target,
            "kind": load.kind,
            "threads": load.threads,
            "candidates": load.candidates,
            "rate": load.rate,
            "seconds": load.seconds,
            "count": load.count,
            "errors": load.failed,
            "throughput_qps": load.throughput_qps,
            **{f"{name}_ms": None if name not in ends else ends[name].estimate for name in ("p50", "p95", "p99")},
            "mean_ms": None if of is None else of.mean,
            "std_ms": None if of is None else of.std,
        }
