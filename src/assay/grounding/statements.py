"""Statements of an answer: its sentences, told apart into claims, refusals and courtesies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.grounding.claims import Claim
from assay.text.english import COURTEOUS
from assay.text.refusals import is_courtesy, is_refusal
from assay.text.sentences import sentences

if TYPE_CHECKING:
    from collections.abc import Iterator

    from assay.grounding.record import Kind

_TELLTALE = frozenset({"insufficient", "unanswerabl", "unabl"})


def statements(answer: str) -> Iterator[tuple[int, int, Kind, Claim]]:
    """Start, end, kind and words of each statement; offsets are of the answer, without the blanks around."""
    for first, last in sentences(answer):
        raw = answer[first:last]
        text = raw.strip()
        claim = Claim(text)
        if claim.weight:
            start = first + len(raw) - len(raw.lstrip())
            yield start, start + len(text), kind_of(text, claim), claim


def kind_of(text: str, claim: Claim) -> Kind:
    """Say what a statement is."""
    doubtful = claim.has_not or claim.han or not _TELLTALE.isdisjoint(claim.words)
    if doubtful and is_refusal(text):
        return "refusal"
    polite = claim.tokens[0].lower() in COURTEOUS if claim.tokens else False
    return "courtesy" if (polite or claim.han) and is_courtesy(text) else "claim"
