"""What to judge next, in order, and whether enough is judged."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from assay.data.record import Record, Value
from assay.lazy import public
from assay.results.parts import part
from assay.stats.intervals import Interval

if TYPE_CHECKING:
    import os

Method = Literal["depth", "move-to-front", "bandit", "decide", "sample"]
METHODS: tuple[Method, ...] = ("depth", "move-to-front", "bandit", "decide", "sample")


@dataclass(frozen=True)
class PoolPair:
    """A document to judge for a query: its place in the order, and the round in which it was first listed.

    `inclusion` is the probability with which it was drawn, `effect` how far its grade could move the difference of two
    systems; None where the method has none. A `grade` is one that it has already.
    """

    query_id: str
    doc_id: str
    priority: int
    round: int
    inclusion: float | None = None
    effect: float | None = None
    grade: float | None = None
    query: str | None = None
    document: str | None = None


@dataclass(frozen=True)
class Stopping:
    """Whether the judgments so far decide between two systems: the interval of their difference at this look.

    Of `alpha`, the share `spent` belongs to this look; the shares of all looks add up to alpha. The verdict is "apart"
    (0 is outside), "equal" (no difference above the smallest effect) or "open".
    """

    systems: tuple[str, str]
    measure: str
    look: int
    alpha: float
    spent: float
    smallest_effect: float
    difference: Interval
    verdict: Literal["apart", "equal", "open"]

    @property
    def enough(self) -> bool:
        """Return whether judging may stop."""
        return self.verdict != "open"


@part("pool")
@dataclass(frozen=True)
class JudgingPool(Record):
    """What to judge next of the first `depth` documents of `runs`: `size` documents for `queries` queries.

    `judged` of them have a grade, `relevant` of those are relevant; of a sample, `relevant_in_all` estimates how many
    the whole pool has. `unused` judgments so far are not of the sample, and no estimate uses them.
    """

    method: Method
    depth: int
    budget: int
    runs: tuple[str, ...]
    pairs: tuple[PoolPair, ...]
    size: int
    queries: int
    judged: int
    relevant: int
    seed: int
    round: int = 1
    unused: int = 0
    relevant_in_all: Interval | None = None
    stopping: Stopping | None = None

    @property
    def to_judge(self) -> int:
        """How many of the pairs have no grade yet."""
        return sum(one.grade is None for one in self.pairs)

    def to_rows(self) -> list[dict[str, Value]]:
        """One row per document, in the order in which they are to be judged; `grade` is to be filled in."""
        optional = ("inclusion", "effect")
        kept = [name for name in optional if any(getattr(one, name) is not None for one in self.pairs)]
        texts = any(one.document is not None for one in self.pairs)
        return [
            {
                "query_id": one.query_id,
                "doc_id": one.doc_id,
                **({"query_text": one.query, "document_text": one.document} if texts else {}),
                "grade": one.grade,
                "priority": one.priority,
                "round": one.round,
                "method": self.method,
                **{name: getattr(one, name) for name in kept},
            }
            for one in self.pairs
        ]

    def save(self, place: str | os.PathLike[str]) -> None:
        """Write a result file (.json) with everything, or the list to judge (.jsonl, .csv, .tsv, .parquet)."""
        if Path(place).suffix.lower() == ".json":
            super().save(place)
        else:
            public("write_pool")(self, place)
