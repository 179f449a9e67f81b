"""What is wrong or doubtful in whole queries, counted wherever they are; counts of any parts add up to those of all.

A kernel returns tallies: what was found, how often, and the first examples in the order of the alphabet; and beside
them a row for each query, from which the rest is found.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from assay.analysis.check_faults import (
    EXAMPLES,
    UNJUDGED_DEPTH,
    chunk_pattern,
    contradicts,
    form_of,
    ids_in_other_forms,
    judgment_faults,
    one_id_in_two_forms,
    pairs,
    ranking_faults,
)
from assay.analysis.query_kernel import refuse_blanks
from assay.lazy import pl

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from collections.abc import Set as AbstractSet

    from assay.analysis.check_faults import RowFault

QUERY = "query"  # the kind of rows that say what a query has: `n` rows, of the top ones `shown` and `lost`
GAPS = "unjudged documents"
_COLUMNS = {
    "system": "string", "kind": "string", "about": "string", "n": "long", "shown": "long", "lost": "long",
    "example": "string",
}  # fmt: skip
_TYPES = {"string": "String", "long": "Int64"}


@dataclass(frozen=True)
class CheckGrades:
    """Checks the judgments of whole queries."""

    @property
    def columns(self) -> dict[str, str]:
        """Names and types of the columns that it returns."""
        return _COLUMNS

    def __call__(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Check the rows of some queries."""
        refuse_blanks(rows)
        rows = rows.sort("query_id", "doc_id", "grade", nulls_last=True)
        hopeless = rows.group_by("query_id").agg(pl.col("grade").max()).filter(pl.col("grade") <= 0)
        return _frame(
            [*_blanks(rows, ""), *_faults(rows, judgment_faults(), ""),
             *_queries(hopeless["query_id"], "no relevant document", "")],
            rows.group_by("query_id").agg(n=pl.len()),
        )  # fmt: skip


