"""Find what a text denies: the words after its negations, in English and Chinese."""

from __future__ import annotations

import re
from bisect import bisect

from assay.text import chinese, english
from assay.text.words import HAN, NOT, form, is_strong, tokens

_BREAKS = re.compile(
    r"[,.:](?!\d)|[;!?()\"“”—，。；：！？（）、]|\s[-–]\s"
    r"|\b(?:and|but|or|while|whereas|although|though|because|which|who|that|if|when|where|since|as)\b"
)
_DENIED = re.compile(f"(?:{chinese.HARMLESS})|(?:{chinese.CUES})(?:(?=\\s*([{HAN}]{{2}})))?")
NEGATIONS = frozenset(NOT + word for word in english.NEGATIONS)


def clauses(text: str) -> list[str]:
    """Parts of a text that a negation does not reach across."""
    return [part for part in _BREAKS.split(text) if part and not part.isspace()]


def find_denied_words(clause: str) -> list[str]:
    """Forms of the words after a negation in an English clause, or before it if nothing follows it."""
    said = tokens(clause)
    forms = list(map(form, said))
    negations = [i for i, word in enumerate(forms) if word[0] == NOT]
    if not negations:
        return []
    strong = [i for i, word in enumerate(forms) if is_strong(word)]
    found = []
    for i in negations:
        if i and said[i - 1].lower() == "or":  # "whether or not" denies nothing
            continue
        if strong and not (i + 1 < len(said) and said[i + 1].lower() in english.HARMLESS_AFTER_NOT):
            found.append(forms[strong[min(bisect(strong, i), len(strong) - 1)]])
    return found


def find_denied_pairs(text: str) -> set[str]:
    """Pairs of characters after a negation in a Chinese text."""
    return set(_DENIED.findall(text)) - {""}


def is_negated(text: str) -> bool:
    """Return whether a text denies something."""
    if any(word[0] == NOT for word in map(form, tokens(text))):
        return True
    return not text.isascii() and any(cue[1] for cue in chinese.NEGATION.finditer(text))
