"""Measures of an event log: for each group, what was counted, out of how much, and how sure that is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from assay.data.record import Record, Value
from assay.results.parts import part
from assay.stats.intervals import Interval

Unit = Literal["query", "result", "click", "rating"]


@dataclass(frozen=True)
class LogMeasure:
    """What is known of a measure: `lacking` says why a log has no values of it."""

    label: str
    definition: str
    unit: Unit
    lower_is_better: bool = False
    lacking: str = ""


@dataclass(frozen=True)
class LogValue:
    """One measure in one group: its interval counts users (`n`), `left_out` what could not be counted."""

    group: tuple[str | None, ...]
    measure: str
    numerator: float | None
    denominator: float
    interval: Interval
    queries: int
    left_out: int = 0


@part("log_metrics")
@dataclass(frozen=True)
class LogMetrics(Record):
    """Measures of an event log by groups; `cluster` is what intervals take as independent of each other."""

    by: tuple[str, ...]
    measures: tuple[LogMeasure, ...]
    values: tuple[LogValue, ...]
    queries: int
    events: int
    users: int
    cluster: Literal["user", "session", "query_id"] = "user"
    without_cluster: int = 0
    unknown_requests: int = 0
    timezone: str = "UTC"
    confidence_level: float = 0.95
    warnings: tuple[str, ...] = ()

    @property
    def groups(self) -> tuple[tuple[str | None, ...], ...]:
        """The groups, in order."""
        return tuple(dict.fromkeys(one.group for one in self.values))

    def value(self, measure: str, *group: str | None) -> LogValue:
        """Find one measure of one group."""
        return next(one for one in self.values if (one.measure, one.group) == (measure, group))

    def to_rows(self) -> list[dict[str, Value]]:
        """One row per group and measure."""
        units = {one.label: one.unit for one in self.measures}
        return [
            {
                **dict(zip(self.by, one.group, strict=True)),
                "measure": one.measure,
                "value": one.interval.estimate,
                "low": one.interval.low,
                "high": one.interval.high,
                "numerator": one.numerator,
                "denominator": one.denominator,
                "unit": units[one.measure],
                "users": one.interval.n,
                "queries": one.queries,
                "left_out": one.left_out,
            }
            for one in self.values
        ]
