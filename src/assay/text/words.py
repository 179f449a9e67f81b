"""Words of English and Chinese text in a form in which equal meanings are equal strings."""

from __future__ import annotations

import re
import unicodedata
from itertools import chain
from typing import TYPE_CHECKING, Literal

from assay.text import english
from assay.text.numbers import NUMBER_WORDS, values
from assay.text.stems import stem

if TYPE_CHECKING:
    from collections.abc import Sequence

Language = Literal["en", "zh", "mixed", "other"]

HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_HAN = re.compile(f"[{HAN}]")
_LATIN_WORD = re.compile("[A-Za-z\u00c0-\u024f]{1,64}")
_LONGEST = 64  # characters of a word; longer runs are cut, so that no cache keeps a megabyte
_LONGEST_PIECE = 256
_KEPT = 1 << 16  # forms kept in memory
TOKEN = re.compile(
    rf"""[^\W_{HAN}](?:
     (?<=[^\W\d_])[^\W\d_{HAN}]{{0,{_LONGEST}}}+(?:['’][A-Za-z]{{1,2}}+(?![A-Za-z]))?
    |(?<=\d)\d{{0,{_LONGEST}}}+(?:,\d{{3}}(?!\d)){{0,9}}+(?:\.\d{{1,{_LONGEST}}}+){{0,9}}+(?:(?:st|nd|rd|th)(?![a-z]))?[%％]?)?""",
    re.VERBOSE,
)
_SEPARATORS = "-/()[]_|<>=—–"
_ASCII_SEPARATORS = bytes.maketrans(b"-/()[]_|<>=", b" " * 11)
_MANY = "\x1f"
# First characters of the forms of negations, numbers and words that claim nothing; all sort before letters and digits.
NOT, NUMBER, WEAK = "!", "#", "%"
STRONG = "'"


def has_han(text: str, start: int = 0, end: int | None = None) -> bool:
    """Return whether a text, or a part of it, has Chinese characters."""
    return not text.isascii() and _HAN.search(text, start, len(text) if end is None else end) is not None


def language(text: str) -> Language:
    """Detect English (any Latin script), Chinese or a mixture; a Chinese word counts as about two characters."""
    chinese = 0 if text.isascii() else len(_HAN.findall(text)) / 2
    latin = len(_LATIN_WORD.findall(text))
    if not chinese and not latin:
        return "other"
    share = chinese / (chinese + latin)
    return "en" if share < 0.1 else "zh" if share > 0.6 else "mixed"  # noqa: PLR2004


class _Forms(dict[str, str]):
    """Forms of tokens, computed once; a plain lookup is what keeps long contexts cheap."""

    def __missing__(self, token: str) -> str:
        if len(self) >= _KEPT:
            self.clear()
        found = self[token] = _form(token)
        return found


class _PieceForms(dict[str, str]):
    """Forms of what is between spaces: mostly one word with a comma or a full stop."""

    def __missing__(self, piece: str) -> str:
        if len(self) >= _KEPT:
            self.clear()
        bare = piece.rstrip(".,;:!?")
        if bare.isalpha() and bare.isascii() and len(bare) <= _LONGEST:  # what nearly all pieces are
            found = self[piece] = form(bare)
            return found
        found = _MANY.join(map(form, TOKEN.findall(piece)))
        if len(piece) <= _LONGEST_PIECE:
            self[piece] = found
        return found


class _PieceTokens(dict[str, tuple[str, ...]]):
    """Tokens of what is between spaces: no token crosses one."""

    def __missing__(self, piece: str) -> tuple[str, ...]:
        if len(self) >= _KEPT:
            self.clear()
        found = tuple(TOKEN.findall(piece))
        if len(piece) <= _LONGEST_PIECE:
            self[piece] = found
        return found


form = _Forms().__getitem__
"""Form of one token: a stem, "#3000" for a number, "!not" for a negation, "%the" for a word that claims nothing."""
_piece_form = _PieceForms().__getitem__
_piece_tokens = _PieceTokens().__getitem__


def _form(token: str) -> str:
    word = token.lower() if token.isascii() else _fold(token)
    if word[0].isdigit():
        return NUMBER + min(values(word), default=word)
    if word.endswith("n't"):
        return NOT + "not"
    if word in english.NEGATIONS:
        return NOT + word
    word = word.partition("'")[0]
    if word in NUMBER_WORDS:
        return NUMBER + min(values(word), default=word)
    return WEAK + word if word in english.STOP_WORDS else stem(word)


def _fold(token: str) -> str:
    """Small letters without accents, in their usual width."""
    word = unicodedata.normalize("NFKC", token).replace("’", "'").lower()
    return "".join(sign for sign in unicodedata.normalize("NFD", word) if not unicodedata.combining(sign)) or word


def is_strong(word: str) -> bool:
    """Return whether a form claims something: it is a number, or neither a function word nor a negation."""
    return word > STRONG or word[0] == NUMBER


def tokens(text: str) -> list[str]:
    """Words and numbers of a text, unchanged; Chinese characters are left out."""
    if text.isascii():
        return list(chain.from_iterable(map(_piece_tokens, text.split())))
    return TOKEN.findall(text)


def strong_words(text: str) -> set[str]:
    """Forms of the words and numbers of a text that claim something."""
    return set(filter(is_strong, map(form, tokens(text))))


def bag(text: str) -> set[str]:
    """Forms of all words and numbers of a text; Chinese characters are left out."""
    return bags(text, [(0, len(text))])[1]


def bags(text: str, spans: Sequence[tuple[int, int]]) -> tuple[list[set[str]], set[str]]:
    """Forms of the words and numbers of each piece of a text, and of all of them."""
    if has_han(text):
        if TOKEN.search(text) is None:
            return [set() for _ in spans], set()
        found = [set(map(form, TOKEN.findall(text, start, end))) for start, end in spans]
        return found, set().union(*found)
    text = _without_separators(text)
    found = [set(map(_piece_form, text[start:end].split())) for start, end in spans]
    every: set[str] = set().union(*found)
    if "" in every or _MANY in "".join(every):
        _take_apart([*found, every], [word for word in every if not word or _MANY in word])
    return found, every


def _without_separators(text: str) -> str:
    """Replace signs that separate words without spaces by spaces."""
    if text.isascii():
        return text.encode("ascii").translate(_ASCII_SEPARATORS).decode("ascii")
    for sign in _SEPARATORS:
        text = text.replace(sign, " ")
    return text


def _take_apart(found: list[set[str]], joined: list[str]) -> None:
    """Replace the forms of several words in one piece by those words."""
    for many in joined:
        for forms in found:
            if many in forms:
                forms.remove(many)
                forms.update(filter(None, many.split(_MANY)))
