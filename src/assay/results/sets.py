"""What evaluation sets hold, and how one was split."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from assay.data.record import Record, Value
from assay.results.parts import part


@dataclass(frozen=True)
class FileOfSet:
    """A file of a set: what it holds, who or what made its rows, from what, and when."""

    name: str
    role: str
    rows: int
    made_at: str = ""
    made_by: Mapping[str, int] = field(default_factory=dict)
    models: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    edited_at: str = ""


@dataclass(frozen=True)
class Inclusion:
    """Rows of a file that have a probability of having been drawn, and the smallest and largest of them."""

    role: str
    rows: int
    least: float
    most: float


@part("set", view="sets")
@dataclass(frozen=True)
class SetDescription(Record):
    """What is in an evaluation set, where it came from, and what it lacks.

    `kinds` counts queries by who made them (real, model, known_items, unknown); `categories` counts the values of
    columns that have few; `grades` counts judged pairs. `gold_queries` have a gold span, `scorable` have a span or a
    relevant document. `documents` is None where the set has none.
    """

    name: str
    version: str
    files: tuple[FileOfSet, ...]
    queries: int
    kinds: Mapping[str, int]
    language: str = ""
    made_at: str = ""
    documents: int | None = None
    languages: Mapping[str, int] = field(default_factory=dict)
    categories: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    grades: Mapping[str, int] = field(default_factory=dict)
    judged_queries: int = 0
    judge: str = ""
    spans: int = 0
    gold_queries: int = 0
    scorable: int = 0
    references: int = 0
    inclusion: tuple[Inclusion, ...] = ()
    missing: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    def topic(self) -> str:
        """The set."""
        return self.name

    @property
    def pairs_judged(self) -> int:
        """How many pairs are judged."""
        return sum(self.grades.values())

    def to_rows(self) -> list[dict[str, Value]]:
        """One row per file."""
        return [
            {
                "set": self.name,
                "version": self.version,
                "file": one.name,
                "role": one.role,
                "rows": one.rows,
                "made_by": "; ".join(f"{maker} {n}" for maker, n in one.made_by.items()),
                "models": "; ".join(one.models),
                "sources": "; ".join(one.sources),
                "made_at": one.made_at,
                "edited_at": one.edited_at,
            }
            for one in self.files
        ]


@dataclass(frozen=True)
class PartOfSet:
    """One part of a split: its set, the share that was asked for, and its queries, in all and by stratum."""

    name: str
    version: str
    queries: int
    share: float | None = None
    strata: Mapping[str, int] = field(default_factory=dict)


@part("set_split")
@dataclass(frozen=True)
class SetSplit(Record):
    """A set that was split into others: which, by which column, what was kept together, and with which seed."""

    source: str
    version: str
    parts: tuple[PartOfSet, ...]
    by: str = ""
    together: str = ""
    units: int = 0
    seed: int = 0

    def topic(self) -> str:
        """The set that was split."""
        return self.source

    @property
    def queries(self) -> int:
        """How many queries there are in all."""
        return sum(one.queries for one in self.parts)

    @property
    def strata(self) -> list[str]:
        """The values of the column that strata are made by."""
        return list(dict.fromkeys(name for one in self.parts for name in one.strata))

    def to_rows(self) -> list[dict[str, Value]]:
        """One row per part and stratum."""
        return [
            {
                "part": one.name,
                "version": one.version,
                "share": one.share,
                "queries": one.queries,
                "stratum": stratum,
                "queries_of_stratum": n,
            }
            for one in self.parts
            for stratum, n in (one.strata or {"": one.queries}).items()
        ]
