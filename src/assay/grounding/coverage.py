"""How much of a statement the contexts say: in one sentence, beside it, or anywhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.grounding.claims import FUNCTION
from assay.text.lexicon import equivalents, is_general
from assay.text.numbers import values
from assay.text.words import NUMBER

if TYPE_CHECKING:
    from assay.grounding.claims import Claim
    from assay.grounding.contexts import Contexts

# The value of a word that occurs anywhere in the contexts, next to the nearest sentence, or in it.
ANYWHERE, BESIDE, THERE = 0.7, 0.9, 1.0
SIMILAR = 0.8  # a synonym, or a word of the same family, instead of the word itself
SPECIFIC = 2.0  # weight of a word that the contexts have in no form and that no list of general words knows
_CANDIDATES = 16  # equals that are compared; there are more only where words repeat without end


def nearest(claim: Claim, contexts: Contexts) -> int | None:
    """Row of the sentence that says most of a statement; of equals, the one whose neighbours add most."""
    if not contexts.bags:
        return None
    words = claim.words or set(claim.weak)
    counts: list[float] = list(map(len, map(words.intersection, contexts.bags)))
    if claim.han and contexts.has_han:
        for word, weight in claim.han:
            for row in contexts.rows_with(word):
                counts[row] += weight
    top = max(counts)
    if counts.count(top) == 1:
        return counts.index(top)
    rows = [row for row, count in enumerate(counts) if count == top]
    weak = set(claim.weak)

    def worth(row: int) -> tuple[float, int, int]:
        bag, around = contexts.bags[row], contexts.around(row)
        near = words.intersection(set().union(*[contexts.bags[other] for other in around]))
        return max(counts[other] for other in around) if claim.han else len(near), len(weak & bag), -len(bag)

    return max(rows[:_CANDIDATES], key=worth)


class Place:
    """A statement beside the sentence of the contexts that is nearest to it."""

    __slots__ = ("_around", "_text", "_values", "claim", "contexts", "missing", "numbers", "row", "sentence", "window")

    def __init__(self, claim: Claim, contexts: Contexts, row: int) -> None:
        self.claim, self.contexts, self.row = claim, contexts, row
        self.sentence = contexts.bags[row]
        self.window: set[str] = set().union(*[contexts.bags[near] for near in contexts.around(row)])
        self.missing: list[str] = []  # strong words that the contexts have in no form
        self.numbers: list[float] = []  # the value of each number of the statement
        self._text = self._around = ""
        self._values: dict[str, set[str]] = {}

    @property
    def text(self) -> str:
        """Text of the sentence."""
        self._text = self._text or self.contexts.text_of(self.row)
        return self._text

    @property
    def around(self) -> str:
        """Text of the sentence and its neighbours."""
        self._around = self._around or "".join(map(self.contexts.text_of, self.contexts.around(self.row)))
        return self._around

    def closeness(self) -> float:
        """Share of the statement's strong words that are in the sentence."""
        hits = sum(map(self.sentence.__contains__, self.claim.strong)) + self.numbers.count(THERE)
        return self._share(hits, self.text if self.claim.han else "")

    def alignment(self) -> float:
        """Share of the statement's strong words that are in the sentence or next to it."""
        hits = sum(map(self.window.__contains__, self.claim.strong)) + sum(worth >= BESIDE for worth in self.numbers)
        return self._share(hits, self.around if self.claim.han else "")

    def _share(self, hits: float, text: str) -> float:
        size = float(len(self.claim.strong) + len(self.numbers))
        for word, weight in self.claim.han:
            if weight > FUNCTION:
                size += weight
                hits += weight * (word in text)
        return hits / size if size else 0.0

    def coverage(self) -> float:
        """Share of the statement that the contexts say."""
        claim, there, window, every = self.claim, self.sentence, self.window, self.contexts.words
        credit = 0.0
        if there.issuperset(claim.strong):
            credit = THERE * len(claim.strong)
        else:
            for word in claim.strong:
                if word in there:
                    credit += THERE
                elif word in window:
                    credit += BESIDE
                else:
                    credit += ANYWHERE if word in every else self._similar(word)
        weak = sum(map(there.__contains__, claim.weak))
        credit += FUNCTION * THERE * weak
        if weak < len(claim.weak):
            beside, anywhere = (sum(map(found.__contains__, claim.weak)) for found in (window, every))
            credit += FUNCTION * (BESIDE * (beside - weak) + ANYWHERE * (anywhere - beside))
        if claim.numbers:
            self.numbers = list(map(self._number, claim.numbers))
            credit += sum(self.numbers)
        if claim.han:
            text = self.text
            for word, weight in claim.han:
                credit += weight * (THERE if word in text else self._han(word))
        extra = SPECIFIC - 1
        total = claim.weight + sum([extra for word in self.missing if not is_general(word)])
        return credit / total if total else 0.0

    def _similar(self, word: str) -> float:
        others = equivalents(word)
        if others and not others.isdisjoint(self.window):
            return SIMILAR * BESIDE
        if self.contexts.has_family(word) or (others and not others.isdisjoint(self.contexts.words)):
            return SIMILAR * ANYWHERE
        self.missing.append(word)
        return 0.0

    def _number(self, value: str) -> float:
        """The value of a number; the text is searched for other spellings only if the words do not contain it."""
        word = NUMBER + value
        if word in self.sentence or value in self._values_of(self.text):
            return THERE
        if word in self.window or value in self._values_of(self.around):
            return BESIDE
        return ANYWHERE if word in self.contexts.words or self.contexts.has_number(value) else 0.0

    def _values_of(self, text: str) -> set[str]:
        if text not in self._values:
            passage = self.contexts.passages[self.contexts.rows[self.row][0]]
            self._values[text] = passage.numbers() if text == passage.text else values(text)
        return self._values[text]

    def _han(self, word: str) -> float:
        if word in self.around:
            return BESIDE
        if self.contexts.has_text(word):
            return ANYWHERE
        if any(other in self.around for other in equivalents(word)):
            return SIMILAR * BESIDE
        pairs = [word[i : i + 2] for i in range(len(word) - 1)] if len(word) > 2 else []  # noqa: PLR2004
        found = sum(pair in self.around for pair in pairs)
        if not found:
            self.missing.append(word)
        return SIMILAR * BESIDE * found / len(pairs) if found else 0.0
