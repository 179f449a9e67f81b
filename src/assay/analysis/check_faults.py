"""What may be wrong or doubtful in rows and ids of judgments and runs, wherever they are looked at."""

from __future__ import annotations

import math
import re
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet

EXAMPLES = 3
UNJUDGED_DEPTH = 10
UNJUDGED_ALARM = 0.2
_SEPARATOR = re.compile(r"#|::|_chunk_|-chunk-|[_/:.-]")


@dataclass(frozen=True)
class RowFault:
    """What may be wrong with a row: its kind, the key of its message, and what marks such rows."""

    kind: str
    key: str
    mark: pl.Expr
    error: bool = False


def judgment_faults() -> tuple[RowFault, ...]:
    """What may be wrong with rows of judgments."""
    grade = pl.col("grade")
    fractional = grade.is_finite() & (grade != grade.round())
    return (
        RowFault("duplicate judgment", "check.duplicate_judgment", _repeats("query_id", "doc_id"), error=True),
        RowFault("grade not finite", "check.grade_not_finite", ~grade.is_finite(), error=True),
        RowFault("negative grade", "check.negative_grade", grade < 0),
        RowFault("fractional grade", "check.fractional_grade", fractional),
    )


def ranking_faults(names: Sequence[str]) -> tuple[RowFault, ...]:
    """What may be wrong with rows of a run that has these columns."""
    repeats = _repeats("query_id", "chunk_id" if "chunk_id" in names else "doc_id")
    return (
        RowFault("duplicate document", "check.duplicate_document", repeats, error=True),
        RowFault("score not finite", "check.score_not_finite", ~pl.col("score").is_finite(), error=True),
    )


def _repeats(*ids: str) -> pl.Expr:
    """Mark the first of rows that have the same ids."""
    return pl.struct(ids).is_duplicated() & pl.struct(ids).is_first_distinct()


def contradicts() -> pl.Expr:
    """Mark a query in which sorting by rank and sorting by falling score disagree."""
    return (pl.col("score").sort_by("rank").diff() > 0).any()


def pairs(frame: pl.DataFrame) -> tuple[str, ...]:
    """Show the first rows: query, document and value."""
    value = "grade" if "grade" in frame.columns else "score" if "score" in frame.columns else None
    rows = frame.head(EXAMPLES).iter_rows(named=True)
    return tuple(
        f"{row['query_id']} {row['doc_id']}" + (f" {row[value]:g}" if value and not math.isnan(row[value]) else "")
        for row in rows
    )


def one_id_in_two_forms(ids: Iterable[str]) -> Iterator[str]:
    """Show ids beside the first one that would be the same in the same form."""
    known: dict[str, str] = {}
    for name in ids:
        first = known.setdefault(form_of(name), name)
        if first != name:
            yield f"{first!r}, {name!r}"


def ids_in_other_forms(listed: Iterable[str], judged: AbstractSet[str]) -> Iterator[str]:
    """Show ids that are not judged beside the judged one that they would be in the same form."""
    by_form = {form_of(name): name for name in sorted(name for name in judged if not name.isascii())}
    for name in listed:
        form = form_of(name)
        alike = by_form.get(form, form)
        if name not in judged and alike in judged:
            yield f"{name!r}, {alike!r}"


def form_of(name: str) -> str:
    """Normalise an id: full-width characters become plain ones, a letter and its accent one character."""
    return name if name.isascii() else unicodedata.normalize("NFKC", name)


def chunk_pattern(doc: str, judged: AbstractSet[str]) -> str | None:
    """How the id of a chunk is made of that of a judged document, if it is."""
    mark = _SEPARATOR.search(doc, max(1, doc.rfind("#")))  # the last # counts, else the first separator
    return f"{{doc}}{mark[0]}{{chunk}}" if mark and doc[: mark.start()] in judged else None


def commonest(patterns: Mapping[str, int]) -> str:
    """The pattern of most ids; of several, the first in the alphabet."""
    return min(patterns, key=lambda pattern: (-patterns[pattern], pattern))
