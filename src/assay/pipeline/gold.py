"""Gold as spans of text: where in which document the answer to a query stands, so that chunkers can be compared."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from assay.data.judgments import Judgments
from assay.errors import InputError, excerpt
from assay.formats import tables
from assay.formats.detect import format_of
from assay.formats.files import Input

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from assay.pipeline.records import Chunk


class GoldSpan(NamedTuple):
    """A piece of a document that answers a query."""

    query_id: str
    doc_id: str
    start: int
    end: int
    grade: float = 1.0


def read_gold(place: str | os.PathLike[str], texts: Mapping[str, str]) -> list[GoldSpan]:
    """Read spans: rows of query_id, doc_id and start and end, or the text itself, which must stand in the document.

    A row may have a grade, 1 unless given; one of 0 or less answers nothing and is left out.
    """
    source = Input.at(place)
    kind = format_of(source, None)
    if kind not in {"jsonl", "csv", "tsv", "parquet"}:
        raise InputError("gold spans are read from .jsonl, .csv, .tsv or .parquet", path=source.label)
    rows = tables.read_table(source, kind).iter_rows(named=True)
    spans = [_span(row, number, source.label, texts) for number, row in enumerate(rows, 1)]
    return [span for span in spans if span.grade > 0]


def _span(row: Mapping[str, Any], number: int, label: str, texts: Mapping[str, str]) -> GoldSpan:
    hint = "expected query_id, doc_id, and start and end, or text"
    query, doc = row.get("query_id"), row.get("doc_id")
    if query is None or doc is None:
        raise InputError(f"row {number} lacks query_id or doc_id", path=label, hint=hint)
    doc = str(doc)
    if doc not in texts:
        raise InputError(f"row {number}: there is no document {excerpt(doc)}", path=label)
    start, end, text = row.get("start"), row.get("end"), row.get("text")
    if start is None and text is not None:
        start = texts[doc].find(str(text))
        if start < 0:
            raise InputError(f"row {number}: {excerpt(text)} does not stand in document {excerpt(doc)}", path=label)
        end = start + len(str(text))
    if not isinstance(start, int) or not isinstance(end, int) or not 0 <= start < end <= len(texts[doc]):
        raise InputError(f"row {number} has no span inside document {excerpt(doc)}", path=label, hint=hint)
    grade = row.get("grade")
    return GoldSpan(str(query), doc, start, end, 1.0 if grade is None else float(grade))


def documents_judged(spans: Sequence[GoldSpan]) -> Judgments:
    """Judgments of the documents that hold spans: the same for every chunker."""
    grades: dict[object, dict[object, float]] = {}
    for span in spans:
        mine = grades.setdefault(span.query_id, {})
        mine[span.doc_id] = max(span.grade, mine.get(span.doc_id, 0.0))
    return Judgments.from_dict(grades)


def overlap(span: GoldSpan, chunk: Chunk) -> int:
    """Characters that a span and a chunk share."""
    return max(0, min(span.end, chunk.end) - max(span.start, chunk.start)) if span.doc_id == chunk.doc_id else 0


def chunks_judged(spans: Sequence[GoldSpan], chunks: Sequence[Chunk], *, share: float = 0.5) -> Judgments:
    """Judgments of chunks: relevant is a chunk that holds at least a share of a span, or that lies inside one.

    They differ from chunker to chunker: use them to look at one, and spans to compare several.
    """
    by_doc: dict[str, list[Chunk]] = {}
    for chunk in chunks:
        by_doc.setdefault(chunk.doc_id, []).append(chunk)
    grades: dict[object, dict[object, float]] = {}
    for span in spans:
        mine = grades.setdefault(span.query_id, {})
        for chunk in by_doc.get(span.doc_id, ()):
            common = overlap(span, chunk)
            if common and common >= share * min(span.end - span.start, chunk.end - chunk.start):
                mine[chunk.id] = max(span.grade, mine.get(chunk.id, 0.0))
    return Judgments.from_dict(grades)


def inside(chunk: Chunk, spans: Sequence[GoldSpan]) -> int:
    """How many characters of a chunk lie in some span, each counted once."""
    pieces = sorted((max(s.start, chunk.start), min(s.end, chunk.end)) for s in spans if overlap(s, chunk))
    total, reached = 0, chunk.start
    for start, end in pieces:
        total += max(0, end - max(start, reached))
        reached = max(reached, end)
    return total


def covered(spans: Sequence[GoldSpan], chunks: Sequence[Chunk]) -> list[int]:
    """How many characters of each span some chunks hold together."""
    found = []
    for span in spans:
        pieces = sorted((max(span.start, c.start), min(span.end, c.end)) for c in chunks if overlap(span, c))
        total, reached = 0, span.start
        for start, end in pieces:
            total += max(0, end - max(start, reached))
            reached = max(reached, end)
        found.append(total)
    return found
