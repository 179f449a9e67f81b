"""What is wrong or doubtful in judgments and runs, with counts and examples."""

from __future__ import annotations

import math
import os
import re
from typing import TYPE_CHECKING, Any

import polars as pl

from assay.formats.given import as_judgments, as_whole_run, each_run
from assay.formats.raw import raw_judgments, raw_run
from assay.results.check import Finding, InputCheck

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_EXAMPLES = 3
_UNJUDGED_DEPTH = 10
_UNJUDGED_ALARM = 0.2
_CHUNKED = re.compile(r"^(.+?)(#|::|_chunk_|-chunk-|[_/:.-])([^#]*)$")


def check(judgments: Any, runs: Any = (), *, kind: str | None = None, split: str = "test") -> InputCheck:
    """Look for trouble in judgments and runs before it becomes a number.

    Files are looked at as they stand, in the format `kind` where it cannot be told; what would stop an evaluation is
    found, too. `split` is that of a BEIR folder. Frames, dicts and our own types are taken as well.

    >>> import assay
    >>> [one.kind for one in assay.check({"q1": {"d1": 0}}, [{"q1": {"d1": 2.0}}]).findings]
    ['no relevant document']
    """
    judged, where = _judged(judgments, kind, split)
    found = check_judgments(judged, where)
    for given in each_run(runs):
        run, where = _listed(given, kind)
        found += [*check_run(run, where), *check_pair(judged, run, where)]
    return InputCheck(tuple(found))


def _judged(given: Any, kind: str | None, split: str) -> tuple[pl.DataFrame, str]:
    if isinstance(given, (str, os.PathLike)):
        return raw_judgments(os.fspath(given), kind=kind, split=split), os.fspath(given)
    read = as_judgments(given)
    return read.frame, read.source.label if read.source else "judgments"


def _listed(given: Any, kind: str | None) -> tuple[pl.DataFrame, str]:
    if isinstance(given, (str, os.PathLike)):
        return raw_run(os.fspath(given), kind=None if kind == "beir" else kind), os.fspath(given)
    run = as_whole_run(given)
    return run.frame, run.source.label if run.source else run.name


def check_judgments(frame: pl.DataFrame, where: str) -> list[Finding]:
    """Look for duplicates, conflicting, negative, fractional or one-sided grades."""
    found = [
        *_ids(frame, where),
        *_some(
            frame.filter(pl.struct("query_id", "doc_id").is_duplicated()).unique(
                ["query_id", "doc_id"], maintain_order=True
            ),
            where,
            "duplicate judgment",
            "pairs are judged more than once: evaluation stops unless --dedupe keeps the first",
            error=True,
        ),
        *_some(
            frame.filter(~pl.col("grade").is_finite()),
            where,
            "grade not finite",
            "grades are NaN or infinite",
            error=True,
        ),
        *_some(
            frame.filter(pl.col("grade") < 0),
            where,
            "negative grade",
            "grades are negative: they mean pooled but not judged, and are never relevant",
        ),
        *_some(
            frame.filter(pl.col("grade").is_finite() & (pl.col("grade") != pl.col("grade").round())),
            where,
            "fractional grade",
            "grades are fractions: kept as they are here, cut off by trec_eval",
        ),
    ]
    hopeless = frame.group_by("query_id", maintain_order=True).agg(pl.col("grade").max()).filter(pl.col("grade") <= 0)
    if len(hopeless):
        ids = hopeless["query_id"]
        found.append(
            Finding(
                where, "no relevant document", len(ids), "queries have no document with a grade above 0", _heads(ids)
            )
        )
    return found


def check_run(frame: pl.DataFrame, where: str) -> list[Finding]:
    """Look for duplicates, bad scores, ties, rows out of order and ranks that contradict scores."""
    found = [
        *_ids(frame, where),
        *_some(
            frame.filter(pl.struct("query_id", "doc_id").is_duplicated()).unique(
                ["query_id", "doc_id"], maintain_order=True
            ),
            where,
            "duplicate document",
            "documents are listed more than once for a query: evaluation stops unless --dedupe keeps the first",
            error=True,
        ),
        *_some(
            frame.filter(~pl.col("score").is_finite()),
            where,
            "score not finite",
            "scores are NaN or infinite",
            error=True,
        ),
    ]
    per_query = frame.group_by("query_id", maintain_order=True).agg(
        pl.len(),
        pl.col("score").n_unique().alias("scores"),
        (pl.col("score").diff() > 0).any().alias("rises"),
        *([_contradicts().alias("contradicts")] if "rank" in frame.columns else []),
    )
    tied = per_query.filter((pl.col("len") > 1) & (pl.col("scores") == 1))["query_id"]
    if len(tied):
        text = "queries have one score for all documents: their order is decided by document ids alone"
        found.append(Finding(where, "all scores tied", len(tied), text, _heads(tied)))
    rising = per_query.filter(pl.col("rises"))["query_id"]
    if len(rising):
        text = "queries are not sorted by score: they are ranked by score, not by the order of lines"
        found.append(Finding(where, "unsorted run", len(rising), text, _heads(rising)))
    if "contradicts" in per_query.columns:
        wrong = per_query.filter(pl.col("contradicts"))["query_id"]
        if len(wrong):
            text = "queries have a rank column that contradicts the scores: scores decide"
            found.append(Finding(where, "rank contradicts score", len(wrong), text, _heads(wrong)))
    return found


