"""What is wrong with a question that a language model wrote, as far as it can be seen without asking a model."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, NamedTuple

from assay.curation.passages import telling_words
from assay.pipeline.terms import words
from assay.text.words import NUMBER, WEAK, has_han, language

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from assay.text.words import Language

LONGEST = 400  # characters of a question; more is no question
LONGEST_REFERENCE = 1000
_SHORTEST = 2  # words, or Chinese characters
_WORD = re.compile(r"[^\W_]+")
# Shared runs: of the questions that people wrote with the passage before them (XQuAD), one in ten falls.
_RUN, _RUN_HAN = 8, 15  # words or Chinese characters in a row that no user would hit upon
_PART, _PART_RUN, _PART_RUN_HAN = 0.6, 5, 8  # share of a question that is one run, of at least so many
_ALL, _ALL_PART = 4, 0.5  # telling words that are all in the passage, and the share that is one run
_ALIKE = 0.85  # share of the words that two questions have in common

_MENTIONS = re.compile(
    r"\b(?:th(?:e|is|ese)|each|both|either)\s(?:given\s|above\s|following\s|provided\s)?(?:passage|excerpt|paragraph|snippet)s?\b"
    r"|\b(?:according\sto|based\son|in|from)\sth(?:e|is)\s(?:given\s|above\s|provided\s)?(?:text|document|article|context)\b"
    r"|\b(?:mentioned|described|stated|discussed|listed|given)\s(?:above|in\sth(?:e|is)\s(?:text|document|article|context))\b"
    r"|\bpassages?\s[12]\b",
    re.IGNORECASE,
)
_MENTIONS_HAN = re.compile(
    "文中|本文|上文|下文|上述|(?:该|这|此|本|两|每)个?(?:段落|片段|段文字|段话)|段落(?:中|里|[12一二])|(?:根据|依据|按照)(?:该|这|此|本|上|所给)?(?:篇|段|份)?(?:文章|文本|文档|材料|资料|内容)"
)


def mentions_passage(question: str) -> bool:
    """Return whether a question speaks of the passage that it was made from, which its reader never sees."""
    return _MENTIONS.search(question) is not None or (has_han(question) and _MENTIONS_HAN.search(question) is not None)


def is_malformed(question: str) -> bool:
    """Return whether a text cannot be a question: too long, without words, or with signs that nobody types."""
    units = units_of(question)
    odd = any(unicodedata.category(sign) in {"Cc", "Cs", "Co", "Cn"} for sign in question)
    return len(question) > LONGEST or len(units) < _SHORTEST or odd or "\ufffd" in question


def is_in_language(text: str, wanted: Language) -> bool:
    """Return whether a text is in a language; Chinese may hold English names, and a mixture may be either."""
    found = language(text)
    if wanted == "mixed":
        return found != "other"
    return found == wanted or (wanted == "zh" and found == "mixed")


# Copying --------------------------------------------------------------------------------------------------------------


class Copying(NamedTuple):
    """How much a question shares with a text: its longest run of words, as a share too, and its telling words."""

    run: int
    share: float
    words: int
    known: int
    chinese: bool

    @property
    def is_copy(self) -> bool:
        """Return whether the question is more or less what the text says."""
        longest, part = (_RUN_HAN, _PART_RUN_HAN) if self.chinese else (_RUN, _PART_RUN)
        return (
            self.run >= longest
            or (self.run >= part and self.share >= _PART)
            or (self.words >= _ALL and self.known == self.words and self.share >= _ALL_PART)
        )


def compare_wording(question: str, text: str) -> Copying:
    """Compare the wording of a question with a text: word by word, and Chinese character by character."""
    asked, said = units_of(question), units_of(text)
    telling = set(telling_words(question))
    run = _longest_run(asked, said)
    known = len(telling & set(telling_words(text)))
    return Copying(run, run / max(1, len(asked)), len(telling), known, has_han(question))


def units_of(text: str) -> list[str]:
    """The words of a text in small letters; each Chinese character is one."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    found: list[str] = []
    for word in _WORD.findall(folded):
        found += re.findall(r"[^\W\u3400-\u9fff]+|[\u3400-\u9fff]", word) if has_han(word) else [word]
    return found


def _longest_run(one: Sequence[str], other: Sequence[str]) -> int:
    best, before = 0, [0] * (len(other) + 1)
    for unit in one:
        now = [0, *(before[place] + 1 if unit == found else 0 for place, found in enumerate(other))]
        best, before = max(best, *now), now
    return best


# Duplicates -----------------------------------------------------------------------------------------------------------


class KnownQuestions:
    """Questions that there are, to find the same one in other words."""

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._texts = set[tuple[str, ...]]()
        self._words = list[tuple[frozenset[str], frozenset[str]]]()
        for text in texts:
            self.add(text)

    def add(self, question: str) -> None:
        """Note a question."""
        self._texts.add(tuple(units_of(question)))
        self._words.append(_content(question))

    def holds(self, question: str) -> bool:
        """Return whether a question is there: letter by letter, or with the same numbers and nearly the same words."""
        if tuple(units_of(question)) in self._texts:
            return True
        mine, numbers = _content(question)
        return any(
            numbers == others and len(mine & found) >= _ALIKE * len(mine | found) for found, others in self._words
        )


def _content(question: str) -> tuple[frozenset[str], frozenset[str]]:
    found = {word for word in words(question) if word[0] != WEAK}
    return frozenset(found or words(question)), frozenset(word for word in found if word[0] == NUMBER)
