"""A light English stemmer: inflections go, word formation stays."""

from __future__ import annotations

from assay.text.english import IRREGULAR

_DOUBLES = frozenset("bdgmnprt")
_VOWELS = frozenset("aeiou")
_SHORTEST = 3
_LAST = frozenset("dgsy")  # letters that an ending can end with


def stem(word: str) -> str:
    """Reduce a lower-case English word to a form that its inflections share."""
    known = IRREGULAR.get(word)
    if known is not None:
        word = known
    elif len(word) > _SHORTEST and word[-1] in _LAST:
        word = _without_ending(word)
    return word[:-1] if len(word) > _SHORTEST + 1 and word[-1] == "e" else word


def _without_ending(word: str) -> str:
    size = len(word)
    if word.endswith(("ies", "ied")):
        return word[:-3] + "y" if size > 4 else word[:-1]  # noqa: PLR2004
    if word.endswith("ly") and size > 5:  # noqa: PLR2004
        return word[:-3] + "y" if word.endswith("ily") else word[:-2]
    if word.endswith("ing") and size > 5:  # noqa: PLR2004
        return _whole(word[:-3])
    if word.endswith("ed") and size > 4:  # noqa: PLR2004
        return _whole(word[:-2])
    if word.endswith(("sses", "ches", "shes", "xes", "zes")):
        return word[:-2]
    return word[:-1] if word[-1] == "s" and word[-2] not in "sui" else word


def _whole(word: str) -> str:
    """Running -> run, making -> make; but telling -> tell."""
    if len(word) > _SHORTEST and word[-1] == word[-2] and word[-1] in _DOUBLES:
        return word[:-1]
    short = len(word) == _SHORTEST and word[0] not in _VOWELS and word[1] in _VOWELS
    return word + "e" if short and word[2] not in "aeiouwxy" else word
