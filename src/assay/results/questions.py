"""Questions that were made from documents, with their gold spans, and what fell at each filter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from assay.data.record import Record, Value
from assay.errors import UsageError
from assay.lazy import public
from assay.messages import say, tell
from assay.results.parts import part

if TYPE_CHECKING:
    import os

Maker = Literal["known_items", "model"]


@dataclass(frozen=True)
class GoldPlace:
    """A span of a document that answers a question: document[start:end] is the text."""

    doc_id: str
    start: int
    end: int
    text: str
    grade: float = 1.0


@dataclass(frozen=True)
class Question:
    """A question with where its answer is, and the passage it was made from: its source, length and language."""

    query_id: str
    text: str
    kind: str
    gold: tuple[GoldPlace, ...]
    language: str
    source: str = ""
    length: str = ""
    reference: str | None = None


@dataclass(frozen=True)
class QuestionFilter:
    """A filter, and how many questions fell at it."""

    name: str
    fell: int


@dataclass(frozen=True)
class QuestionStratum:
    """Passages of one source and length, and the questions that were made from them."""

    source: str
    length: str
    passages: int
    questions: int


@part("questions")
@dataclass(frozen=True)
class QuestionSet(Record):
    """Questions made from documents: by a language model, or known items, which are simulated queries.

    Known items are fit to compare findability only. `drawn` passages were tried: each became a question or fell at
    one filter. `sources` says where the documents are from.
    """

    questions: tuple[Question, ...]
    made_by: Maker
    n: int
    drawn: int
    filters: tuple[QuestionFilter, ...]
    strata: tuple[QuestionStratum, ...]
    documents: int
    passages: int
    seed: int
    sources: tuple[str, ...] = ()
    model: str = ""
    warnings: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse counts that do not add up."""
        if self.drawn != len(self.questions) + sum(one.fell for one in self.filters):
            raise ValueError(say("drawn must be the sum of the questions and of what fell at each filter"))

    @property
    def simulated(self) -> bool:
        """Return whether the questions are known items."""
        return self.made_by == "known_items"

    @property
    def stamp(self) -> str:
        """What simulated questions are fit for."""
        return say("questions.stamp") if self.simulated else ""

    def to_rows(self) -> list[dict[str, Value]]:
        """One row per question."""
        return [
            {
                "query_id": one.query_id,
                "text": one.text,
                "kind": one.kind,
                "made_by": self.made_by,
                "reference": one.reference,
                "source": one.source,
                "length": one.length,
                "language": one.language,
            }
            for one in self.questions
        ]

    def to_gold(self) -> list[dict[str, Value]]:
        """One row per gold span."""
        return [
            {
                "query_id": one.query_id,
                "doc_id": place.doc_id,
                "start": place.start,
                "end": place.end,
                "text": place.text,
                "grade": place.grade,
            }
            for one in self.questions
            for place in one.gold
        ]

    def save(self, place: str | os.PathLike[str]) -> None:
        """Write a result file (.json) with everything, or an evaluation set: a new folder with its manifest."""
        from pathlib import Path

        where = Path(place)
        if where.suffix.lower() == ".json":
            super().save(place)
            return
        if not self.questions:
            raise UsageError(say("there is no question to write"))
        languages = {one.language for one in self.questions}
        public("write_set")(
            where,
            queries=self.to_rows(),
            gold=self.to_gold(),
            language=languages.pop() if len(languages) == 1 else "mixed",
            provenance=public("Provenance")(self.made_by, (self.model,) if self.model else (), self.sources),
            notes=[tell(self.stamp, "en")] if self.stamp else (),
        )
