"""Documents with their texts in every form, and pairs of queries and documents."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.errors import InputError, excerpt
from assay.formats import columns, tables
from assay.formats.detect import format_of
from assay.formats.files import Input, is_there
from assay.formats.reading import refuse_repeats
from assay.formats.set_folders import is_set, locate, need, read_manifest
from assay.formats.text_folders import documents_in, is_text_file, text_in
from assay.lazy import pl
from assay.messages import say

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

TABLES = (".jsonl", ".ndjson", ".csv", ".tsv", ".parquet")


def read_documents(place: str | os.PathLike[str], *, encoding: str | None = None) -> dict[str, str]:
    """Read documents as {id: text} from any form of them.

    A folder of .txt, .md, .html and .pdf files or one such file, a BEIR folder, an evaluation set, JSON lines, CSV, TSV
    or Parquet, where a title comes first. Files of a folder are named by their path in it.
    """
    if is_set(place):
        return _read_set_documents(place)
    path = Path(place)
    if is_there(place) and path.is_dir():
        table = find_table(path, "corpus", "documents")
        return documents_in(path) if table is None else _read_table(table, encoding)
    if is_there(place) and path.is_file() and is_text_file(path):
        return {path.name: text_in(path)}
    return _read_table(place, encoding)


def find_table(folder: Path, *names: str) -> Path | None:
    """Find the table of documents or queries in a folder, such as corpus.jsonl of a BEIR folder."""
    return next((path for name in names for end in TABLES if (path := folder / f"{name}{end}").is_file()), None)


def _read_table(place: str | os.PathLike[str], encoding: str | None) -> dict[str, str]:
    source = Input.at(place, encoding)
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


def _read_set_documents(folder: str | os.PathLike[str]) -> dict[str, str]:
    """Read the documents of an evaluation set; those kept elsewhere are read there, and compared with their hashes."""
    path = locate(folder, "documents")
    if path is not None:
        return read_documents(path)
    hashes = read_hashes(need(folder, "hashes"))
    where = read_manifest(folder).documents_at
    if not where:
        raise InputError(
            say("the set has only hashes of its documents, and does not say where they are"),
            path=str(folder),
            hint=say("give the documents themselves"),
        )
    return read_elsewhere(Path(folder) / where, hashes)


def read_hashes(path: Path) -> dict[str, str]:
    """Read the hashes of documents, {id: hash}."""
    return {str(row.get("doc_id")): str(row.get("sha256")) for _, row in tables.read_jsonl(Input.at(path))}


def read_elsewhere(place: str | os.PathLike[str], hashes: Mapping[str, str]) -> dict[str, str]:
    """Read documents that a set has only hashes of; one that is missing or has another text is refused by name."""
    texts = read_documents(place)
    lost = [doc for doc in hashes if doc not in texts]
    other = [doc for doc, known in hashes.items() if doc in texts and hash_of_text(texts[doc]) != known]
    if lost:
        what = say(
            "{n:,} {n:document|documents} of the set {n:is|are} not here, such as {example}",
            n=len(lost),
            example=excerpt(lost[0]),
        )
        raise InputError(what, path=str(place))
    if other:
        what = say(
            "{n:,} {n:document has|documents have} another text than the set was made with, such as {example}",
            n=len(other),
            example=excerpt(other[0]),
        )
        raise InputError(what, path=str(place))
    return {doc: texts[doc] for doc in hashes}


def hash_of_text(text: str) -> str:
    """The hash of a document's text."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


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
    if not tables.is_plain(frame["round"]):
        return {}
    ids = [tables.text_column(frame, name, source.label) for name in ("query_id", "doc_id")]
    rows = pl.DataFrame([*ids, frame["round"].cast(pl.Int64, strict=False)])
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
