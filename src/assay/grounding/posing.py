"""What has to be found out about a sample, and the sample that has to be judged for it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from assay.data.samples import Context
from assay.grounding.citations import blanked, marks
from assay.grounding.record import Blank

if TYPE_CHECKING:
    from assay.data.samples import Sample

# What can be found out: support of the answer or of the reference by the contexts, of the answer by the references,
# and grades of the answer as a whole.
Piece = Literal["answer", "reference", "check", "relevance", "correctness"]


def posed(sample: Sample, piece: Piece) -> Sample | Blank:
    """The sample that has to be judged for a piece, or why there is nothing to judge."""
    if piece == "answer":
        found = marks(sample.answer, sample.contexts) if sample.answer and sample.contexts else []
        return replace(sample, answer=blanked(sample.answer or "", found)) if found else sample
    if "reference" in sample.faults:
        return Blank("failed", f"reference: {sample.faults['reference']}")
    if not any(text.strip() for text in sample.references):
        return Blank("not_applicable", "the sample has no reference")
    if piece == "check":
        told = tuple(Context(text) for text in sample.references)
        clean = {name: fault for name, fault in sample.faults.items() if name != "contexts"}
        return replace(sample, contexts=told, faults=clean)
    clean = {name: fault for name, fault in sample.faults.items() if name != "answer"}
    return replace(sample, answer=next(filter(str.strip, sample.references)), faults=clean)
