"""Words for BM25: English stems, numbers and Chinese words, the same for documents and queries."""

from __future__ import annotations

from assay.text.segmentation import han_words
from assay.text.words import WEAK, form, has_han, tokens


def words(text: str) -> list[str]:
    """All words of a text in the form in which equal meanings are equal strings, in no certain order of languages."""
    found = list(map(form, tokens(text)))
    return [*found, *han_words(text)] if has_han(text) else found


def query_words(text: str) -> list[str]:
    """The words of a query that claim something, or all if none does."""
    found = words(text)
    return [word for word in found if word[0] != WEAK] or found
