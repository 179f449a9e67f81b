"""Questions that were made from documents, with their gold spans, and what fell at each filter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from assay.data.record import Record, Value
from assay.errors import UsageError
from assay.lazy import public
from assay.messages import say, tell
from assay.results.judging import Bill, Estimate
from assay.results.parts import part

if TYPE_CHECKING:
    import os

Maker = Literal["known_items", "model"]
Category = Literal["fact", "how-to", "comparison", "multi-passage", "unanswerable"]


@dataclass(frozen=True)
class GoldPlace:
    """A span of a document that answers a question: document[start:end] is the text.

    Spans of the same `part` are alternatives, one of which is enough; an answer needs every part.
    """

    doc_id: str
    start: int
    end: int
    text: str
    grade: float = 1.0
    part: str = "1"


@dataclass(frozen=True)
class Question:
    """A question with where its answer is, and the passage it was made from: its source, length, topic and language.

    `kind` is the category of a question by a model (fact, how-to ...), which has a `style` and may have a kind of
    `user`, and what a known item was made of (words, heading, question). What no document answers has no gold.
    """

    query_id: str
    text: str
    kind: str
    gold: tuple[GoldPlace, ...]
    language: str
    source: str = ""
    length: str = ""
    reference: str | None = None
    topic: str = ""
    style: str = ""
    user: str = ""


@dataclass(frozen=True)
class QuestionFilter:
    """A filter, and how many questions fell at it."""

    name: str
    fell: int


@dataclass(frozen=True)
class QuestionStratum:
    """Passages of one source, length and topic, and the questions that were made from them."""

    source: str
    length: str
    passages: int
    questions: int
    topic: str = ""


@part("questions")
@dataclass(frozen=True)
class QuestionSet(Record):
    """Questions made from documents: by a language model, or known items, which are simulated queries.

    Known items are fit to compare findability only. `drawn` passages were tried: each became a question or fell at
    one filter. `sources` says where the documents are from. Of questions by a model, `prompts` are the versions of its
    prompts, `served` the names under which the server answered, `topics` what passages were grouped by (an embedder, or
    words), `bill` what it took, and `stopped` the reason of the calls for which the work ended early.
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
    prompts: tuple[str, ...] = ()
    served: tuple[str, ...] = ()
    topics: str = ""
    bill: Bill | None = None
    stopped: str = ""

    def __post_init__(self) -> None:
        """Refuse counts that do not add up."""
        if self.drawn != len(self.questions) + sum(one.fell for one in self.filters):
            raise ValueError(say("drawn must be the sum of the questions and of what fell at each filter"))

    @property
    def of_known_items(self) -> bool:
        """Return whether the questions are known items."""
        return self.made_by == "known_items"

    @property
    def stamp(self) -> str:
        """What the questions are fit for."""
        return say("questions.stamp" if self.of_known_items else "questions.stamp_model")

    @property
    def judge(self) -> str:
        """The model with the versions of its prompts: what must be the same for two sets to be made alike."""
        return f"{self.model} ({', '.join(self.prompts)})" if self.prompts else self.model

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
                **({} if self.of_known_items else {"topic": one.topic, "style": one.style, "user": one.user or None}),
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
                "answer_part": place.part,
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
            provenance=public("Provenance")(self.made_by, self._models(), self.sources),
            notes=[tell(text, "en") for text in (self.stamp, *self.warnings)],
        )

    def _models(self) -> tuple[str, ...]:
        """The judge, and the names under which its server answered where they are others."""
        return (self.judge, *(name for name in self.served if name != self.model)) if self.judge else ()


@dataclass(frozen=True)
class QuestionStep:
    """One step of making questions, and what its calls are estimated to take."""

    name: str
    estimate: Estimate


@part("questions_plan")
@dataclass(frozen=True)
class QuestionPlan(Record):
    """What making questions with a model would take, without a call.

    `steps` are those of `n` passages that all become questions. `most` is the estimate for `attempts` passages, more
    than which are never tried, where every one goes through every step.
    """

    judge: str
    n: int
    attempts: int
    steps: tuple[QuestionStep, ...]
    total: Estimate
    most: Estimate

    def to_rows(self) -> list[dict[str, Value]]:
        """One row per step."""
        return [
            {
                "step": one.name,
                "calls": one.estimate.calls,
                "cached": one.estimate.cached,
                "prompt_tokens": one.estimate.prompt_tokens,
                "completion_tokens": one.estimate.completion_tokens,
                "cost": one.estimate.cost,
                "currency": one.estimate.currency,
            }
            for one in self.steps
        ]
