"""What a judge grades an answer as a whole by: which prompt asks, what it is shown, and which samples can be graded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.grounding.record import Blank

if TYPE_CHECKING:
    from assay.data.samples import Sample


@dataclass(frozen=True)
class Criterion:
    """One thing that an answer as a whole is graded by; `name` tells its grades from those of others.

    `prompt` names the files that ask for it, one for each language, with the scale in them. `shows` are the fields of a
    sample that the judge sees beside the answer; without those of `needs` nothing is asked. A refusal is graded like
    any answer unless `refusals` is False.
    """

    name: str
    prompt: str
    shows: tuple[str, ...]
    needs: tuple[str, ...] = ()
    refusals: bool = True


def ungradable(sample: Sample, criterion: Criterion) -> Blank | None:
    """Why an answer cannot be graded by a criterion; None if it can."""
    for name in ("answer", *criterion.shows):
        if name in sample.faults:
            return Blank("failed", f"{name}: {sample.faults[name]}")
    for name in criterion.needs:
        if not _texts(sample, name):
            return Blank("not_applicable", f"the sample has no {name}")
    if not (sample.answer or "").strip():
        return Blank("missing", "there is no answer" if sample.answer is None else "the answer is empty")
    return None if criterion.refusals else _refusal(sample)


def _texts(sample: Sample, name: str) -> list[str]:
    """What a sample has of a field, empty texts left out."""
    found = {
        "question": [sample.question or ""],
        "contexts": [context.text for context in sample.contexts or ()],
        "reference": list(sample.references),
    }[name]
    return [text for text in found if text.strip()]


def _refusal(sample: Sample) -> Blank | None:
    from assay.grounding.preparing import prepare

    ready = prepare(sample)
    return Blank("abstained", ready.reason) if ready.status == "abstained" else None
