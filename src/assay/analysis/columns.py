"""Further measures beside those of a ranking: columns of per-query values joined to scores."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from assay.analysis.doubts import doubts
from assay.data.scores import STATUSES, UNDEFINED, Column, Counts
from assay.errors import UsageError
from assay.pipeline.gold import coverage, inside

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from assay.analysis.answers import Answers
    from assay.data.scores import Scores
    from assay.pipeline.gold import GoldSpan
    from assay.pipeline.records import Chunk
    from assay.pipeline.runner import Execution

_SPAN = re.compile(r"(span_recall|span_precision)@(\d+)")


def with_column(scores: Scores, about: Column, values: Mapping[str, tuple[float | None, str]]) -> Scores:
    """Add a measure by hand: for each query a value, or None with a status; other queries are undefined."""
    rows = [values.get(query, (None, "undefined")) for query in scores.query_ids]
    column = np.array([np.nan if value is None else value for value, _ in rows])
    codes = np.array(
        [STATUSES.index(status) if status in STATUSES else UNDEFINED for _, status in rows], dtype=np.uint8
    )
    number = {status: int((codes == code).sum()) for code, status in enumerate(STATUSES)}
    return replace(
        scores,
        columns=(*scores.columns, about),
        values=np.column_stack([scores.values, column]),
        status=np.column_stack([scores.status, codes]),
        counts={
            **scores.counts,
            about.label: Counts(
                queries=int((~np.isnan(column)).sum()), missing=number["missing"], undefined=number["undefined"],
                unjudged=number["unjudged"], abstained=number["abstained"],
                not_applicable=number["not_applicable"], failed=number["failed"],
            ),
        },
    )  # fmt: skip


def with_answers(scores: Scores, found: Answers, judge: str) -> Scores:
    """Add the columns of a system's answers to those of its ranking; `judge` is the language model, if there is one."""
    for label in found.labels:
        cells = zip(found.query_ids, found.column(label).tolist(), found.status[:, found.labels.index(label)].tolist(),
                    strict=True)  # fmt: skip
        values = {query: (None if value != value else value, STATUSES[code]) for query, value, code in cells}  # noqa: PLR0124
        scores = with_column(scores, found.about(label), values)
    joined = replace(
        scores,
        asked={**scores.asked, **found.asked},
        judge=scores.judge or judge,
        embedder=scores.embedder or found.embedder,
    )
    return replace(joined, warnings=doubts(joined))


def is_span_measure(text: object) -> bool:
    """Tell measures of gold spans from those of rankings."""
    return isinstance(text, str) and text.startswith("span_")


def span_column(text: str) -> Column:
    """What is known about a measure of gold spans."""
    name, _, cut = text.partition("@")
    return Column(text, text, name, k=int(cut) if cut.isdigit() else None, subject="spans")


def span_values(
    text: str, outcome: Execution, queries: Sequence[str], spans: Sequence[GoldSpan], share: float
) -> dict[str, tuple[float | None, str]]:
    """Values of a span measure for each query.

    span_recall@k: share of the query's gold spans of which the top k chunks together hold at least `share` of the
    characters. span_precision@k: share of the characters of the top k chunks that lie in gold spans.
    """
    found = _SPAN.fullmatch(text)
    if found is None:
        raise UsageError(f"{text}: expected span_recall@k or span_precision@k")
    k = int(found[2])
    by_query: dict[str, list[GoldSpan]] = {}
    for span in spans:
        by_query.setdefault(span.query_id, []).append(span)
    values: dict[str, tuple[float | None, str]] = {}
    for query, hits in zip(queries, outcome.hits, strict=True):
        mine = by_query.get(query)
        if mine is None:
            continue
        top = [outcome.chunks[number] for number in hits.chunks[:k]]
        measure = _recall if found[1] == "span_recall" else _precision
        values[query] = measure(mine, top, share), "scored"
    return values


def _recall(spans: Sequence[GoldSpan], top: Sequence[Chunk], share: float) -> float:
    enough = [got >= share * (span.end - span.start) for span, got in zip(spans, coverage(spans, top), strict=True)]
    return sum(enough) / len(enough)


def _precision(spans: Sequence[GoldSpan], top: Sequence[Chunk], share: float) -> float:
    del share
    size = sum(chunk.end - chunk.start for chunk in top)
    return sum(inside(chunk, spans) for chunk in top) / size if size else 0.0
