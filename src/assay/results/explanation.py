"""One query's calculation of one measure, rank by rank."""

from __future__ import annotations

from dataclasses import dataclass

from assay.data.record import Record, Value
from assay.results.parts import part


@part("explanation")
@dataclass(frozen=True)
class Explanation(Record):
    """A calculation: the list with one column per step, then the sums, then the value; None where it is undefined."""

    query_id: str
    measure: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    steps: tuple[str, ...]
    value: float | None
    protocol: str = ""

    def topic(self) -> str:
        """The query."""
        return self.query_id

    def to_rows(self) -> list[dict[str, Value]]:
        """One row per rank, with the numbers as they are shown."""
        return [dict(zip(map(str, self.columns), row, strict=True)) for row in self.rows]
