"""What is wrong or doubtful in judgments and runs, with counts and examples."""

from __future__ import annotations

import math
import os
import re
import unicodedata
from typing import TYPE_CHECKING, Any

import polars as pl

from assay.formats.conversion import as_judgments, as_whole_run, each_run
from assay.formats.raw import raw_judgments, raw_run
from assay.messages import say
from assay.results.check import Finding, InputCheck

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_EXAMPLES = 3
_UNJUDGED_DEPTH = 10
_UNJUDGED_ALARM = 0.2
_SEPARATOR = re.compile(r"#|::|_chunk_|-chunk-|[_/:.-]")


def check(
    judgments: Any, runs: Any = (), *, kind: str | None = None, split: str = "test", encoding: str | None = None
) -> InputCheck:
    """Find problems in judgments and runs before they affect a number.

    Files are checked unchanged, in the format `kind` where it cannot be detected; what would stop an evaluation is
    found, too. `split` is that of a BEIR folder. Frames, dicts and our own types are taken as well.
    Text is UTF-8, or UTF-16 with a byte order mark, unless another `encoding` is named.

    >>> import assay
    >>> [one.kind for one in assay.check({"q1": {"d1": 0}}, [{"q1": {"d1": 2.0}}]).findings]
    ['no relevant document']
    """
    judged, where = _open_judgments(judgments, kind, split, encoding)
    found = check_judgments(judged, where)
    for given in each_run(runs):
        run, where = _open_run(given, kind, encoding)
        found += [*check_run(run, where), *check_pair(judged, run, where)]
    return InputCheck(tuple(found))


def _open_judgments(given: Any, kind: str | None, split: str, encoding: str | None) -> tuple[pl.DataFrame, str]:
    if isinstance(given, (str, os.PathLike)):
        return raw_judgments(os.fspath(given), kind=kind, split=split, encoding=encoding), os.fspath(given)
    read = as_judgments(given)
    return read.frame, read.source.label if read.source else "judgments"


def _open_run(given: Any, kind: str | None, encoding: str | None) -> tuple[pl.DataFrame, str]:
    if isinstance(given, (str, os.PathLike)):
        kind = None if kind == "beir" else kind
        return raw_run(os.fspath(given), kind=kind, encoding=encoding), os.fspath(given)
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
            "check.duplicate_judgment",
            error=True,
        ),
        *_some(
            frame.filter(~pl.col("grade").is_finite()),
            where,
            "grade not finite",
            "check.grade_not_finite",
            error=True,
        ),
        *_some(
            frame.filter(pl.col("grade") < 0),
            where,
            "negative grade",
            "check.negative_grade",
        ),
        *_some(
            frame.filter(pl.col("grade").is_finite() & (pl.col("grade") != pl.col("grade").round())),
            where,
            "fractional grade",
            "check.fractional_grade",
        ),
    ]
    hopeless = frame.group_by("query_id", maintain_order=True).agg(pl.col("grade").max()).filter(pl.col("grade") <= 0)
    if len(hopeless):
        ids = hopeless["query_id"]
        text = say("check.no_relevant", n=len(ids))
        found.append(Finding(where, "no relevant document", len(ids), text, _heads(ids)))
    return found


