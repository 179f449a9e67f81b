"""Judgments: which documents are relevant to which queries, and how much."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Literal, SupportsFloat

import numpy as np

from assay.data.pool import Pool
from assay.errors import InputError, Repeated, excerpt
from assay.lazy import pl
from assay.messages import Said, say

if TYPE_CHECKING:
    from collections.abc import Mapping

    from assay.data.segments import Floats
    from assay.data.source import Source


_LARGEST = 1e100  # of a grade: sums of gains stay numbers
CLICKS = "clicks:"  # the beginning of the name of a click model as the judge


@dataclass(frozen=True, eq=False)
class Judgments:
    """Grades of (query, document) pairs, one row each, ordered by query and document.

    A negative grade means "pooled but not judged". With `subtopic` rows, a pair may have one row per subtopic;
    `groups` says whether these are aspects of a diversity task ("subtopics") or the OR-groups of gold given as an
    AND of ORs ("gold"), for which recall counts satisfied groups. `empty` queries were judged and have no document at
    all; `complete` judgments name everything relevant, so that a document they leave out is not a gap. `judge` names
    the language model that made the grades, or the model of clicks (`clicks:coec`), if one did.
    Without groups they may come as a `Pool`. Judgments of a sample have the probability of `inclusion` of every pair;
    what was drawn and not judged has a negative grade.
    """

    rows: pl.DataFrame | Pool
    source: Source | None = None
    groups: Literal["none", "subtopics", "gold"] = "none"
    notes: tuple[str, ...] = field(default=())
    empty: tuple[str, ...] = ()
    complete: bool = False
    judge: str = ""
    inclusion: Floats | None = None

    @classmethod
    def of(
        cls,
        frame: pl.DataFrame,
        *,
        source: Source | None = None,
        groups: Literal["none", "subtopics", "gold"] = "none",
        notes: tuple[str, ...] = (),
        dedupe: bool = False,
        empty: tuple[str, ...] = (),
        complete: bool = False,
        judge: str = "",
    ) -> Judgments:
        """Check and order a frame with columns query_id, doc_id, grade and, where there are groups, subtopic."""
        keys = ["query_id", "doc_id"] if groups == "none" else ["query_id", "doc_id", "subtopic"]
        drawn = ["inclusion"] if "inclusion" in frame.columns else []
        frame = frame.select(*keys, pl.col("grade", *drawn).cast(pl.Float64))
        place = None if source is None else source.label
        if not (usable := frame["grade"].is_finite() & (frame["grade"].abs() <= _LARGEST)).all():
            odd = frame.filter(~usable)
            raise _unusable(odd["grade"][0], odd["query_id"][0], odd["doc_id"][0], source)
        if dedupe:
            frame = frame.unique(keys, keep="first", maintain_order=True)
        frame = frame.sort(keys, maintain_order=True)
        repeats = pl.all_horizontal(pl.col(key) == pl.col(key).shift(1) for key in keys)
        if frame.select(repeats.any()).item():
            twice = frame.filter(repeats)
            raise Repeated(twice["query_id"][0], twice["doc_id"][0], "judged", path=place)
        inclusion = frame["inclusion"].to_numpy() if drawn else None
        rows = frame.drop(drawn)
        return cls._check(cls(rows, source, groups, notes, empty, complete, judge, inclusion))

    @staticmethod
    def _check(found: Judgments) -> Judgments:
        if not len(found) and not found.empty:
            place = None if found.source is None else found.source.label
            raise InputError(
                say("there are no judgments"), path=place, hint=say("expected at least one judged document")
            )
        return found

    @classmethod
    def from_dict(cls, grades: Mapping[object, Mapping[object, float]]) -> Judgments:
        """Take {query: {document: grade}}; ids become text; a query without documents has nothing relevant."""
        if {*map(type, grades), *map(type, itertools.chain.from_iterable(grades.values()))} <= {str}:
            return cls._from_texts(grades)  # type: ignore[arg-type]
        rows = [(str(query), str(doc), grade) for query, docs in grades.items() for doc, grade in docs.items()]
        try:
            values = np.fromiter((grade for _, _, grade in rows), np.float64)
        except (TypeError, ValueError, OverflowError):
            raise _wrong_grade(grades) from None
        ids = {"query_id": [query for query, _, _ in rows], "doc_id": [doc for _, doc, _ in rows]}
        empty = tuple(str(query) for query, docs in grades.items() if not docs)
        return cls.of(pl.DataFrame({**ids, "grade": values}, schema=schema()), empty=empty)

    @classmethod
    def _from_texts(cls, grades: Mapping[str, Mapping[str, float]]) -> Judgments:
        """Take ids that are text."""
        docs: list[str] = []
        values: list[float] = []
        queries = sorted(query for query in grades if grades[query])
        for query in queries:
            judged = grades[query]
            ordered = sorted(judged)
            docs += ordered
            values.extend(map(judged.__getitem__, ordered))
        try:
            grade = np.fromiter(values, np.float64, len(values))
        except (TypeError, ValueError, OverflowError):
            raise _wrong_grade(grades) from None
        pool = Pool(queries, np.array([len(grades[query]) for query in queries], np.int64), docs, grade)
        return cls.of_pool(pool, empty=tuple(query for query in grades if not grades[query]))

    @classmethod
    def of_pool(cls, pool: Pool, *, source: Source | None = None, empty: tuple[str, ...] = ()) -> Judgments:
        """Take a pool."""
        odd = np.flatnonzero(~(np.abs(pool.grade) <= _LARGEST))
        if len(odd):
            query = pool.queries[int(np.searchsorted(pool.first, odd[0], side="right")) - 1]
            raise _unusable(float(pool.grade[odd[0]]), query, pool.names[odd[0]], source)
        return cls._check(cls(pool, source, empty=empty))

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def frame(self) -> pl.DataFrame:
        """All rows; with groups, they have a subtopic."""
        return self.rows.frame() if isinstance(self.rows, Pool) else self.rows

    @cached_property
    def pairs(self) -> pl.DataFrame:
        """One row per (query, document): with subtopics, the highest grade of any."""
        if self.groups == "none":
            return self.frame
        return self.frame.group_by("query_id", "doc_id", maintain_order=True).agg(pl.col("grade").max())

    @cached_property
    def pool(self) -> Pool:
        """The pairs in columns."""
        return self.rows if isinstance(self.rows, Pool) else Pool.of(self.pairs)

    @property
    def query_ids(self) -> list[str]:
        """The queries with judged documents in id order."""
        return self.pool.queries

    def facts_of(self, queries: list[str]) -> dict[Any, Any]:
        """What follows from the pool alone, shared by all rankings of the same queries, as those of many runs are."""
        before = self._facts.get("last")
        if before is None or before[0] != queries:
            before = self._facts["last"] = (queries, {})
        return before[1]

    @cached_property
    def _facts(self) -> dict[str, tuple[list[str], dict[Any, Any]]]:
        return {}

    @cached_property
    def max_grade(self) -> float:
        """The largest grade in all judgments."""
        return float(self.pool.grade.max()) if len(self.pool) else 0.0

    @cached_property
    def least_positive(self) -> float:
        """The smallest grade above 0; infinite if there is none."""
        grade = self.pool.grade if self.groups == "none" else self.frame["grade"].to_numpy()
        return float(grade[grade > 0].min(initial=np.inf))

    @cached_property
    def by_query(self) -> dict[str, dict[str, float]]:
        """The same as {query: {document: grade}}."""
        found: dict[str, dict[str, float]] = {query: {} for query in self.query_ids}
        for query, doc, grade in self.pairs.iter_rows():
            found[query][doc] = grade
        return found

    def to_dict(self) -> dict[str, dict[str, float]]:
        """Copy to {query: {document: grade}}."""
        return {query: dict(docs) for query, docs in self.by_query.items()} | {query: {} for query in self.empty}

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the content, the same for the same judgments in any format and order."""
        rows = self.frame if self.inclusion is None else self.frame.with_columns(inclusion=pl.Series(self.inclusion))
        return sha256((rows.write_csv() + "\n".join(sorted(self.empty))).encode()).hexdigest()


