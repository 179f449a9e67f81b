"""What a statement claims: its words and numbers, each with its weight."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from assay.text import chinese
from assay.text.negation import NEGATIONS
from assay.text.numbers import HAN_NUMERALS, numbers
from assay.text.segmentation import han_words
from assay.text.words import NUMBER, STRONG, bag, form, has_han, tokens

if TYPE_CHECKING:
    from assay.data.samples import Sample

FUNCTION = 0.25  # weight of a function word: it can be changed at will, but strange ones hint at another speaker
SINGLE = 0.5  # weight of a single Chinese character: it is found by chance too often to count in full

_MARK = re.compile(r"\s*(?:[-–—•·*+>#]+\s*)?(?:\(?(?:\d{1,3}|[a-zA-Z])[.)]\s)?")
_COUNTING = HAN_NUMERALS | {"第"}
_COUNTED = re.compile(r"第?[零〇一二两三四五六七八九十百千万亿]+.?")


class ConversationWords:
    """The words said before an answer, computed on first use."""

    __slots__ = ("_sample", "_words")

    def __init__(self, sample: Sample) -> None:
        self._sample = sample
        self._words: set[str] | None = None

    def words(self) -> set[str]:
        """Forms of all words of the question and the conversation."""
        if self._words is None:
            self._words = bag(self._sample.conversation)
        return self._words


class Claim:
    """A statement taken apart; the mark of a list item is not part of it.

    Strong words are what it claims; weak ones are function words and negations. Chinese words have their own weights.
    """

    __slots__ = ("forms", "han", "has_not", "numbers", "strong", "text", "tokens", "weak", "weight", "words")

    def __init__(self, statement: str) -> None:
        mark = _MARK.match(statement)
        self.text = text = statement[mark.end() :] if mark else statement
        self.tokens = tokens(text)
        self.forms = forms = list(map(form, self.tokens))
        self.strong = [word for word in forms if word > STRONG]
        self.weak = [word for word in forms if word < STRONG and word[0] != NUMBER]
        self.has_not = not NEGATIONS.isdisjoint(self.weak)
        self.words = set(self.strong)
        self.weight = len(self.strong) + FUNCTION * len(self.weak)
        self.numbers: list[str] = []
        self.han: list[tuple[str, float]] = []
        chinese_text = has_han(text)
        if len(self.strong) + len(self.weak) < len(forms) or (chinese_text and not HAN_NUMERALS.isdisjoint(text)):
            self.numbers = [quantity.value for quantity in numbers(text)]
            self.words.update(NUMBER + value for value in self.numbers)
            self.weight += len(self.numbers)
        if chinese_text:
            self.han = self._han()
            self.weight += sum([weight for _, weight in self.han])

    def _han(self) -> list[tuple[str, float]]:
        words = han_words(self.text)
        if self.numbers:
            words = [word for word in words if word[0] not in _COUNTING or not _COUNTED.fullmatch(word)]
        return list(zip(words, map(_han_weight, words), strict=True))


@lru_cache(maxsize=1 << 14)
def _han_weight(word: str) -> float:
    if word in chinese.STOP_WORDS or chinese.NEGATION.fullmatch(word):
        return FUNCTION
    return 1.0 if len(word) > 1 else SINGLE
