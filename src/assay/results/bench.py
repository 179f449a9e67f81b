"""How fast a target answers under one load after another: percentiles, throughput, errors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from assay.data.record import Record, Value
from assay.results.parts import part
from assay.stats.intervals import Interval


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
            raise ValueError("a histogram has one count between two edges")


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


@part("bench")
@dataclass(frozen=True)
class Bench(Record):
    """A target under one load after another; `texts` says whose queries and documents it was asked with."""

    target: str
    loads: tuple[Load, ...]
    warnings: tuple[str, ...] = ()
    confidence_level: float = 0.95
    texts: str = ""
    interrupted: bool = False

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
            "errors": sum(load.errors.values()),
            "throughput_qps": load.throughput_qps,
            **{f"{name}_ms": None if name not in ends else ends[name].estimate for name in ("p50", "p95", "p99")},
            "mean_ms": None if of is None else of.mean,
            "std_ms": None if of is None else of.std,
        }
