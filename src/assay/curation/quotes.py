"""Quotations of a language model: where in a text they stand, if they do."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

from assay.text.words import has_han

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.data.spans import Span

_LEAST, _LEAST_HAN = 8, 4  # characters of a quotation that can only mean one place
_SIGNS = {
    **dict.fromkeys("‘’‚‛`´′", "'"), **dict.fromkeys("“”„‟«»″「」『』", '"'),
    **dict.fromkeys("‐‑‒–—―−", "-"), "…": "...",
}  # fmt: skip
_AROUND = ".。,，;；:：!！?？'\""


def find_quote(text: str, quote: str) -> Span | None:
    """Find a quotation in a text: word by word, whatever its spaces, quotation marks, dashes and case; else None.

    One that is too short to mean a certain place is not found.
    """
    whole, _ = _fold(quote)
    bare = whole.strip(_AROUND)
    if len(bare) < (_LEAST_HAN if has_han(bare) else _LEAST):
        return None
    folded, places = _fold(text)
    return _find(text, whole, folded, places) or _find(text, bare, folded, places)


def _find(text: str, wanted: str, folded: str, places: Sequence[int]) -> Span | None:
    """Find a folded text at the edges of words."""
    at = folded.find(wanted)
    while at >= 0:
        last = at + len(wanted) - 1
        start, end = places[at], places[last] + 1
        if _is_whole(text, start, end):
            return start, end
        at = folded.find(wanted, at + 1)
    return None


def find_all(text: str, quotes: Sequence[str]) -> Span | None:
    """Find the piece of a text from the first to the last of some quotations, if every one is in it."""
    found = [find_quote(text, quote) for quote in quotes]
    spans = [span for span in found if span is not None]
    if not spans or len(spans) < len(found):
        return None
    return min(start for start, _ in spans), max(end for _, end in spans)


def _fold(text: str) -> tuple[str, list[int]]:
    """A text without spaces and differences of writing, and the place where each of its characters was."""
    folded: list[str] = []
    places: list[int] = []
    for place, sign in enumerate(text):
        if sign.isspace():
            continue
        plain = _SIGNS.get(sign) or unicodedata.normalize("NFKC", sign).casefold()
        for one in plain:
            if not one.isspace():
                folded.append(one)
                places.append(place)
    return "".join(folded), places


def _is_whole(text: str, start: int, end: int) -> bool:
    """Return whether a piece begins and ends at the edges of words; Chinese has none."""
    return not (_cuts(text, start) or _cuts(text, end))


def _cuts(text: str, place: int) -> bool:
    pair = text[place - 1 : place + 1] if 0 < place < len(text) else ""
    return len(pair) == 2 and pair.isalnum() and not has_han(pair)  # noqa: PLR2004