@dataclass(frozen=True)
class CheckLists:
    """Checks whole queries of one run or of several; judged documents come with it, or as rows that have a grade."""

    judged: pl.DataFrame | None

    @property
    def columns(self) -> dict[str, str]:
        """Names and types of the columns that it returns."""
        return _COLUMNS

    def __call__(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Check the rows of some queries."""
        refuse_blanks(rows)
        judged = self.judged
        if judged is None:
            is_judged = pl.col("grade").is_not_null()
            judged, rows = rows.filter(is_judged), rows.filter(~is_judged).drop("grade")
        if "system" not in rows.columns:
            rows = rows.with_columns(system=pl.lit(""))
        parts = rows.partition_by("system", as_dict=True, maintain_order=True)
        found = [_check_list(part, judged, str(name)) for (name,), part in parts.items()]
        return pl.concat(found) if found else _frame([])


def _check_list(rows: pl.DataFrame, judged: pl.DataFrame, system: str) -> pl.DataFrame:
    """Check the queries of one run."""
    chunk = ["chunk_id"] if "chunk_id" in rows.columns else []
    rows = rows.sort("query_id", "doc_id", *chunk, "score", descending=[False, False, *[False for _ in chunk], True])
    per_query = rows.group_by("query_id").agg(
        n=pl.len(),
        tied=(pl.len() > 1) & (pl.col("score").n_unique() == 1),
        wrong=contradicts() if "rank" in rows.columns else pl.lit(value=False),
    )
    top, lost = _look_at_top(rows, judged)
    sizes = top.group_by("query_id").agg(shown=pl.len())
    gaps = lost.group_by("query_id").agg(lost=pl.len())
    per_query = per_query.join(sizes, on="query_id", how="left").join(gaps, on="query_id", how="left")
    tallies = [
        *_blanks(rows, system),
        *_faults(rows, ranking_faults(rows.columns), system),
        *_queries(per_query.filter("tied")["query_id"], "all scores tied", system),
        *_queries(per_query.filter("wrong")["query_id"], "rank contradicts score", system),
        *_tally(system, GAPS, "", len(lost), _first_rows(lost)),
    ]
    return _frame(tallies, per_query.with_columns(pl.lit(system).alias("system")))


def _look_at_top(rows: pl.DataFrame, judged: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The first documents of judged queries, and those of them that were not judged."""
    top = (
        rows.join(judged.select("query_id").unique(), on="query_id", how="semi")
        .sort("query_id", "score", "doc_id", descending=[False, True, True])
        .group_by("query_id", maintain_order=True)
        .head(UNJUDGED_DEPTH)
    )
    return top, top.join(judged.filter(pl.col("grade") >= 0), on=["query_id", "doc_id"], how="anti")


@dataclass(frozen=True)
class FormOfIds:
    """Adds to every document the form in which ids are compared."""

    several: bool

    @property
    def columns(self) -> dict[str, str]:
        """Names and types of the columns that it returns."""
        return {**({"system": "string"} if self.several else {}), "doc_id": "string", "form": "string"}

    def __call__(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Add the form."""
        found = rows.with_columns(pl.Series("form", list(map(form_of, rows["doc_id"])), pl.String))
        return found.select(list(self.columns))


@dataclass(frozen=True)
class CheckIds:
    """Checks all documents that have the same form: whether they are written alike, and as the judged ones are."""

    judged: AbstractSet[str]

    @property
    def columns(self) -> dict[str, str]:
        """Names and types of the columns that it returns."""
        return _COLUMNS

    def __call__(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Check some forms."""
        if "system" not in rows.columns:
            rows = rows.with_columns(system=pl.lit(""))
        rows = rows.unique(["system", "doc_id"]).sort("system", "doc_id")
        found: list[Tally] = []
        for (system,), part in rows.partition_by("system", as_dict=True, maintain_order=True).items():
            found += tally_ids(part["doc_id"].to_list(), self.judged, str(system), "doc_id")
        return _frame(found)


Tally = dict[str, Any]


def tally_ids(ids: Sequence[str], judged: AbstractSet[str], system: str, column: str) -> Iterator[Tally]:
    """Look for ids in two forms and in other forms than judged ones; and, of documents, for ids of chunks."""
    yield from _tally(system, "ids in two forms", column, *_first(one_id_in_two_forms(ids)))
    yield from _tally(system, "ids in other forms", column, *_first(ids_in_other_forms(ids, judged)))
    if column == "query_id":
        return
    by_pattern: defaultdict[str, list[str]] = defaultdict(list)
    for name in ids:
        pattern = None if name in judged else chunk_pattern(name, judged)
        if pattern is not None:
            by_pattern[pattern].append(name)
    for pattern, names in by_pattern.items():
        yield from _tally(system, "ids look like chunks", pattern, *_first(names))


def merge(found: pl.DataFrame) -> dict[tuple[str, str], tuple[Counter[str], dict[str, list[str]]]]:
    """Add tallies up: for each system and kind, counts and first examples by what they are about."""
    counts: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    shown: defaultdict[tuple[str, str], defaultdict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for row in found.filter(pl.col("kind") != QUERY).iter_rows(named=True):
        key = row["system"], row["kind"]
        counts[key][row["about"]] += row["n"]
        shown[key][row["about"]].append(row["example"])
    return {
        key: (counts[key], {about: sorted(names)[:EXAMPLES] for about, names in shown[key].items()}) for key in counts
    }


def _frame(tallies: Iterable[Tally], queries: pl.DataFrame | None = None) -> pl.DataFrame:
    """Tallies, and a row for each query."""
    schema: Any = {name: getattr(pl, _TYPES[kind])() for name, kind in _COLUMNS.items()}
    found = pl.DataFrame(list(tallies), schema=schema)
    if queries is None:
        return found
    rows = queries.rename({"query_id": "example"}).with_columns(kind=pl.lit(QUERY))
    defaults = {"system": "", "about": "", "shown": 0, "lost": 0}
    rows = rows.with_columns(pl.lit(value).alias(name) for name, value in defaults.items() if name not in rows.columns)
    return pl.concat([found, rows.select(pl.col(name).cast(kind).fill_null(0) if kind == pl.Int64 else name
                                         for name, kind in schema.items())])  # fmt: skip


def _tally(system: str, kind: str, about: str, n: int, examples: Sequence[str]) -> Iterator[Tally]:
    """One row for each example; the first of them has the count."""
    for place, example in enumerate(examples if n else ()):
        yield {"system": system, "kind": kind, "about": about, "n": 0 if place else n, "example": example}


def _first(examples: Iterable[str]) -> tuple[int, list[str]]:
    found = sorted(examples)
    return len(found), found[:EXAMPLES]


def _queries(ids: pl.Series, kind: str, system: str) -> Iterator[Tally]:
    yield from _tally(system, kind, "", len(ids), ids.sort().head(EXAMPLES).to_list())


def _faults(rows: pl.DataFrame, faults: Sequence[RowFault], system: str) -> Iterator[Tally]:
    for one in faults:
        odd = rows.filter(one.mark)
        yield from _tally(system, one.kind, "", len(odd), _first_rows(odd))


def _first_rows(odd: pl.DataFrame) -> tuple[str, ...]:
    return pairs(odd.sort(pl.concat_str("query_id", "doc_id", separator=" "), maintain_order=True))


def _blanks(rows: pl.DataFrame, system: str) -> Iterator[Tally]:
    for column in ("query_id", "doc_id"):
        odd = rows.filter(pl.col(column) != pl.col(column).str.strip_chars())[column]
        yield from _tally(system, "blanks around ids", column, len(odd), odd.sort().head(EXAMPLES).to_list())
