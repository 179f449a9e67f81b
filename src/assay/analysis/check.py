"""What is wrong or doubtful in judgments and runs, with counts and examples."""

from __future__ import annotations

import os
from collections import Counter
from typing import TYPE_CHECKING, Any

import polars as pl

from assay.analysis.check_faults import (
    EXAMPLES,
    UNJUDGED_ALARM,
    UNJUDGED_DEPTH,
    chunk_pattern,
    commonest,
    contradicts,
    ids_in_other_forms,
    judgment_faults,
    one_id_in_two_forms,
    pairs,
    ranking_faults,
)
from assay.formats.conversion import as_judgments, as_whole_run, each_run
from assay.formats.raw import raw_judgments, raw_run
from assay.messages import say
from assay.results.check import Finding, InputCheck

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from assay.analysis.check_faults import RowFault


def check(
    judgments: Any, runs: Any = (), *, kind: str | None = None, split: str = "test", encoding: str | None = None,
    engine: str | None = None,
) -> InputCheck:  # fmt: skip
    """Find problems in judgments and runs before they affect a number.

    Files are checked unchanged, in the format `kind` where it cannot be detected; what would stop an evaluation is
    found, too. `split` is that of a BEIR folder. Frames, dicts and our own types are taken as well.
    Text is UTF-8, or UTF-16 with a byte order mark, unless another `encoding` is named. With an `engine`, `local` or
    `spark`, Parquet folders, tables and frames of Spark are checked where they are.

    >>> import assay
    >>> [one.kind for one in assay.check({"q1": {"d1": 0}}, [{"q1": {"d1": 2.0}}]).findings]
    ['no relevant document']
    """
    if engine is not None:
        from assay.analysis.check_tables import check_tables

        return check_tables(judgments, runs, engine=engine, kind=kind, split=split, encoding=encoding)
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
    found = [*_ids(frame, where), *_faults(frame, judgment_faults(), where)]
    hopeless = frame.group_by("query_id", maintain_order=True).agg(pl.col("grade").max()).filter(pl.col("grade") <= 0)
    if len(hopeless):
        ids = hopeless["query_id"]
        text = say("check.no_relevant", n=len(ids))
        found.append(Finding(where, "no relevant document", len(ids), text, _heads(ids)))
    return found


def check_run(frame: pl.DataFrame, where: str) -> list[Finding]:
    """Look for duplicates, bad scores, ties, rows out of order and ranks that contradict scores."""
    found = [*_ids(frame, where), *_faults(frame, ranking_faults(frame.columns), where)]
    per_query = frame.group_by("query_id", maintain_order=True).agg(
        pl.len(),
        pl.col("score").n_unique().alias("scores"),
        (pl.col("score").diff() > 0).any().alias("rises"),
        *([contradicts().alias("contradicts")] if "rank" in frame.columns else []),
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
        .head(UNJUDGED_DEPTH)
        .join(judged, on=["query_id", "doc_id"], how="left")
    )
    share = top["judged"].null_count() / len(top) if len(top) else 0.0
    if share > UNJUDGED_ALARM:
        lost = top.filter(pl.col("judged").is_null())
        text = say("check.unjudged", n=len(lost), k=UNJUDGED_DEPTH, share=share)
        yield Finding(where, "unjudged documents", len(lost), text, pairs(lost))


def _ids(frame: pl.DataFrame, where: str) -> Iterator[Finding]:
    """Find ids with spaces at their ends, which never match anything."""
    for column in ("query_id", "doc_id"):
        odd = frame.filter(pl.col(column) != pl.col(column).str.strip_chars())
        if len(odd):
            text = say("check.blanks", n=len(odd), column=column)
            yield Finding(where, "blanks around ids", len(odd), text, _heads(odd[column]))
        twins = list(one_id_in_two_forms(frame[column].unique(maintain_order=True)))
        if twins:
            text = say("check.two_forms", column=column)
            yield Finding(where, "ids in two forms", len(twins), text, _heads(twins))


def _other_forms(judgments: pl.DataFrame, run: pl.DataFrame, where: str) -> Iterator[Finding]:
    """Find ids that would match if full-width and composed characters were written the same way."""
    for column in ("query_id", "doc_id"):
        judged = set(judgments[column].unique())
        alike = list(ids_in_other_forms(run[column].unique(maintain_order=True), judged))
        if alike:
            text = say("check.other_forms", column=column)
            yield Finding(where, "ids in other forms", len(alike), text, _heads(alike))


def _chunks(judgments: pl.DataFrame, run: pl.DataFrame, where: str) -> Iterator[Finding]:
    """Find unjudged ids that begin with a judged one: probably chunks of judged documents."""
    judged = set(judgments["doc_id"])
    found: dict[str, str] = {}
    for doc in run["doc_id"].unique(maintain_order=True):
        pattern = None if doc in judged else chunk_pattern(doc, judged)
        if pattern is not None:
            found[doc] = pattern
    if found:
        pattern = commonest(Counter(found.values()))
        text = say("check.chunks", n=len(found), pattern=pattern)
        yield Finding(where, "ids look like chunks", len(found), text, _heads(list(found)))


def _faults(frame: pl.DataFrame, faults: Sequence[RowFault], where: str) -> Iterator[Finding]:
    for one in faults:
        odd = frame.filter(one.mark)
        if len(odd):
            yield Finding(where, one.kind, len(odd), say(one.key, n=len(odd)), pairs(odd), one.error)


def _heads(ids: pl.Series | Sequence[str]) -> tuple[str, ...]:
    return tuple(str(item) for item in list(ids[:EXAMPLES]))
