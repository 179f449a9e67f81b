"""A case: one sample with everything that was found out about it by one method, as measures of answers see it."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from assay.data.samples import Context
from assay.support.citations import Mark, blanked, marks
from assay.support.matrix import Looked
from assay.support.methods import by_words
from assay.support.record import Blank, Grade

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from assay.data.samples import Sample
    from assay.support.matrix import Matrix
    from assay.support.record import Method, Statement, Support

# What can be found out: support of the answer or of the reference by the contexts, of the answer by the references,
# and grades of the answer as a whole.
Piece = Literal["answer", "reference", "check", "relevance", "correctness"]


def posed(sample: Sample, piece: Piece) -> Sample | Blank:
    """The sample that has to be judged for a piece, or why there is nothing to judge."""
    if piece == "answer":
        found = marks(sample.answer, sample.contexts) if sample.answer and sample.contexts else []
        return replace(sample, answer=blanked(sample.answer or "", found)) if found else sample
    if "reference" in sample.faults:
        return Blank("failed", f"reference: {sample.faults['reference']}")
    if not any(text.strip() for text in sample.references):
        return Blank("not_applicable", "the sample has no reference")
    if piece == "check":
        told = tuple(Context(text) for text in sample.references)
        clean = {name: fault for name, fault in sample.faults.items() if name != "contexts"}
        return replace(sample, contexts=told, faults=clean)
    clean = {name: fault for name, fault in sample.faults.items() if name != "answer"}
    return replace(sample, answer=next(filter(str.strip, sample.references)), faults=clean)


class Case:
    """A sample, the method that judged it, and its pieces; what was not judged beforehand is looked up when needed."""

    def __init__(
        self,
        sample: Sample,
        method: Method,
        *,
        matrices: Mapping[Piece, Matrix] | None = None,
        grades: Mapping[Piece, Grade] | None = None,
        judge: Callable[[Sample], Support] = by_words,
        relevance: Callable[[Sample], Grade] | None = None,
        embedder: Any = "auto",
        trail: tuple[str, ...] = (),
    ) -> None:
        self.sample, self.method, self.trail, self.embedder = sample, method, trail, embedder
        self._matrices = dict(matrices or {})
        self._grades = dict(grades or {})
        self._judge, self._relevance = judge, relevance

    def matrix(self, piece: Piece) -> Matrix | Blank:
        """Support of the answer's or the reference's statements; Blank where there is nothing to judge."""
        if piece not in self._matrices:
            ready = posed(self.sample, piece)
            if isinstance(ready, Blank):
                return ready
            self._matrices[piece] = Looked(ready, self._judge(ready), self._judge)
        found = self._matrices[piece]
        if found.support.status != "scored":
            return Blank(found.support.status, _reason(found.support, piece))
        return found

    def grade(self, piece: Piece) -> Grade:
        """Grade of the answer as a whole."""
        if piece not in self._grades and self._relevance is not None and piece == "relevance":
            self._grades[piece] = self._relevance(self.sample)
        return self._grades.get(piece, Grade(None, f"{piece} needs a judge"))

    def keep(self, before: Case) -> None:
        """Take over the grades of a case that failed otherwise: what only a judge can tell is not lost."""
        if "correctness" in before._grades:  # noqa: SLF001 - of the same class
            self._grades.setdefault("correctness", before._grades["correctness"])  # noqa: SLF001

    @property
    def support(self) -> Support:
        """Support of the answer by its contexts, whatever its status."""
        self.matrix("answer")
        found = self._matrices["answer"].support
        return replace(found, query_id=self.sample.query_id)

    @cached_property
    def marks(self) -> list[Mark]:
        """Citation marks of the answer."""
        return marks(self.sample.answer, self.sample.contexts) if self.sample.answer and self.sample.contexts else []


def _reason(support: Support, piece: Piece) -> str:
    return support.reason.replace("the answer", "the reference") if piece == "reference" else support.reason


def claims(support: Support) -> list[tuple[int, Statement]]:
    """Statements that claim something, with their places."""
    return [(place, part) for place, part in enumerate(support.statements) if part.support is not None]
