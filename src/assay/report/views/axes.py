"""Sentences about each axis of an experiment: which chunks, which retrieval, a reranker or none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.messages import Said, say
from assay.report.views import conclusion

if TYPE_CHECKING:
    from assay.results.experiment import AxisDecision, Findings

_BY_WORDS = {"retrieve", "rerank"}  # axes on which known items, which share words with what they seek, are partial


def lines(found: Findings) -> list[Said | str]:
    """One sentence for each axis, and what simulated queries are fit for."""
    # Of one axis, the sentence about the best combination has said why.
    alone = len(found.decisions) == 1
    said: list[Said | str] = [decision(one, because=not alone) for one in found.decisions]
    partial = found.of_known_items and any(one.axis in _BY_WORDS for one in found.decisions)
    return [*said, *([say("axes.by_words")] if partial else []), *([found.stamp] if found.stamp else [])]


def decision(found: AxisDecision, *, because: bool = True) -> Said:
    """Say which value to take, and what is shown about it where that is not said already."""
    best, value = found.concluded, found.choice
    changed = best.choice != best.baseline
    key = "no_reranker" if found.axis == "rerank" and value == "none" else "take" if changed else "keep"
    said = say(f"axes.{key}", question=say(f"axes.which_{found.axis}"), value=value)
    return say("text.then", first=said, second=conclusion.line(best).text) if because else said
