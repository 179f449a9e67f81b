"""Queries that were drawn from an event log for a new evaluation set, each with its probability of being drawn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from assay.data.record import Record, Value
from assay.lazy import public
from assay.results.parts import part

if TYPE_CHECKING:
    import os

SampleUnit = Literal["text", "request"]


@dataclass(frozen=True)
class SampleQuery:
    """A query that was drawn: how often it was asked, in which strata its requests are, and its weight.

    `probability` is that of being drawn; `weight` is the number of requests that it stands for: its own over the
    probability.
    """

    query_id: str
    text: str
    requests: int
    strata: tuple[str, ...]
    probability: float
    weight: float


@dataclass(frozen=True)
class SampleStratum:
    """A stratum: the requests and queries of the log that are in it, its share of the sample, and the queries drawn."""

    name: str
    requests: int
    queries: int
    share: float
    drawn: int


@part("log_sample")
@dataclass(frozen=True)
class LogSample(Record):
    """A sample of the queries of an event log; the first stratum is the random slice, which everything is in."""

    queries: tuple[SampleQuery, ...]
    strata: tuple[SampleStratum, ...]
    unit: SampleUnit
    n: int
    population: int
    requests: int
    seed: int
    effective_n: float | None = None
    left_out: Mapping[str, int] = field(default_factory=dict)
    masked: int = 0
    warnings: tuple[str, ...] = ()

    def to_rows(self) -> list[dict[str, Value]]:
        """One row per query."""
        return [
            {
                "query_id": one.query_id,
                "text": one.text,
                "requests": one.requests,
                "strata": ",".join(one.strata),
                "probability": one.probability,
                "weight": one.weight,
            }
            for one in self.queries
        ]

    def save(self, place: str | os.PathLike[str]) -> None:
        """Write a result file (.json), or queries with their weights (.jsonl, .csv, .tsv, .parquet).

        A name without a suffix is a folder, in which the file `queries.jsonl` is written.
        """
        from pathlib import Path

        where = Path(place)
        if where.suffix.lower() == ".json":
            super().save(place)
            return
        if not where.suffix:
            where.mkdir(exist_ok=True)
            where /= "queries.jsonl"
        public("write_queries")(self.to_rows(), where)
