"""A case: one sample with everything that one method found out about it, the input of measures of answers."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from assay.grounding.answerability import Answerability, find_answerability
from assay.grounding.citations import Mark, marks
from assay.grounding.matrix import JudgeMatrix, WordsMatrix
from assay.grounding.preparing import Piece, sample_for
from assay.grounding.record import Blank, Grade
from assay.grounding.words import by_words
from assay.messages import say

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from assay.data.samples import Sample
    from assay.grounding.matrix import Matrix
    from assay.results.support import Method, Statement, Support


_OF_REFERENCES = {  # reasons that are worded differently when the reference is judged instead of the answer
    "reason.wordless": "reason.wordless_reference",
    "reason.refuses": "reason.reference_refuses",
    "reason.claims_nothing": "reason.reference_claims_nothing",
}
_RELEVANCE = "relevance"  # the one grade that methods beside a judge can give


class Case:
    """A sample, the method that judged it, and its pieces; what was not judged beforehand is looked up when needed.

    `grades` are those of the answer as a whole by the names of their criteria.
    """

    def __init__(
        self,
        sample: Sample,
        method: Method,
        *,
        matrices: Mapping[Piece, Matrix] | None = None,
        grades: Mapping[str, Grade] | None = None,
        judge: Callable[[Sample], Support] = by_words,
        relevance: Callable[[Sample], Grade] | None = None,
        embedder: Any = "auto",
        trail: tuple[str, ...] = (),
    ) -> None:
        self.sample, self.method, self.trail, self.embedder = sample, method, trail, embedder
        self._matrices = dict(matrices or {})
        self._grades = dict(grades or {})
        self._by: dict[str, Method] = dict.fromkeys(self._grades, method)
        self._why: dict[str, str] = {}
        self._judge = judge
        self._graders = [] if relevance is None else [(method, relevance)]

    def matrix(self, piece: Piece) -> Matrix | Blank:
        """Support of the answer's or the reference's statements; Blank where there is nothing to judge."""
        if piece not in self._matrices:
            ready = sample_for(self.sample, piece)
            if isinstance(ready, Blank):
                return ready
            support = self._judge(ready)
            by = self._judge is by_words
            self._matrices[piece] = WordsMatrix(ready, support) if by else JudgeMatrix(ready, support, self._judge)
        found = self._matrices[piece]
        if found.support.status != "scored":
            return Blank(found.support.status, _reason(found.support, piece))
        return found

    def has_judged(self, piece: Piece) -> bool:
        """Return whether a piece was judged beforehand, not settled by a rule."""
        ready = sample_for(self.sample, piece) if piece in self._matrices else None
        judged = ready is not None and not isinstance(ready, Blank) and bool(ready.contexts)
        return judged and self._matrices[piece].support.status == "scored"

    def grade(self, criterion: str) -> Grade:
        """Grade of the answer as a whole; where one method fails to grade relevance, the next one does."""
        while criterion == _RELEVANCE and self._graders and _is_failure(self._grades.get(criterion)):
            before = self._grades.get(criterion)
            self._by[criterion], grader = self._graders.pop(0)
            self._grades[criterion] = grader(self.sample)
            if before is not None:
                self._why.setdefault(criterion, before.reason)
        return self._grades.get(criterion, Grade(None, say("reason.needs_judge", criterion=criterion)))

    def grader_of(self, criterion: str) -> tuple[Method, str]:
        """The method that graded the answer, and why the one before it failed."""
        self.grade(criterion)
        return self._by.get(criterion, self.method), self._why.get(criterion, "")

    def add_grader(self, method: Method, relevance: Callable[[Sample], Grade]) -> None:
        """Name the method that grades relevance where those before it fail."""
        self._graders.append((method, relevance))

    def take_over_grades(self, before: Case) -> None:
        """Copy the grades of a case whose support failed, so that a judge's grades are not lost."""
        for criterion, grade in before._grades.items():
            if criterion != _RELEVANCE or not _is_failure(grade):
                self._grades[criterion], self._by[criterion] = grade, before._by[criterion]

    @property
    def support(self) -> Support:
        """Support of the answer by its contexts, whatever its status."""
        self.matrix("answer")
        found = self._matrices["answer"].support
        return replace(found, query_id=self.sample.query_id)

    @cached_property
    def answerability(self) -> Answerability:
        """Whether the contexts hold the answer."""
        return find_answerability(self.sample)

    @cached_property
    def marks(self) -> list[Mark]:
        """Citation marks of the answer."""
        return marks(self.sample.answer, self.sample.contexts) if self.sample.answer and self.sample.contexts else []


def _is_failure(grade: Grade | None) -> bool:
    return grade is None or (grade.value is None and grade.status == "failed")


def _reason(support: Support, piece: Piece) -> str:
    key = _OF_REFERENCES.get(getattr(support.reason, "key", "")) if piece == "reference" else None
    return support.reason if key is None else say(key)


def claims(support: Support) -> list[tuple[int, Statement]]:
    """Statements that claim something, with their places."""
    return [(place, part) for place, part in enumerate(support.statements) if part.support is not None]
