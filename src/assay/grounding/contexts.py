"""The contexts of a sample as sentences with their words, ready for looking statements up."""

from __future__ import annotations

from functools import lru_cache
from operator import itemgetter
from typing import TYPE_CHECKING

from assay.text.numbers import values
from assay.text.sentences import sentences
from assay.text.words import bags, has_han

if TYPE_CHECKING:
    from collections.abc import Sequence

_BEGINNING = 5  # letters that words of one family share: confirm, confirmation
_begin = itemgetter(slice(_BEGINNING))
_REMEMBERED = 1 << 16  # characters; longer contexts are analysed again each time
_KEPT = 1 << 20  # rows of words that are kept for one sample


class ContextText:
    """One context: its text, its sentences and their words; pieces without words do not count as sentences."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.has_han = has_han(text)
        self.spans = sentences(text)
        self.bags, self.words = bags(text, self.spans)
        if not all(self.bags):
            keep = [i for i, (start, end) in enumerate(self.spans) if self.bags[i] or has_han(text, start, end)]
            self.spans = [self.spans[i] for i in keep]
            self.bags = [self.bags[i] for i in keep]
        self._numbers: set[str] | None = None

    def numbers(self) -> set[str]:
        """Values of all numbers and dates."""
        if self._numbers is None:
            self._numbers = values(self.text)
        return self._numbers


@lru_cache(maxsize=256)
def _passage_of(text: str) -> ContextText:
    return ContextText(text)


class Contexts:
    """All contexts of a sample; contexts that several samples share are analysed once."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.passages = [_passage_of(text) if len(text) < _REMEMBERED else ContextText(text) for text in texts]
        self.rows = [(i, j) for i, found in enumerate(self.passages) for j in range(len(found.bags))]
        self.bags = [words for found in self.passages for words in found.bags]
        self.words: set[str] = set().union(*[found.words for found in self.passages])
        self.has_han = any(found.has_han for found in self.passages)
        self._beginnings: set[str] = set()
        self._texts: list[str] = []
        self._rows_with: dict[str, list[int]] = {}

    def rows_with(self, word: str) -> list[int]:
        """Rows of the sentences that have a Chinese word; statements of one answer ask for the same ones."""
        found = self._rows_with.get(word)
        if found is None:
            self._texts = self._texts or list(map(self.text_of, range(len(self.rows))))
            found = [row for row, text in enumerate(self._texts) if word in text]
            if len(self._texts) * len(self._rows_with) < _KEPT:
                self._rows_with[word] = found
        return found

    def text_of(self, row: int) -> str:
        """Text of a sentence."""
        context, place = self.rows[row]
        found = self.passages[context]
        start, end = found.spans[place]
        return found.text[start:end]

    def around(self, row: int) -> range:
        """Rows of a sentence and of its neighbours in the same context."""
        context, place = self.rows[row]
        last = len(self.passages[context].bags) - 1
        return range(row - (place > 0), row + (place < last) + 1)

    def has_family(self, word: str) -> bool:
        """Return whether a word begins like a word of the contexts."""
        if not self._beginnings:
            self._beginnings = set(map(_begin, self.words))
        return len(word) >= _BEGINNING and word[:_BEGINNING] in self._beginnings

    def has_number(self, value: str) -> bool:
        """Return whether the contexts have a number or a part of a date."""
        return any(value in found.numbers() for found in self.passages)

    def has_text(self, text: str) -> bool:
        """Return whether the contexts have a piece of text."""
        return any(text in found.text for found in self.passages)