def warn_of_judge(judge: str) -> Said:
    """Say whose grades these are that were never compared with people's: a language model's, or users' clicks."""
    if judge.startswith(CLICKS):
        return say("doubt.clicks", model=judge.removeprefix(CLICKS))
    return say("doubt.uncalibrated", judge=judge)


def stamp_of(judge: str) -> Said:
    """The same in two or three words, for a column of a table."""
    return say("doubt.stamp_clicks") if judge.startswith(CLICKS) else say("doubt.stamp")


def describe_calibration(judge: str, how: str) -> Said:
    """Say whose grades these are, and how far they agree with people's."""
    if judge.startswith(CLICKS):
        return say("doubt.clicks_calibrated", model=judge.removeprefix(CLICKS), how=how)
    return say("doubt.calibrated", judge=judge, how=how)


def schema() -> dict[str, type[pl.DataType]]:
    """Types of the columns."""
    return {"query_id": pl.String, "doc_id": pl.String, "grade": pl.Float64}


def _unusable(grade: float, query: str, doc: str, source: Source | None) -> InputError:
    path = None if source is None else source.label
    if math.isfinite(grade):
        return InputError(
            say(
                "the grade {grade} of document {doc} for query {query} is too large (at most {most})",
                grade=f"{grade:g}",
                doc=excerpt(doc),
                query=excerpt(query),
                most=f"{_LARGEST:g}",
            ),
            path=path,
        )
    return InputError(
        say(
            "the grade {grade} of document {doc} for query {query} is not a finite number",
            grade=grade,
            doc=excerpt(doc),
            query=excerpt(query),
        ),
        path=path,
        hint=say("give every judged document a number"),
    )


def _wrong_grade(grades: Mapping[Any, Mapping[Any, Any]]) -> InputError:
    """Name the first grade that is not a number."""
    for query, docs in grades.items():
        for doc, grade in docs.items():
            if type(grade) is str or not isinstance(grade, SupportsFloat):
                return InputError(
                    say(
                        "the grade {grade} of document {doc} for query {query} is not a number",
                        grade=excerpt(grade),
                        doc=excerpt(doc),
                        query=excerpt(query),
                    )
                )
    return InputError(say("the grades cannot be read as numbers"))
