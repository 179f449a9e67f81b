"""The method `words`: how much of a statement the contexts say, less where they say otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from assay.grounding.conflicts import conflicts
from assay.grounding.coverage import Place, nearest

if TYPE_CHECKING:
    from assay.grounding.claims import Claim, Given
    from assay.grounding.contexts import Contexts
    from assay.grounding.record import Reason


class Finding(NamedTuple):
    """What the contexts say about a statement: its support, the row of the nearest sentence, why support is lowered."""

    support: float
    row: int | None
    reasons: tuple[Reason, ...]


def look_up(claim: Claim, contexts: Contexts, given: Given) -> Finding:
    """Find a statement in the contexts."""
    row = nearest(claim, contexts)
    return Finding(0.0, None, ()) if row is None else lowered(claim, contexts, row, given)


def lowered(claim: Claim, contexts: Contexts, row: int, given: Given, support: float | None = None) -> Finding:
    """Lower support, by default that of the words themselves, by every conflict with the nearest sentence."""
    place = Place(claim, contexts, row)
    coverage = place.coverage()
    support = coverage if support is None else support
    reasons = conflicts(place, given)
    for reason in reasons:
        support *= reason.factor
    return Finding(support, row, reasons)
