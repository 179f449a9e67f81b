"""What nuggets there are to edit in a folder: questions with their nuggets, and what the nuggets are made from."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from assay.analysis.label_tasks import document_texts, find_readable, key_of, query_texts
from assay.curation.nugget_edits import apply_edits
from assay.data.nuggets import Nugget, QuestionNuggets
from assay.formats.nuggets import read_nuggets
from assay.formats.queries import read_queries
from assay.formats.reading import read_judgments
from assay.formats.run_progress import TRACE
from assay.formats.samples import read_samples
from assay.lazy import pl

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from assay.analysis.workspace import WorkFile, Workspace
    from assay.data.label import Label

_MOST = 10  # documents beside a question


@dataclass(frozen=True)
class NuggetQuestion:
    """A question to say nuggets of: one screen. `nuggets` are those of its file, before anybody edited them."""

    query_id: str
    text: str
    nuggets: tuple[Nugget, ...]

    @property
    def key(self) -> str:
        """What a page calls it by."""
        return key_of((self.query_id,))


@dataclass(frozen=True)
class NuggetTask:
    """Questions whose nuggets are edited."""

    file: WorkFile
    questions: tuple[NuggetQuestion, ...]

    @property
    def name(self) -> str:
        """What edits of it are kept under."""
        return f"nuggets:{self.file.name}"

    @cached_property
    def places(self) -> dict[str, int]:
        """Places of the questions by what a page calls them."""
        return {one.key: place for place, one in enumerate(self.questions)}

    def list_nuggets(self, history: Iterable[Label]) -> Iterator[QuestionNuggets]:
        """The nuggets as they are after these edits: of questions of the file, and of others that were edited once."""
        by_question: dict[str, list[Label]] = {}
        for edit in history:
            by_question.setdefault(edit.item[0], []).append(edit)
        known = {one.query_id for one in self.questions}
        gone = [NuggetQuestion(query, "", ()) for query in by_question if query not in known]
        for one in (*self.questions, *gone):
            now = apply_edits(one.query_id, one.nuggets, by_question.get(one.query_id, ()))
            yield QuestionNuggets(one.query_id, one.text, tuple(each.as_nugget() for each in now if not each.gone))


@dataclass(frozen=True)
class NuggetSource:
    """What nuggets of a question are made from: right answers, and documents that were judged relevant, best first.

    Answers of systems are not among it.
    """

    references: tuple[str, ...]
    documents: tuple[tuple[str, float, str], ...]


def find_nugget_files(space: Workspace) -> list[WorkFile]:
    """Files whose questions can be given nuggets: nuggets themselves first, then queries."""
    found = [file for file in space.files("nuggets", "queries") if file.path.name != TRACE]
    return sorted(found, key=lambda file: (file.kind != "nuggets", file.name))


def read_nugget_task(space: Workspace, file: WorkFile) -> NuggetTask:
    """Read the questions of a file, with the nuggets that it has; texts that it lacks are taken from the folder."""
    read: Sequence[QuestionNuggets] = space.read(file, read_nuggets if file.kind == "nuggets" else _read_questions)
    missing = {one.query_id for one in read if not one.question}
    texts = query_texts(space, missing) if missing else {}
    named = [(_plain(one.query_id), one.question or texts.get(one.query_id, ""), one.nuggets) for one in read]
    return NuggetTask(file, tuple(NuggetQuestion(*one) for one in named))


def _read_questions(place: str) -> Sequence[QuestionNuggets]:
    queries = read_queries(place)
    texts = queries.texts()
    return [
        QuestionNuggets(one, texts.get(one, ""), ()) for one in queries.frame["query_id"].to_list() if one is not None
    ]


def _plain(text: str) -> str:
    """An id as the log keeps it: half a surrogate pair has no bytes."""
    return text.encode("utf-8", "replace").decode()


def find_nugget_source(space: Workspace, question: NuggetQuestion) -> NuggetSource:
    """Look in the folder for what a question's nuggets can be made from."""
    grades: dict[str, float] = {}
    for judged in find_readable(space, "judgments", read_judgments):
        own = judged.frame.filter((pl.col("query_id") == question.query_id) & (pl.col("grade") > 0))
        for doc, grade in own.select("doc_id", "grade").iter_rows():
            grades[doc] = max(grade, grades.get(doc, 0.0))
    best = sorted(grades, key=lambda doc: (-grades[doc], doc))[:_MOST]
    texts = document_texts(space, set(best)) if best else {}
    listed = tuple((doc, grades[doc], texts[doc]) for doc in best if doc in texts)
    return NuggetSource(tuple(dict.fromkeys(_references(space, question))), listed)


def _references(space: Workspace, question: NuggetQuestion) -> Iterator[str]:
    for samples in find_readable(space, "samples", read_samples):
        for one in samples:
            if one.query_id == question.query_id and (not question.text or one.question in {None, question.text}):
                yield from one.references
    for queries in find_readable(space, "queries", read_queries):
        if "reference" in queries.frame.columns:
            own = queries.frame.filter(pl.col("query_id") == question.query_id)["reference"].to_list()
            yield from (text for text in own if isinstance(text, str) and text.strip())
