"""What there is to grade in a folder: documents for queries, in the order that matters most first."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, Any, TypeVar

from assay.errors import AssayError, InputError
from assay.formats import columns, tables
from assay.formats.detect import format_of
from assay.formats.documents import read_documents
from assay.formats.files import Input
from assay.formats.queries import read_queries
from assay.formats.reading import read_judgments
from assay.messages import say

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from assay.analysis.workspace import WorkFile, Workspace
    from assay.curation.labelling import Item

Read = TypeVar("Read")
_TABLES = {"jsonl", "csv", "tsv", "parquet"}
_DIGITS = 16
Grades = dict[tuple[str, ...], tuple[str, float]]


@dataclass(frozen=True)
class Card:
    """A document to grade for a query: one screen. Which systems found it, and where, is not said."""

    query_id: str
    doc_id: str
    query: str
    document: str

    @property
    def item(self) -> Item:
        """What its label is kept under."""
        return self.query_id, self.doc_id

    @property
    def key(self) -> str:
        """What a page calls it by."""
        return key_of(self.item)


def key_of(item: Item) -> str:
    """A short name of an item for a page: it opens nothing, and is looked up among the items of a task."""
    return sha256("\x00".join(item).encode("utf-8", "replace")).hexdigest()[:_DIGITS]


@dataclass(frozen=True)
class RelevanceTask:
    """Documents to grade, in the order that matters most first; `rows` are those of the file they were listed in."""

    file: WorkFile
    cards: tuple[Card, ...]
    rows: tuple[Mapping[str, Any], ...]
    sampled: bool

    @property
    def name(self) -> str:
        """What labels of it are kept under: the name of its file."""
        return f"relevance:{self.file.name}"

    @cached_property
    def items(self) -> list[Item]:
        """The items in their order."""
        return [card.item for card in self.cards]

    @cached_property
    def by_key(self) -> dict[str, Card]:
        """The cards by what a page calls them."""
        return {card.key: card for card in self.cards}


def find_relevance_files(space: Workspace) -> list[WorkFile]:
    """Lists of what to judge: files of `set pool`, and pairs with their texts."""
    return [file for file in space.files("judgments", "pairs") if _is_list(file)]


def _is_list(file: WorkFile) -> bool:
    if file.kind == "pairs":
        return True
    source = Input.at(str(file.path))
    return format_of(source, None) in _TABLES and b"priority" in source.head


def read_relevance_task(space: Workspace, file: WorkFile) -> RelevanceTask:
    """Read a list of what to judge; texts that it lacks are taken from queries and documents in the folder."""
    rows = space.read(file, _read_rows)
    pairs = [(row["query_id"], row["doc_id"]) for row in rows]
    queries = _texts(rows, "query") or query_texts(space, {query for query, _ in pairs})
    documents = _texts(rows, "document") or document_texts(space, {doc for _, doc in pairs})
    cards = tuple(
        Card(query, doc, queries.get(query, ""), documents.get(doc, "")) for query, doc in dict.fromkeys(pairs)
    )
    return RelevanceTask(file, cards, rows, any("inclusion" in row for row in rows[:1]))


def _read_rows(place: str) -> tuple[Mapping[str, Any], ...]:
    """The rows of a list, with names of our own, in the order in which to judge them."""
    source = Input.at(place)
    frame = tables.read_table(source, format_of(source, None))
    wanted = (
        (columns.PAIR_QUERY_ID, "query_id"), (columns.DOCUMENT_ID, "doc_id"), (columns.PAIR_QUERY, "query_text"),
        (columns.PAIR_DOCUMENT, "document_text"),
    )  # fmt: skip
    named = {}
    for heading, name in wanted:
        found = columns.find([one for one in frame.columns if one not in named], heading, path=source.label)
        if found is not None:
            named[found] = name
    frame = frame.rename({old: new for old, new in named.items() if old != new})
    for name, text in (("query_id", "query_text"), ("doc_id", "document_text")):
        if name not in frame.columns and text in frame.columns:
            frame = frame.with_columns(frame[text].alias(name))
        if name not in frame.columns:
            raise InputError(say("the list has no column {name}", name=name), path=source.label)
        frame = frame.with_columns(tables.text_column(frame, name, source.label).alias(name))
    rows = [row for row in frame.iter_rows(named=True) if row["query_id"] is not None and row["doc_id"] is not None]
    numbered = "priority" in frame.columns and frame["priority"].dtype.is_numeric()
    return tuple(sorted(rows, key=lambda row: row["priority"] or 0) if numbered else rows)


def _texts(rows: Iterable[Mapping[str, Any]], what: str) -> dict[str, str]:
    name, key = f"{what}_text", "query_id" if what == "query" else "doc_id"
    return {row[key]: row[name] for row in rows if isinstance(row.get(name), str)}


def query_texts(space: Workspace, wanted: set[str]) -> Mapping[str, str]:
    """Texts of queries, from the file of the folder that knows most of them."""
    return _most_of(wanted, find_readable(space, "queries", _read_query_texts))


def document_texts(space: Workspace, wanted: set[str]) -> Mapping[str, str]:
    """Texts of documents, from the file of the folder that knows most of them."""
    return _most_of(wanted, find_readable(space, "documents", read_documents))


def find_readable(space: Workspace, kind: str, reader: Callable[[str], Read]) -> Iterator[Read]:
    """What files of a kind hold; one that cannot be read is passed over."""
    for file in space.files(kind):
        with suppress(AssayError):
            yield space.read(file, reader)


def _most_of(wanted: set[str], found: Iterable[Mapping[str, str]]) -> Mapping[str, str]:
    """The texts of the file that knows most of the ids."""
    empty: Mapping[str, str] = {}
    return max(found, key=lambda texts: len(wanted & texts.keys()), default=empty)


def _read_query_texts(place: str) -> dict[str, str]:
    return read_queries(place).texts()


def model_grades(space: Workspace, items: Iterable[Item]) -> Grades:
    """What models graded of these items, by the files of `assay judge` in the folder: the model and its grade."""
    wanted = set(items)
    found: Grades = {}
    for judged in find_readable(space, "judgments", read_judgments):
        if judged.judge:
            for query, doc, grade in judged.frame.select("query_id", "doc_id", "grade").iter_rows():
                if (query, doc) in wanted and grade >= 0:
                    found[query, doc] = (judged.judge, grade)
    return found
