"""Gold answers as spans of documents, so that chunkers can be compared."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from assay.data.judgments import Judgments
from assay.data.spans import GoldSpan, overlap
from assay.errors import InputError, UnknownName, excerpt
from assay.formats import columns, tables
from assay.formats.detect import format_of
from assay.formats.files import Input
from assay.formats.set_folders import is_set, need
from assay.messages import say

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    import polars as pl

    from assay.data.spans import Span
    from assay.pipeline.records import Chunk


def read_gold(place: str | os.PathLike[str], texts: Mapping[str, str]) -> list[GoldSpan]:
    """Read spans: rows of query_id, doc_id and start and end, or the text itself, which the document must contain.

    A text that occurs several times counts at each of its places, unless start or occurrence (1 for the first) says
    which one is meant. A row may have a grade, 1 unless given; one of 0 or less answers nothing and is left out. Rows
    with the same answer_part are alternatives, one of which is enough.
    """
    source = Input.at(need(place, "gold") if is_set(place) else place)
    frame = _table(source)
    used = {one.name: columns.find(frame.columns, one, path=source.label) for one in columns.GOLD}
    rows = frame.rename({name: field for field, name in used.items() if name}).iter_rows(named=True)
    spans = [_span(row, _Row(number, source.label), texts) for number, row in enumerate(rows, 1)]
    return [span for span in spans if span.grade > 0]


def read_gold_column(
    place: str | os.PathLike[str], name: str, *, others: Sequence[str] = ()
) -> list[tuple[str, Any]]:  # fmt: skip
    """Read one column of a gold file with the query of each row; `others` are columns that could have been meant."""
    source = Input.at(need(place, "gold") if is_set(place) else place)
    frame = _table(source)
    query = columns.find(frame.columns, columns.QUERY_ID, path=source.label, needed=say("queries"))
    if name not in frame.columns:
        raise UnknownName(say("column"), name, [*others, *(one for one in frame.columns if one != query)])
    return list(frame.select(query, name).iter_rows())


def _table(source: Input) -> pl.DataFrame:
    kind = format_of(source, None)
    if kind not in {"jsonl", "csv", "tsv", "parquet"}:
        raise InputError(say("gold spans are read from .jsonl, .csv, .tsv or .parquet"), path=source.label)
    return tables.read_table(source, kind)


class _Row(NamedTuple):
    """A row of a gold file, for messages."""

    number: int
    label: str

    def error(self, message: str, hint: str = "") -> InputError:
        told = say("row {number}: {message}", number=self.number, message=message)
        return InputError(told, path=self.label, hint=hint)

    def gone(self, message: str) -> InputError:
        """An error about gold that is not, or no longer, in the documents."""
        return self.error(message, say("if the documents have changed, make the gold again, or remove what is lost"))

    def whole(self, name: str, value: Any) -> int | None:
        """A whole number, which tables of text have as text; None for an empty cell."""
        if value is None or value == "":
            return None
        try:
            found = int(value)
        except (TypeError, ValueError, OverflowError):
            found = None
        if found is None or isinstance(value, bool) or (isinstance(value, float) and value != found):
            raise self.error(say("{name} = {value}: expected a whole number", name=name, value=excerpt(value)))
        return found

    def grade(self, value: Any) -> float:
        try:
            found = 1.0 if value is None or value == "" else float(value)
        except (TypeError, ValueError):
            found = math.nan
        if not math.isfinite(found):
            raise self.error(say("{name} = {value}: expected a number", name="grade", value=excerpt(value)))
        return found


def _span(cells: Mapping[str, Any], row: _Row, texts: Mapping[str, str]) -> GoldSpan:
    hint = say("expected query_id, doc_id, and start and end, or text")
    query, doc = cells.get("query_id"), cells.get("doc_id")
    if query is None or doc is None:
        raise InputError(say("row {number} lacks query_id or doc_id", number=row.number), path=row.label, hint=hint)
    doc = str(doc)
    if doc not in texts:
        raise row.gone(say("there is no document {doc}", doc=excerpt(doc)))
    start, end, which = (row.whole(name, cells.get(name)) for name in ("start", "end", "occurrence"))
    text = "" if cells.get("text") is None else str(cells["text"])
    if which is not None and not text:
        raise row.error(say("occurrence needs a text"))
    if which is not None and start is not None:
        raise row.error(say("give start or occurrence, not both"))
    if text and start is None:
        places = _choose(_occurrences(texts[doc], text), which, row, (text, doc))
    elif text:
        places = [_locate(start, end, row, (text, doc), texts[doc])]
    elif start is None or end is None or not 0 <= start < end <= len(texts[doc]):
        raise InputError(
            say("row {number} has no span inside document {doc}", number=row.number, doc=excerpt(doc)),
            path=row.label,
            hint=hint,
        )
    else:
        places = [(start, end)]
    return GoldSpan(str(query), doc, *places[0], row.grade(cells.get("grade")), tuple(places[1:]), _part(cells))


def _part(cells: Mapping[str, Any]) -> str:
    told = cells.get("answer_part")
    return "" if told is None else str(told)


def _occurrences(whole: str, text: str) -> list[Span]:
    """All positions of a text in a document; they may overlap."""
    found: list[Span] = []
    start = whole.find(text)
    while start >= 0:
        found.append((start, start + len(text)))
        start = whole.find(text, start + 1)
    return found


def _choose(places: list[Span], which: int | None, row: _Row, told: tuple[str, str]) -> list[Span]:
    """All places of a text, or the one of them that the row names."""
    text, doc = map(excerpt, told)
    if not places:
        raise row.gone(say("document {doc} does not contain {text}", doc=doc, text=text))
    if which is None:
        return places
    if which < 1:
        raise row.error(say("{name} = {value}: expected a whole number of 1 or more", name="occurrence", value=which))
    if which > len(places):
        raise row.error(
            say(
                "occurrence = {which}, but document {doc} contains {text} only {n} {n:time|times}",
                which=which,
                doc=doc,
                text=text,
                n=len(places),
            )
        )
    return [places[which - 1]]


def _locate(start: Any, end: int | None, row: _Row, told: tuple[str, str], whole: str) -> Span:
    """The offsets of a row, checked against its text, as they may have counted bytes."""
    text, doc = told
    if end is not None and end - start != len(text):
        raise row.error(say("start and end do not fit the length of the text"))
    if start < 0 or whole[start : start + len(text)] != text:
        there = excerpt(whole[max(start, 0) : max(start, 0) + len(text)])
        raise row.gone(
            say(
                "document {doc} has {found} at position {start}, not {text}",
                doc=excerpt(doc),
                found=there,
                start=start,
                text=excerpt(text),
            )
        )
    return start, start + len(text)


def documents_judged(spans: Sequence[GoldSpan]) -> Judgments:
    """Judgments of the documents that hold spans: the same for every chunker."""
    grades: dict[object, dict[object, float]] = {}
    for span in spans:
        mine = grades.setdefault(span.query_id, {})
        mine[span.doc_id] = max(span.grade, mine.get(span.doc_id, 0.0))
    return Judgments.from_dict(grades)


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
            held = overlap(span, chunk)
            if held and held >= share * min(span.end - span.start, chunk.end - chunk.start):
                mine[chunk.id] = max(span.grade, mine.get(chunk.id, 0.0))
    return Judgments.from_dict(grades)
