"""The method `words`: how much of a statement the contexts say, less where they say otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.grounding.claims import ConversationWords
from assay.grounding.conflicts import conflicts
from assay.grounding.coverage import Place, nearest
from assay.grounding.preparing import Match, prepare, record, record_unjudged
from assay.grounding.record import Grade
from assay.messages import say
from assay.text import chinese
from assay.text.segmentation import han_words
from assay.text.words import bag, is_strong

if TYPE_CHECKING:
    from assay.data.samples import Sample
    from assay.grounding.claims import Claim
    from assay.grounding.contexts import Contexts
    from assay.results.support import Support


def look_up(claim: Claim, contexts: Contexts, given: ConversationWords) -> Match:
    """Find a statement in the contexts."""
    row = nearest(claim, contexts)
    return Match(0.0, None, ()) if row is None else lower_support(claim, contexts, row, given)


def lower_support(
    claim: Claim, contexts: Contexts, row: int, given: ConversationWords, support: float | None = None
) -> Match:
    """Lower support, by default that of the words themselves, by every conflict with the nearest sentence."""
    place = Place(claim, contexts, row)
    coverage = place.coverage()
    support = coverage if support is None else support
    reasons = conflicts(place, given)
    for reason in reasons:
        support *= reason.factor
    return Match(support, row, reasons)


def by_words(sample: Sample) -> Support:
    """Judge one answer by its words."""
    ready = prepare(sample)
    if ready.status != "scored":
        return record_unjudged(ready, "words")
    given = ConversationWords(sample)
    found = [look_up(part.claim, ready.contexts, given) if part.kind == "claim" else None for part in ready.parts]
    return record(ready, "words", found)


def relevance_by_words(sample: Sample) -> Grade:
    """Share of the question's words, function words removed, that the answer has."""
    asked = _words(sample.question or "")
    if not asked:
        return Grade(None, say("reason.wordless_question"), "undefined")
    return Grade(len(asked & _words(sample.answer or "")) / len(asked))


def _words(text: str) -> set[str]:
    latin = {word for word in bag(text) if word and is_strong(word)}
    return latin | {word for word in han_words(text) if word not in chinese.STOP_WORDS}