def check_run(frame: pl.DataFrame, where: str) -> list[Finding]:
    """Look for duplicates, bad scores, ties, rows out of order and ranks that contradict scores."""
    ids = ["query_id", "chunk_id" if "chunk_id" in frame.columns else "doc_id"]
    found = [
        *_ids(frame, where),
        *_some(
            frame.filter(pl.struct(ids).is_duplicated()).unique(ids, maintain_order=True),
            where,
            "duplicate document",
            "check.duplicate_document",
            error=True,
        ),
        *_some(
            frame.filter(~pl.col("score").is_finite()),
            where,
            "score not finite",
            "check.score_not_finite",
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
        text = say("check.all_tied", n=len(tied))
        found.append(Finding(where, "all scores tied", len(tied), text, _heads(tied)))
    rising = per_query.filter(pl.col("rises"))["query_id"]
    if len(rising):
        text = say("check.unsorted", n=len(rising))
        found.append(Finding(where, "unsorted run", len(rising), text, _heads(rising)))
    if "contradicts" in per_query.columns:
        wrong = per_query.filter(pl.col("contradicts"))["query_id"]
        if len(wrong):
            text = say("check.rank_contradicts", n=len(wrong))
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
    found = [*_other_forms(judgments, run, where)]
    if len(missing) == len(judged):
        text = say("check.no_common", n=len(judged), judged=_heads(judged)[0], listed=_heads(listed)[0])
        return [*found, Finding(where, "no common query", len(judged), text, error=True)]
    if len(missing):
        text = say("check.missing", n=len(missing))
        found.append(Finding(where, "missing query", len(missing), text, _heads(missing)))
    if len(extra):
        text = say("check.not_judged", n=len(extra))
        found.append(Finding(where, "query without judgments", len(extra), text, _heads(extra)))
    return [*found, *_check_gaps(judgments, run, where), *_chunks(judgments, run, where)]


def _check_gaps(judgments: pl.DataFrame, run: pl.DataFrame, where: str) -> Iterator[Finding]:
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
        text = say("check.unjudged", n=len(lost), k=_UNJUDGED_DEPTH, share=share)
        yield Finding(where, "unjudged documents", len(lost), text, _pairs(lost))


def _ids(frame: pl.DataFrame, where: str) -> Iterator[Finding]:
    """Find ids with spaces at their ends, which never match anything."""
    for column in ("query_id", "doc_id"):
        odd = frame.filter(pl.col(column) != pl.col(column).str.strip_chars())
        if len(odd):
            text = say("check.blanks", n=len(odd), column=column)
            yield Finding(where, "blanks around ids", len(odd), text, _heads(odd[column]))
        twins = list(_one_id_in_two_forms(frame[column].unique(maintain_order=True)))
        if twins:
            text = say("check.two_forms", column=column)
            yield Finding(where, "ids in two forms", len(twins), text, _heads(twins))


def _other_forms(judgments: pl.DataFrame, run: pl.DataFrame, where: str) -> Iterator[Finding]:
    """Find ids that would match if full-width and composed characters were written the same way."""
    for column in ("query_id", "doc_id"):
        judged = set(judgments[column].unique())
        by_form = {_form(name): name for name in sorted(judged) if not name.isascii()}
        listed = run[column].unique(maintain_order=True)
        pairs = ((name, by_form.get(_form(name), _form(name))) for name in listed if name not in judged)
        alike = [f"{name!r}, {judged_name!r}" for name, judged_name in pairs if judged_name in judged]
        if alike:
            text = say("check.other_forms", column=column)
            yield Finding(where, "ids in other forms", len(alike), text, _heads(alike))


def _form(name: str) -> str:
    """Normalise an id: full-width characters become plain ones, a letter and its accent one character."""
    return name if name.isascii() else unicodedata.normalize("NFKC", name)


def _one_id_in_two_forms(ids: Iterable[str]) -> Iterator[str]:
    known: dict[str, str] = {}
    for name in ids:
        first = known.setdefault(_form(name), name)
        if first != name:
            yield f"{first!r}, {name!r}"


def _chunks(judgments: pl.DataFrame, run: pl.DataFrame, where: str) -> Iterator[Finding]:
    """Find unjudged ids that begin with a judged one: probably chunks of judged documents."""
    judged = set(judgments["doc_id"])
    found: dict[str, str] = {}
    for doc in run["doc_id"].unique(maintain_order=True):
        # The last # counts, else the first separator.
        mark = None if doc in judged else _SEPARATOR.search(doc, max(1, doc.rfind("#")))
        if mark and doc[: mark.start()] in judged:
            found[doc] = f"{{doc}}{mark[0]}{{chunk}}"
    if found:
        pattern = max(set(found.values()), key=list(found.values()).count)
        text = say("check.chunks", n=len(found), pattern=pattern)
        yield Finding(where, "ids look like chunks", len(found), text, _heads(list(found)))


def _some(frame: pl.DataFrame, where: str, kind: str, key: str, *, error: bool = False) -> Iterator[Finding]:
    if len(frame):
        yield Finding(where, kind, len(frame), say(key, n=len(frame)), _pairs(frame), error)


def _pairs(frame: pl.DataFrame) -> tuple[str, ...]:
    value = "grade" if "grade" in frame.columns else "score" if "score" in frame.columns else None
    rows = frame.head(_EXAMPLES).iter_rows(named=True)
    return tuple(
        f"{row['query_id']} {row['doc_id']}" + (f" {row[value]:g}" if value and not math.isnan(row[value]) else "")
        for row in rows
    )


def _heads(ids: pl.Series | Sequence[str]) -> tuple[str, ...]:
    return tuple(str(item) for item in list(ids[:_EXAMPLES]))
