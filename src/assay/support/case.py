"""A case: one sample with everything that was found out about it by one method, as measures of answers see it."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from assay.support.citations import Mark, marks
from assay.support.holding import Holding, holding
from assay.support.matrix import Looked, LookedByWords
from assay.support.methods import by_words
from assay.support.posing import Piece, posed
from assay.support.record import Blank, Grade

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from assay.data.samples import Sample
    from assay.support.matrix import Matrix
    from assay.support.record import Method, Statement, Support


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
            support = self._judge(ready)
            by = self._judge is by_words
            self._matrices[piece] = LookedByWords(ready, support) if by else Looked(ready, support, self._judge)
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
        if "correctness" in before._grades:
            self._grades.setdefault("correctness", before._grades["correctness"])

    @property
    def support(self) -> Support:
        """Support of the answer by its contexts, whatever its status."""
        self.matrix("answer")
        found = self._matrices["answer"].support
        return replace(found, query_id=self.sample.query_id)

    @cached_property
    def holding(self) -> Holding:
        """Whether the contexts hold the answer."""
        return holding(self.sample)

    @cached_property
    def marks(self) -> list[Mark]:
        """Citation marks of the answer."""
        return marks(self.sample.answer, self.sample.contexts) if self.sample.answer and self.sample.contexts else []


def _reason(support: Support, piece: Piece) -> str:
    return support.reason.replace("the answer", "the reference") if piece == "reference" else support.reason


def claims(support: Support) -> list[tuple[int, Statement]]:
    """Statements that claim something, with their places."""
    return [(place, part) for place, part in enumerate(support.statements) if part.support is not None]
