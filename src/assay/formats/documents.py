"""Documents with their texts, and pairs of queries and documents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from assay.errors import InputError
from assay.formats import columns, tables
from assay.formats.detect import format_of
from assay.formats.files import Input
from assay.formats.reading import refuse_repeats
from assay.formats.set_folders import is_set, need
from assay.messages import say

if TYPE_CHECKING:
    import os


def read_documents(place: str | os.PathLike[str], *, encoding: str | None = None) -> dict[str, str]:
    """Read documents as {id: text} from JSON lines, CSV, TSV, Parquet or a BEIR folder; a title comes first."""
    if is_set(place):
        place = need(place, "documents")
    source = Input.at(place, encoding)
    if source.path is not None and source.path.is_dir():
        source = Input.at(source.path / "corpus.jsonl", encoding)
    frame = _table(source)
    if len(frame.columns) == 2 and not columns.has_any(frame.columns, columns.DOCUMENT_ID, columns.DOCUMENT_TEXT):  # noqa: PLR2004
        frame = tables.read_two_columns(source, "csv" if source.suffix == ".csv" else "tsv", ("doc_id", "text"))
    ids = columns.find(frame.columns, columns.DOCUMENT_ID, path=source.label, needed=say("documents"))
    assert ids is not None
    rest = [name for name in frame.columns if name != ids]
    text = columns.find(rest, columns.DOCUMENT_TEXT, path=source.label, needed=say("documents"))
    title = columns.find(rest, columns.TITLE, path=source.label)
    assert text is not None
    body = tables.text_column(frame, text, source.label).fill_null("")
    if title is not None:
        heads = tables.text_column(frame, title, source.label).fill_null("")
        body = pl.Series([f"{head}\n\n{text}" if head else text for head, text in zip(heads, body, strict=True)])
    return dict(zip(refuse_repeats(frame, ids, source.label).to_list(), body.to_list(), strict=True))


def read_pairs(place: str | os.PathLike[str], *, encoding: str | None = None) -> list[tuple[str, str, str, str]]:
    """Read pairs to judge: rows of query id, document id, query text and document text (ids default to the texts)."""
    source = Input.at(place, encoding)
    frame = _table(source)

    def column(heading: columns.ColumnName) -> list[Any] | None:
        found = columns.find(frame.columns, heading, path=source.label)
        return None if found is None else tables.text_column(frame, found, source.label).to_list()

    query, document = column(columns.PAIR_QUERY), column(columns.PAIR_DOCUMENT)
    if query is None or document is None:
        raise InputError(
            say("no columns of query and document texts among {names}", names=columns.list_names(frame.columns)),
            path=source.label,
            hint=say("expected columns query and document, and query_id and doc_id"),
        )
    query_ids, doc_ids = column(columns.PAIR_QUERY_ID) or query, column(columns.DOCUMENT_ID) or document
    rows = list(zip(query_ids, doc_ids, query, document, strict=True))
    for number, row in enumerate(rows, 1):
        if any(value is None for value in row):
            raise InputError(
                say("row {number} lacks a text or an id", number=number),
                path=source.label,
                hint=say("fill it in, or remove the row"),
            )
    return rows


def read_drawn(
    place: str | os.PathLike[str], *, encoding: str | None = None
) -> list[tuple[str, str, float, int, float | None]]:
    """Read what a list to judge says of a sample: ids, inclusion probability, round, and the grade if it has one."""
    source = Input.at(place, encoding)
    frame = _table(source)
    if "inclusion" not in frame.columns:
        return []
    judged = tables.judgments_of(frame, source.source, subtopics=False, dedupe=False)
    assert judged.inclusion is not None
    rounds = read_rounds(place)
    rows = zip(judged.frame.iter_rows(), judged.inclusion.tolist(), strict=True)
    return [
        (query, doc, chance, rounds.get((query, doc), 1), grade if grade >= 0 else None)
        for (query, doc, grade), chance in rows
    ]


def read_rounds(place: str | os.PathLike[str]) -> dict[tuple[str, str], int]:
    """The round in which each pair of a list to judge was first listed; nothing for a file without rounds."""
    source = Input.at(place)
    if format_of(source, None) not in {"jsonl", "csv", "tsv", "parquet"}:
        return {}
    frame = _table(source)
    if not {"round", "query_id", "doc_id"} <= set(frame.columns):
        return {}
    rows = frame.select(pl.col("query_id", "doc_id").cast(pl.String), pl.col("round").cast(pl.Int64, strict=False))
    return {(query, doc): number for query, doc, number in rows.drop_nulls().iter_rows()}


def _table(source: Input) -> pl.DataFrame:
    kind = format_of(source, None)
    if kind == "trec":
        kind = "csv" if source.suffix == ".csv" else "tsv"
    if kind == "json":
        raise InputError(
            say("this is one JSON value; expected .jsonl, .csv, .tsv or .parquet"),
            path=source.label,
            hint=say("a .jsonl file has one object per line"),
        )
    return tables.read_table(source, kind)
