"""Support of samples by the methods that need no language model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from assay.errors import UnknownName
from assay.grounding.claims import Given
from assay.grounding.preparing import prepare, record, unjudged
from assay.grounding.words import look_up

if TYPE_CHECKING:
    from collections.abc import Iterable

    from assay.data.samples import Sample
    from assay.grounding.record import Support

METHODS = ("words", "embedding")


def support_of(
    samples: Iterable[Sample], method: Literal["words", "embedding"] = "words", *, embedder: Any = "auto"
) -> list[Support]:
    """Judge how far answers follow from their contexts: one record per sample, in their order."""
    if method not in METHODS:
        raise UnknownName("method", method, METHODS, hint=f"the methods are {', '.join(METHODS)}")
    if method == "words":
        return [by_words(sample) for sample in samples]
    from assay.grounding.embedding import by_embedding

    return by_embedding(list(samples), embedder)


def by_words(sample: Sample) -> Support:
    """Judge one answer by its words."""
    ready = prepare(sample)
    if ready.status != "scored":
        return unjudged(ready, "words")
    given = Given(sample)
    found = [look_up(part.claim, ready.contexts, given) if part.kind == "claim" else None for part in ready.parts]
    return record(ready, "words", found)
