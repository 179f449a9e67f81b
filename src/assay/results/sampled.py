"""Means that were estimated from judgments of a sample, and how uncertain that makes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from assay.data.record import Record, Value
from assay.results.parts import part
from assay.stats.intervals import Interval


@dataclass(frozen=True)
class SampledMean:
    """An estimated mean; `error` is its standard error from judging a sample.

    `sampling` is the interval for these very queries if every document of the pool were judged, `queries` that for
    other queries like them, which includes the first.
    """

    system: str
    measure: str
    estimate: float
    error: float
    sampling: Interval
    queries: Interval


@dataclass(frozen=True)
class SampledDifference:
    """The same of a difference from the first system; an error that is not known is None, with the reason."""

    system: str
    measure: str
    estimate: float
    error: float | None
    sampling: Interval
    queries: Interval


@part("sampled_scores")
@dataclass(frozen=True)
class SampledScores(Record):
    """Estimates from `judged` documents of a pool of about `pooled`, for so many queries.

    `unpooled` is, by system, the estimated share of its first documents that could not be drawn and count as not
    relevant: no interval includes what they would change.
    """

    baseline: str
    judged: int
    pooled: int
    queries: int
    confidence_level: float
    means: tuple[SampledMean, ...]
    differences: tuple[SampledDifference, ...] = ()
    unpooled: Mapping[str, float] | None = None

    def to_rows(self) -> list[dict[str, Value]]:
        """One row per system and measure."""
        changes = {(one.system, one.measure): one for one in self.differences}
        rows: list[dict[str, Value]] = []
        for one in self.means:
            change = changes.get((one.system, one.measure))
            rows.append(
                {
                    "system": one.system,
                    "measure": one.measure,
                    "estimate": one.estimate,
                    "standard_error": one.error,
                    "low": one.sampling.low,
                    "high": one.sampling.high,
                    "low_with_queries": one.queries.low,
                    "high_with_queries": one.queries.high,
                    "difference": None if change is None else change.estimate,
                    "difference_low": None if change is None else change.sampling.low,
                    "difference_high": None if change is None else change.sampling.high,
                }
            )
        return rows
