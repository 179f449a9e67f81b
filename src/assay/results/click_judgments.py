"""Judgments from clicks: what an event log says about how good documents are for queries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from assay.data.record import Record, Value
from assay.errors import UsageError
from assay.lazy import public
from assay.messages import say
from assay.results.parts import part

if TYPE_CHECKING:
    import os

    from assay.data.judgments import Judgments


@dataclass(frozen=True)
class ClickPairs:
    """The pairs that have a grade, column by column, as there may be hundreds of thousands.

    `query` is the number of a query in `ClickJudgments.queries`. `expected` clicks are those of COEC; of the
    position-based model they are the impressions that were examined; of the click-through rate there are none.
    `value` is what the model gives, with its interval, and `grade` what follows from it.
    """

    query: tuple[int, ...] = ()
    doc_id: tuple[str, ...] = ()
    impressions: tuple[int, ...] = ()
    clicks: tuple[int, ...] = ()
    expected: tuple[float | None, ...] = ()
    value: tuple[float, ...] = ()
    low: tuple[float | None, ...] = ()
    high: tuple[float | None, ...] = ()
    grade: tuple[float, ...] = ()

    def __len__(self) -> int:
        return len(self.grade)


@dataclass(frozen=True)
class ClickedQuery:
    """A query text of the log: its id, the first of its spellings by alphabet, and how often it was asked."""

    query_id: str
    text: str
    requests: int


@dataclass(frozen=True)
class PositionClicks:
    """What is known about a position: how often something was shown there, and how often that was clicked.

    `examination` is how much it is looked at compared with the first one, of the position-based model, with its
    standard error: None where it cannot be told.
    """

    position: int
    impressions: int
    clicks: int
    rate: float
    examination: float | None = None
    standard_error: float | None = None


@part("click_judgments")
@dataclass(frozen=True)
class ClickJudgments(Record):
    """Judgments from clicks, by one model.

    A pair that was shown fewer than `least` times has no grade and is counted in `rare`; one of which the model says
    nothing, as nobody ever clicked at its positions, in `silent`. `cuts` are the values from which the grades 1, 2 ...
    begin, empty where the grade is the value itself. `left_out` counts impressions and clicks that were not used, by
    reason. `design_effect` is how many times larger variances are than those of independent impressions.
    """

    model: str
    queries: tuple[ClickedQuery, ...]
    pairs: ClickPairs
    positions: tuple[PositionClicks, ...]
    cuts: tuple[float, ...]
    least: int
    requests: int
    impressions: int
    clicks: int
    rare: int = 0
    silent: int = 0
    left_out: Mapping[str, int] = field(default_factory=dict)
    confidence_level: float = 0.95
    design_effect: float = 1.0
    warnings: tuple[str, ...] = ()

    @property
    def judge(self) -> str:
        """The name under which judgments and results say where these grades are from."""
        return f"clicks:{self.model}"

    @property
    def comes_back(self) -> bool:
        """Return whether users came back to the same pair so often that intervals are wider for it."""
        return self.design_effect > 1.01  # noqa: PLR2004

    def most_shown(self, n: int) -> list[int]:
        """The places of the n pairs that were shown most, of equals the first."""
        return sorted(range(len(self.pairs)), key=lambda place: -self.pairs.impressions[place])[:n]

    @property
    def grades(self) -> dict[float, int]:
        """How many pairs have each grade."""
        return dict(sorted(Counter(self.pairs.grade).items()))

    def to_judgments(self) -> Judgments:
        """Convert the grades to judgments, which say that they are from clicks."""
        import polars as pl

        from assay.data.judgments import Judgments

        if not len(self.pairs):
            raise UsageError(say("no pair was shown at least {least} times: nothing has a grade", least=self.least))
        ids = [one.query_id for one in self.queries]
        frame = pl.DataFrame(
            {
                "query_id": [ids[place] for place in self.pairs.query],
                "doc_id": self.pairs.doc_id,
                "grade": self.pairs.grade,
            }
        )
        return Judgments.of(frame, judge=self.judge)

    def to_rows(self) -> list[dict[str, Value]]:
        """One row per pair that has a grade."""
        names = ("doc_id", "impressions", "clicks", "expected", "value", "low", "high", "grade")
        columns = [getattr(self.pairs, name) for name in names]
        return [
            {
                "query_id": self.queries[place].query_id,
                "query": self.queries[place].text,
                **dict(zip(names, row, strict=True)),
            }
            for place, row in zip(self.pairs.query, zip(*columns, strict=True), strict=True)
        ]

    def save(self, place: str | os.PathLike[str]) -> None:
        """Write a result file (.json) with everything, or judgments (.qrels, .jsonl, .csv, .tsv, .parquet)."""
        if Path(place).suffix.lower() == ".json":
            super().save(place)
        else:
            public("write_judgments")(self.to_judgments(), place)

    def save_queries(self, place: str | os.PathLike[str]) -> None:
        """Write the queries of the judgments: id, text, and how often each was asked."""
        rows = [{"query_id": one.query_id, "text": one.text, "requests": one.requests} for one in self.queries]
        public("write_queries")(rows, place)
