"""The support matrix: how far each context, or several together, supports each statement."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from assay.grounding.claims import ConversationWords
from assay.grounding.contexts import Contexts
from assay.grounding.preparing import prepare
from assay.grounding.words import look_up

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from assay.data.samples import Sample
    from assay.grounding.preparing import Sentence
    from assay.results.support import Support


class Matrix(Protocol):
    """Statements x contexts."""

    @property
    def support(self) -> Support:
        """Support by all contexts together."""

    def joint(self, statement: int, contexts: Iterable[int]) -> float:
        """Support of a statement by some of the contexts together."""


class _LookupMatrix(ABC):
    """A matrix whose parts are computed on demand; the support by all contexts is known, by none it is 0."""

    def __init__(self, sample: Sample, support: Support) -> None:
        self._sample, self.support = sample, support

    def joint(self, statement: int, contexts: Iterable[int]) -> float:
        """Support of a statement by some of the contexts together."""
        chosen = frozenset(contexts)
        if len(chosen) == len(self._sample.contexts or ()):
            return self.support.statements[statement].support or 0.0
        return self._look_up(statement, chosen) if chosen else 0.0

    @abstractmethod
    def _look_up(self, statement: int, chosen: frozenset[int]) -> float: ...


class JudgeMatrix(_LookupMatrix):
    """Looked up by judging the same text with fewer contexts."""

    def __init__(self, sample: Sample, support: Support, judge: Callable[[Sample], Support]) -> None:
        super().__init__(sample, support)
        self._judge = judge
        self._kept: dict[frozenset[int], Support] = {}

    def _look_up(self, statement: int, chosen: frozenset[int]) -> float:
        if chosen not in self._kept:
            known = self._sample.contexts or ()
            fewer = replace(self._sample, contexts=tuple(known[place] for place in sorted(chosen)))
            self._kept[chosen] = self._judge(fewer)
        return self._kept[chosen].statements[statement].support or 0.0


class WordsMatrix(_LookupMatrix):
    """Looked up by words, statement by statement: the answer is taken apart once."""

    def __init__(self, sample: Sample, support: Support) -> None:
        super().__init__(sample, support)
        self._given = ConversationWords(sample)
        self._parts: list[Sentence] = []
        self._kept: dict[frozenset[int], Contexts] = {}

    def _look_up(self, statement: int, chosen: frozenset[int]) -> float:
        self._parts = self._parts or prepare(self._sample).parts
        if chosen not in self._kept:
            known = self._sample.contexts or ()
            self._kept[chosen] = Contexts([known[place].text for place in sorted(chosen)])
        return look_up(self._parts[statement].claim, self._kept[chosen], self._given).support


class ListMatrix:
    """A matrix made from a list of the contexts that support each statement, as a judge gives it."""

    def __init__(self, support: Support, contexts: Sequence[frozenset[int]]) -> None:
        self.support, self._contexts = support, contexts

    def joint(self, statement: int, contexts: Iterable[int]) -> float:
        """Support of a statement, if any of the contexts is on its list."""
        named = not self._contexts[statement].isdisjoint(contexts)
        return (self.support.statements[statement].support or 0.0) if named else 0.0
