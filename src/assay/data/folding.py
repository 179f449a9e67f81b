"""Folding a run of chunks to documents."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from assay.errors import InputError, UsageError, excerpt
from assay.lazy import pl
from assay.messages import say

if TYPE_CHECKING:
    from collections.abc import Mapping

    from assay.data.protocol import Ties
    from assay.data.run import Run


def pattern_to_regex(pattern: str) -> str:
    """Turn a pattern such as `{doc}#{chunk}` into a regular expression that captures the document."""
    if pattern.count("{doc}") != 1 or pattern.count("{chunk}") != 1:
        raise UsageError(
            say(
                "the chunk pattern {pattern} must contain {{doc}} and {{chunk}} once each, as in {{doc}}#{{chunk}}",
                pattern=excerpt(pattern),
            )
        )
    parts = re.split(r"(\{doc\}|\{chunk\})", pattern)
    # The last separator counts: a document's own id may contain it.
    return "^" + "".join({"{doc}": "(.+)", "{chunk}": ".*?"}.get(part, re.escape(part)) for part in parts) + "$"


def documents_of(run: Run, chunks: Mapping[str, str] | str | None) -> pl.Series:
    """Name the document of every row: from its own column, a mapping, or a pattern over chunk ids."""
    if run.has_chunks:
        return run.frame["doc_id"]
    if chunks is None:
        raise UsageError(
            say("folding needs to know which document each chunk belongs to: give a chunk map or a pattern")
        )
    ids = run.frame["doc_id"]
    if isinstance(chunks, str):
        docs = ids.str.extract(pattern_to_regex(chunks), 1)
    else:
        docs = ids.replace_strict(list(chunks), list(chunks.values()), default=None, return_dtype=pl.String)
    if docs.null_count():
        lost = excerpt(ids.filter(docs.is_null())[0])
        raise InputError(
            say("chunk {chunk} does not match the pattern {pattern}", chunk=lost, pattern=excerpt(chunks))
            if isinstance(chunks, str)
            else say("chunk {chunk} is not in the chunk map", chunk=lost),
            path=run.source.label if run.source else None,
            hint=say("every chunk in the run must belong to a document"),
        )
    return docs


def fold_run(
    run: Run,
    chunks: Mapping[str, str] | str | None,
    *,
    ties: Ties,
    float32: bool = False,
    ignore_same_id: bool = False,
) -> Run:
    """Keep each document's best chunk. The new score is minus the chunk's position, so the order is kept as it is.

    With `ignore_same_id`, chunks of the document that has the id of the query are left out before anything is counted.
    """
    if ties == "expected":
        raise UsageError(say("ties='expected' cannot be used with folded chunks: use ties='docid' or ties='given'"))
    chunk = "chunk_id" if run.has_chunks else "doc_id"
    frame = run.frame.select("query_id", pl.col(chunk).alias("chunk"), "score", documents_of(run, chunks).alias("doc"))
    keys = ["query_id", pl.col("score").cast(pl.Float32) if float32 else "score"]
    descending = [False, True]
    if ties == "docid":
        keys, descending = [*keys, "chunk"], [*descending, True]
    frame = frame.sort(keys, descending=descending, maintain_order=True)
    twice = frame.filter(pl.struct("query_id", "chunk").is_duplicated())
    if len(twice):
        raise InputError(
            say(
                "chunk {chunk} is listed twice for query {query}",
                chunk=excerpt(twice["chunk"][0]),
                query=excerpt(twice["query_id"][0]),
            ),
            path=run.source.label if run.source else None,
            hint=say("remove one of the lines"),
        )
    asked = frame["query_id"].unique()
    if ignore_same_id:
        frame = frame.filter(pl.col("query_id") != pl.col("doc"))
    emptied = set(asked) - set(frame["query_id"].unique())
    frame = frame.with_columns(position=pl.int_range(1, pl.len() + 1).over("query_id"))
    frame = frame.unique(["query_id", "doc"], keep="first", maintain_order=True)
    folded = frame.select("query_id", doc_id="doc", score=-pl.col("position").cast(pl.Float64))
    return replace(run, rows=folded, empty=(*run.empty, *sorted(emptied)))