def _contradicts() -> pl.Expr:
    """Mark a query in which sorting by rank and sorting by falling score disagree."""
    return (pl.col("score").sort_by("rank").diff() > 0).any()


def check_pair(judgments: pl.DataFrame, run: pl.DataFrame, where: str) -> list[Finding]:
    """Look for queries on one side only and for unjudged documents near the top."""
    judged, listed = judgments["query_id"].unique(maintain_order=True), run["query_id"].unique(maintain_order=True)
    missing = judged.filter(~judged.is_in(listed.implode()))
    extra = listed.filter(~listed.is_in(judged.implode()))
    found = []
    if len(missing) == len(judged):
        text = f"no query in common: the judgments have {_heads(judged)[0]!r}, the run has {_heads(listed)[0]!r}"
        return [Finding(where, "no common query", len(judged), text, error=True)]
    if len(missing):
        text = "judged queries are missing from the run and count as 0 unless --missing skip"
        found.append(Finding(where, "missing query", len(missing), text, _heads(missing)))
    if len(extra):
        found.append(
            Finding(
                where,
                "query without judgments",
                len(extra),
                "queries of the run are not judged and are left out",
                _heads(extra),
            )
        )
    return [*found, *_unjudged(judgments, run, where), *_chunks(judgments, run, where)]


def _unjudged(judgments: pl.DataFrame, run: pl.DataFrame, where: str) -> Iterator[Finding]:
    judged = (
        judgments.filter(pl.col("grade") >= 0)
        .select("query_id", "doc_id")
        .unique()
        .with_columns(judged=pl.lit(value=True))
    )
    top = (
        run.join(judgments.select("query_id").unique(), on="query_id", how="semi")
        .sort(["query_id", "score", "doc_id"], descending=[False, True, True])
        .group_by("query_id", maintain_order=True)
        .head(_UNJUDGED_DEPTH)
        .join(judged, on=["query_id", "doc_id"], how="left")
    )
    share = top["judged"].null_count() / len(top) if len(top) else 0.0
    if share > _UNJUDGED_ALARM:
        lost = top.filter(pl.col("judged").is_null())
        text = f"documents in the top {_UNJUDGED_DEPTH} ({share:.0%}) are unjudged and count as not relevant"
        yield Finding(where, "unjudged documents", len(lost), text, _pairs(lost))


def _ids(frame: pl.DataFrame, where: str) -> Iterator[Finding]:
    """Ids with blanks at their ends never match anything."""
    for column in ("query_id", "doc_id"):
        odd = frame.filter(pl.col(column) != pl.col(column).str.strip_chars())
        if len(odd):
            text = f"rows have blanks around {column}: they will not match"
            yield Finding(where, "blanks around ids", len(odd), text, _heads(odd[column]))


def _chunks(judgments: pl.DataFrame, run: pl.DataFrame, where: str) -> Iterator[Finding]:
    """Find ids that are not judged but whose beginning is: chunks of judged documents."""
    judged = set(judgments["doc_id"])
    found: dict[str, str] = {}
    for doc in run["doc_id"].unique(maintain_order=True):
        form = None if doc in judged else _CHUNKED.match(doc)
        if form and form[1] in judged:
            found[doc] = f"{{doc}}{form[2]}{{chunk}}"
    if found:
        pattern = max(set(found.values()), key=list(found.values()).count)
        text = f"ids are not judged, but what stands before their last part is: use --fold and --chunk-map '{pattern}'"
        yield Finding(where, "ids look like chunks", len(found), text, _heads(list(found)))


def _some(frame: pl.DataFrame, where: str, kind: str, message: str, *, error: bool = False) -> Iterator[Finding]:
    if len(frame):
        yield Finding(where, kind, len(frame), message, _pairs(frame), error)


def _pairs(frame: pl.DataFrame) -> tuple[str, ...]:
    value = "grade" if "grade" in frame.columns else "score" if "score" in frame.columns else None
    rows = frame.head(_EXAMPLES).iter_rows(named=True)
    return tuple(
        f"{row['query_id']} {row['doc_id']}" + (f" {row[value]:g}" if value and not math.isnan(row[value]) else "")
        for row in rows
    )


def _heads(ids: pl.Series | Sequence[str]) -> tuple[str, ...]:
    return tuple(str(item) for item in list(ids[:_EXAMPLES]))
