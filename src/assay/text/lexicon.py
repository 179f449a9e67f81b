"""Which forms of words are opposites and which are interchangeable, in English and Chinese."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import TYPE_CHECKING

from assay.text import chinese, english
from assay.text.words import WEAK, form

if TYPE_CHECKING:
    from collections.abc import Iterable

_NONE: frozenset[str] = frozenset()
_SHORTEST = 4  # letters that must be left beside a prefix


@cache
def _opposites() -> dict[str, frozenset[str]]:
    found = _relations((form(word) for word in pair) for pair in english.OPPOSITES)
    return {**found, **_relations(chinese.OPPOSITES)}


@cache
def _equivalents() -> dict[str, frozenset[str]]:
    return {
        **_relations((form(word) for word in group) for group in english.EQUIVALENTS),
        **_relations(chinese.EQUIVALENTS),
    }


def _relations(groups: Iterable[Iterable[str]]) -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for group in groups:
        words = set(group)
        for word in words:
            found.setdefault(word, set()).update(words - {word})
    return {word: frozenset(others) for word, others in found.items()}


@lru_cache(maxsize=1 << 14)
def equivalents(word: str) -> frozenset[str]:
    """Forms that can replace a form."""
    return _equivalents().get(word, _NONE)


@lru_cache(maxsize=1 << 14)
def opposites(word: str) -> frozenset[str]:
    """Forms that say the opposite of a form: listed pairs, prefixes (un-, in-, dis- ...) and -less."""
    listed = _opposites().get(word, _NONE)
    return listed | _opposites_by_prefix(word) if word.isascii() and word.isalpha() else listed


def _opposites_by_prefix(word: str) -> frozenset[str]:
    found = {prefix + word for prefix in english.OPPOSITE_PREFIXES} if len(word) >= _SHORTEST else set()
    found |= {
        word[len(prefix) :]
        for prefix in english.OPPOSITE_PREFIXES
        if word.startswith(prefix) and len(word) >= len(prefix) + _SHORTEST
    }
    if word.endswith("less") and len(word) > len("less") + 2:
        found |= {word[:-4], word[:-4] + "ful"}
    elif word.endswith("ful"):
        found.add(word[:-3] + "less")
    return frozenset(found)


@cache
def polar_function_words() -> frozenset[str]:
    """Forms of function words that have an opposite."""
    return frozenset(word for word in _opposites() if word[0] == WEAK)


def is_general(word: str) -> bool:
    """Return whether a form belongs to the general vocabulary that a paraphrase draws on."""
    return word in _equivalents() or word in _opposites()
