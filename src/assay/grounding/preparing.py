"""A sample before and after judging: what there is to judge, which status it has, and the record of the outcome."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from assay.grounding.contexts import Contexts
from assay.grounding.record import Evidence, Statement, Support
from assay.grounding.statements import statements
from assay.text.segmentation import segmenter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.data.samples import Sample
    from assay.grounding.claims import Claim
    from assay.grounding.record import Kind, Method, Status
    from assay.grounding.words import Finding

_NO_CONTEXTS = Contexts([])
_LARGEST = 5_000_000  # comparisons of statements with sentences; a sample that needs more would take minutes


class Part(NamedTuple):
    """A statement of an answer with its offsets and words."""

    start: int
    end: int
    kind: Kind
    claim: Claim


class Prepared(NamedTuple):
    """A sample taken apart; a status other than scored says why there is nothing to judge."""

    sample: Sample
    parts: list[Part]
    contexts: Contexts
    status: Status
    reason: str


def prepare(sample: Sample) -> Prepared:
    """Take a sample apart and find its status."""
    parts: list[Part] = []
    contexts = _NO_CONTEXTS
    status, reason = _readable(sample)
    if status == "scored" and sample.answer is not None:
        parts = [Part(*part) for part in statements(sample.answer)]
        status, reason = _judgeable(sample, parts)
    if status == "scored" and sample.contexts:
        contexts = Contexts([context.text for context in sample.contexts])
        if len(parts) * len(contexts.bags) > _LARGEST:
            status, reason = (
                "failed",
                f"too long: {len(parts):,} statements and {len(contexts.bags):,} context sentences",
            )
        elif not contexts.bags:
            reason = "the contexts have no words"
    return Prepared(sample, parts, contexts, status, reason)


def _readable(sample: Sample) -> tuple[Status, str]:
    if "answer" in sample.faults:
        return "failed", f"answer: {sample.faults['answer']}"
    if sample.answer is None:
        return "missing", "there is no answer"
    if not sample.answer.strip():
        return "missing", "the answer is empty"
    if "contexts" in sample.faults:
        return "failed", f"contexts: {sample.faults['contexts']}"
    return "scored", ""


def _judgeable(sample: Sample, parts: Sequence[Part]) -> tuple[Status, str]:
    kinds = {part.kind for part in parts}
    if not kinds:
        return "undefined", "the answer has no words"
    if "claim" not in kinds:
        refused = "refusal" in kinds
        return ("abstained", "the answer refuses") if refused else ("not_applicable", "the answer claims nothing")
    if sample.contexts is None:
        return "not_applicable", "the sample does not say which contexts there were"
    return "scored", "" if sample.contexts else "there are no contexts"


def record(ready: Prepared, method: Method, found: Sequence[Finding | None], notes: tuple[str, ...] = ()) -> Support:
    """Write down what was found for each statement; None for those that claim nothing, or that nobody judged."""
    made = [_statement(ready, part, finding) for part, finding in zip(ready.parts, found, strict=True)]
    if any(part.claim.han for part in ready.parts):
        notes = (*notes, f"Chinese words by {segmenter()}")
    notes = (*ready.sample.notes, *notes)
    return Support(ready.sample.query_id, method, ready.status, ready.reason, tuple(made), notes)


def unjudged(ready: Prepared, method: Method) -> Support:
    """Write down a sample that there is nothing to judge in."""
    return record(ready, method, [None] * len(ready.parts))


def _statement(ready: Prepared, part: Part, finding: Finding | None) -> Statement:
    answer = ready.sample.answer or ""
    text = answer[part.start : part.end]
    if finding is None:
        return Statement(part.start, part.end, text, part.kind, part.claim.weight)
    evidence = None if finding.row is None else _evidence(ready, finding.row)
    return Statement(
        part.start, part.end, text, part.kind, part.claim.weight, finding.support, evidence, finding.reasons
    )


def _evidence(ready: Prepared, row: int) -> Evidence:
    context, place = ready.contexts.rows[row]
    start, end = ready.contexts.passages[context].spans[place]
    raw = ready.contexts.passages[context].text[start:end]
    start += len(raw) - len(raw.lstrip())
    text = raw.strip()
    assert ready.sample.contexts is not None
    return Evidence(context, start, start + len(text), text, ready.sample.contexts[context].id)
