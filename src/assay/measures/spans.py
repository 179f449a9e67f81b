"""Measures of retrieved chunks against gold spans: the same for every way to cut the documents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.data.spans import count_covered, cut_after, inside
from assay.errors import UsageError
from assay.measures.registry import measure
from assay.messages import say

if TYPE_CHECKING:
    from assay.data.spans import SpanCase


@measure(cutoff="required", of="spans", ideal_is_one=True)
def span_recall(case: SpanCase, k: int, *, share: float = 0.5, characters: int | None = None) -> float:
    """Share of a query's gold spans that the top k chunks hold.

    Definition: spans of which the first k chunks together hold at least a share of the characters / all spans of the
      query. Spans that are alternatives (the same answer_part) count as one, found if any of them is.
    Parameters:
      share: the least share of a span's characters that must be retrieved, above 0 and at most 1.
      characters: read only so many characters of the chunks, the best chunk first, and cut the last one there; without
        it, chunks are read whole. Chunks of different sizes are compared fairly with the same number of characters.
    Odd cases: characters that several chunks hold count once. A text that occurs several times in its document is found
      if one of its places is. A query for which nothing is retrieved has 0; a query without gold spans is undefined
      and in no mean.
    Agrees with: no tool known: chunking benchmarks count tokens, or take the share itself for the value.
    Reading: .80 at k = 5 means that one span in five is not among what a generator reads.
    Use when: ways to cut documents are compared: judgments of chunks would change with the chunks.
    Not when: it is the only measure and chunks differ in size: chunks as large as documents hold everything. Give
      characters, or see span_precision.
    """
    if not 0 < share <= 1:
        raise UsageError(say("span_recall(share={share:g}): expected a share above 0 and at most 1", share=share))
    if characters is not None and characters < 1:
        raise UsageError(say("span_recall(characters={n}): expected 1 or more", n=characters))
    held = count_covered(case.spans, cut_after(case.chunks[:k], characters))
    parts: dict[str | int, bool] = {}
    for place, (span, size) in enumerate(zip(case.spans, held, strict=True)):
        name = span.part or place
        parts[name] = parts.get(name, False) or size >= share * (span.end - span.start)
    return sum(parts.values()) / len(parts)


@measure(cutoff="required", of="spans", ideal_is_one=True)
def span_precision(case: SpanCase, k: int) -> float:
    """Share of the characters of the top k chunks that lie in gold spans.

    Definition: characters of the first k chunks that lie in some span of the query / all their characters.
    Odd cases: a character in several spans counts once, a character in several chunks counts in each. All
      places of a text that occurs several times in its document count. A query for which nothing is retrieved has 0; a
      query without gold spans is undefined and in no mean.
    Agrees with: no tool known: chunking benchmarks count tokens.
    Reading: .10 means that nine characters in ten that a generator reads are irrelevant.
    Use when: contexts cost money or distract, and ways to cut documents are compared.
    Not when: it is the only measure: one short chunk may have 1. See span_recall.
    """
    top = case.chunks[:k]
    size = sum(chunk.end - chunk.start for chunk in top)
    return sum(inside(chunk, case.spans) for chunk in top) / size if size else 0.0
