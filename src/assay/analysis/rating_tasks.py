"""What there is to rate in a folder: answers by their statements, each with what it had to be based on."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from assay.analysis.label_tasks import key_of
from assay.data.label import Label
from assay.formats import tables
from assay.formats.detect import format_of
from assay.formats.files import Input
from assay.formats.samples import read_samples
from assay.grounding.preparing import statements

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from assay.analysis.workspace import WorkFile, Workspace
    from assay.curation.labelling import Item
    from assay.data.samples import Sample

_TABLES = {"csv", "tsv", "parquet"}


@dataclass(frozen=True)
class AnswerCard:
    """An answer to rate: its question, what it had to be based on, and its statements; the system is not shown."""

    query_id: str
    system: str
    question: str
    answer: str
    references: tuple[str, ...]
    contexts: tuple[tuple[str, str], ...]
    statements: tuple[str, ...]

    @property
    def item(self) -> Item:
        """What a mark of the whole answer is kept under."""
        return self.query_id, self.system

    @property
    def key(self) -> str:
        """What a page calls it by."""
        return key_of(self.item)

    def statement_item(self, place: int) -> Item:
        """What the label of a statement is kept under: its place and its words, as an answer may be another later."""
        digest = sha256(self.statements[place].encode("utf-8", "replace")).hexdigest()[:8]
        return self.query_id, self.system, f"{place + 1}:{digest}"


@dataclass(frozen=True)
class RatingTask:
    """Answers to rate, and the rows of their file."""

    file: WorkFile
    cards: tuple[AnswerCard, ...]
    rows: tuple[Mapping[str, Any], ...]

    @property
    def name(self) -> str:
        """What labels of it are kept under."""
        return f"answers:{self.file.name}"

    @cached_property
    def items(self) -> list[Item]:
        """The answers in their order."""
        return [card.item for card in self.cards]

    @cached_property
    def by_key(self) -> dict[str, AnswerCard]:
        """The cards by what a page calls them."""
        return {card.key: card for card in self.cards}


def read_rating_task(space: Workspace, file: WorkFile) -> RatingTask:
    """Read answers to rate; of a file, those that have a text."""
    samples = space.read(file, read_samples)
    rows = space.read(file, _read_raw_rows)
    kept = [(sample, row) for sample, row in zip(samples, rows, strict=True) if sample.answer]
    return RatingTask(
        file, tuple(_answer_card(sample) for sample, _ in kept), tuple(row for _, row in kept)
    )  # fmt: skip


def _answer_card(sample: Sample) -> AnswerCard:
    answer = sample.answer or ""
    return AnswerCard(
        sample.query_id, sample.system or "", sample.question or "", answer, sample.references,
        tuple((one.id or str(i), one.text) for i, one in enumerate(sample.contexts or (), 1)),
        tuple(answer[one.start : one.end] for one in statements(answer)),
    )  # fmt: skip


def _read_raw_rows(place: str) -> tuple[Mapping[str, Any], ...]:
    """The rows of a file of samples as they are there."""
    source = Input.at(place)
    kind = format_of(source, "tsv" if source.suffix == ".tsv" else None)
    if kind == "jsonl":
        return tuple(row for _, row in tables.read_jsonl(source))
    if kind in _TABLES:
        return tuple(tables.read_table(source, kind).iter_rows(named=True))
    return tuple(
        {"query_id": one.query_id, "question": one.question, "answer": one.answer} for one in read_samples(place)
    )


def whole_answers(task: RatingTask, labels: Iterable[Label], by: str) -> list[Label]:
    """Labels of whole answers, from those of their statements and their marks, for choosing the next one.

    An answer is done by a person who judged all its statements and marked it; one that another person began is theirs.
    """
    given: dict[tuple[str, Item], set[Item]] = {}
    for label in labels:
        given.setdefault((label.by, label.item[:2]), set()).add(label.item)
    whole = {card.item: {card.item, *map(card.statement_item, range(len(card.statements)))} for card in task.cards}
    return [
        Label("", "", who, task.name, "mark", item, 1)
        for (who, item), parts in given.items()
        if item in whole and (who != by or whole[item] <= parts)
    ]
