"""How fast a target answers under one load after another: percentiles, throughput, errors, and what that decides."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from assay.data.protocol import Target
from assay.data.record import Record, Value
from assay.messages import say
from assay.results.parts import part
from assay.stats.intervals import Interval

BATCH_SECONDS = 2.0  # P95 that is good enough when no user waits for it
KEEPS_UP = 0.95  # of the calls that were offered
_TOKENS = ("first_token", "per_token")  # figures of streams, in milliseconds

LoadStatus = Literal["excellent", "ok", "high", "unclear", "unmeasured"]
Verdict = Literal["ok", "over", "unclear"]


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
class Streaming:
    """How answers came token by token: milliseconds to the first token and from one token to the next.

    `tokens` are those of all calls; `counted` is False when the server did not name them, so that every piece of an
    answer counts as one.
    """

    first_token_ms: Latency
    per_token_ms: Latency | None
    tokens: int
    tokens_per_second: float
    counted: bool = True


@dataclass(frozen=True)
class Pace:
    """Whether a target keeps up with the calls that it is offered, and why that is so.

    `growth` is how many seconds longer calls take with every second of the load: 0 where it keeps up, and
    offered / served - 1 where calls pile up.
    """

    decision: Literal["kept", "behind", "unclear"]
    reason: str
    growth: Interval | None = None


@dataclass(frozen=True)
class Load:
    """What was measured under one load.

    `latency_ms` counts from the moment a call was due, `service_ms` from the moment it was sent: in an open loop the
    difference is the time in the queue before the target. `count` are the calls that worked; the others are in `errors`
    by kind. `seconds` ends with the last answer; in an open loop `sending_seconds` is the time in which calls were
    sent, over which throughput counts, and `drain_seconds` what the last answers took after it.
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
    sending_seconds: float | None = None
    drain_seconds: float | None = None
    pace: Pace | None = None
    streaming: Streaming | None = None

    @property
    def failed(self) -> int:
        """How many calls failed."""
        return sum(self.errors.values())

    @property
    def error_rate(self) -> float | None:
        """Share of the calls that failed."""
        made = self.count + self.failed
        return self.failed / made if made else None

    @property
    def keeps_up(self) -> bool:
        """Return whether calls are not shown to pile up; a closed loop offers no more than is served."""
        if self.pace is not None:
            return self.pace.decision != "behind"
        return self.rate is None or self.throughput_qps >= self.rate * KEEPS_UP  # files of earlier versions

    def figures(self) -> dict[str, tuple[float | None, Interval | None]]:
        """Its numbers by name, each with its interval where it has one; times are milliseconds."""
        of, stream = self.latency_ms, self.streaming
        found = _percentiles("", of)
        if stream is not None:
            found |= _percentiles("first_token_", stream.first_token_ms)
            found |= _percentiles("per_token_", stream.per_token_ms)
            found["tokens_per_second"] = stream.tokens_per_second, None
        return {
            **found,
            "throughput": (self.throughput_qps, None),
            "errors": (float(self.failed), None),
            "error_rate": (self.error_rate, None),
        }


def _percentiles(prefix: str, of: Latency | None) -> dict[str, tuple[float | None, Interval | None]]:
    if of is None:
        return dict.fromkeys((f"{prefix}{name}" for name in ("p50", "p95", "p99", "mean")), (None, None))
    ends: dict[str, tuple[float | None, Interval | None]] = {
        f"{prefix}{name}": (one.estimate, one) for name, one in of.percentiles().items()
    }
    return {**ends, f"{prefix}mean": (of.mean, None)}


@dataclass(frozen=True)
class LimitCheck:
    """A limit that a number of a load must not pass; `load` is its place among the loads.

    It is over where the whole interval is, and not clear where the interval holds the limit or lacks an end.
    """

    load: int
    figure: str
    limit: float
    value: float | None
    low: float | None
    high: float | None
    verdict: Verdict


@dataclass(frozen=True)
class Capacity:
    """The capacity of a target, from loads of rising rates: keeps up to one, not from another; either may be None."""

    candidates: int | None
    threads: int
    kept: float | None
    behind: float | None
    reason: str


@part("bench")
@dataclass(frozen=True)
class Bench(Record):
    """A target under one load after another; `texts` says whose queries and documents it was asked with.

    `goal` is the P95 latency that loads are compared with, where there is one. `checks` are limits that the user set,
    and failed calls; `capacity` says, where there are several rates, from which one on it no longer keeps up.
    """

    target: str
    loads: tuple[Load, ...]
    warnings: tuple[str, ...] = ()
    confidence_level: float = 0.95
    texts: str = ""
    interrupted: bool = False
    goal: Target | None = None
    checks: tuple[LimitCheck, ...] = ()
    capacity: tuple[Capacity, ...] = ()

    @property
    def verdict(self) -> Verdict:
        """The verdict: over if a limit is passed or too many calls failed; not clear if that is unknown."""
        found = {check.verdict for check in self.checks}
        return "over" if "over" in found else "unclear" if "unclear" in found else "ok"

    def passes(self, *, strict: bool = False) -> bool:
        """Return whether no limit is passed; under `strict`, whether that is sure."""
        return self.verdict == "ok" or (self.verdict == "unclear" and not strict)

    @property
    def has_candidates(self) -> bool:
        """Return whether calls had candidates to rank."""
        return any(load.candidates is not None for load in self.loads)

    @property
    def has_rates(self) -> bool:
        """Return whether calls were offered at a rate, in an open loop."""
        return any(load.rate is not None for load in self.loads)

    @property
    def has_streams(self) -> bool:
        """Return whether answers came token by token."""
        return any(load.streaming is not None for load in self.loads)

    def status_of(self, load: Load) -> LoadStatus:
        """Compare the interval of a load's P95 with the goal; where calls pile up, no latency is low enough."""
        if load.latency_ms is None or self.goal is None:
            return "unmeasured"
        low, high = load.latency_ms.p95.low, load.latency_ms.p95.high
        if not load.keeps_up or (low is not None and not self.goal.is_reached(low, self.goal.target)):
            return "high"
        if high is None or not self.goal.is_reached(high, self.goal.target):
            return "unclear"
        excellent = self.goal.excellent
        return "excellent" if excellent is not None and self.goal.is_reached(high, excellent) else "ok"

    def speed_up(self, load: Load) -> float | None:
        """The throughput of a load relative to one thread, if both were measured in a closed loop."""
        alone = [one for one in self.loads if one.threads == 1 and one.rate is None]
        base = next((one.throughput_qps for one in reversed(alone) if one.candidates == load.candidates), 0.0)
        return load.throughput_qps / base if base else None

    def topic(self) -> str:
        """The target."""
        return self.target

    def to_rows(self) -> list[dict[str, Value]]:
        """One row per load."""
        return [self._row(load) for load in self.loads]

    def _row(self, load: Load) -> dict[str, Value]:
        numbers = load.figures()
        tokens = [name for name in numbers if name.startswith(_TOKENS) or name == "tokens_per_second"]
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
            **{f"{name}_ms": numbers[name][0] for name in ("p50", "p95", "p99", "mean")},
            "std_ms": None if load.latency_ms is None else load.latency_ms.std,
            "keeps_up": None if load.pace is None else load.pace.decision,
            **{f"{name}_ms" if name.startswith(_TOKENS) else name: numbers[name][0] for name in tokens},
        }
