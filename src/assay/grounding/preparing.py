"""A sample before and after judging: what there is to judge, which status it has, and the record of the outcome.

An answer is taken apart into statements: its sentences, classified as claims, refusals and courtesies.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, NamedTuple

from assay.data.samples import Context, Sample
from assay.grounding.citations import blank_marks, marks
from assay.grounding.claims import Claim
from assay.grounding.contexts import Contexts
from assay.grounding.record import Blank
from assay.messages import say
from assay.results.support import Evidence, Statement, Support
from assay.text.english import COURTEOUS
from assay.text.refusals import is_courtesy, is_refusal
from assay.text.segmentation import segmenter
from assay.text.sentences import sentences

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from assay.data.nuggets import Nugget
    from assay.data.status import Status
    from assay.results.support import Kind, Method, Reason

# Whose statements are to be supported: the answer's or the reference's by the contexts, the answer's by the references,
# nuggets by the answer.
Piece = Literal["answer", "reference", "check", "nuggets"]
_NO_CONTEXTS = Contexts([])
_LARGEST = 5_000_000  # comparisons of statements with sentences; a sample that needs more would take minutes
_TELLTALE = frozenset({"insufficient", "unanswerabl", "unabl"})


class Sentence(NamedTuple):
    """A sentence of an answer that states something: its offsets, its kind, its words."""

    start: int
    end: int
    kind: Kind
    claim: Claim


class Prepared(NamedTuple):
    """A sample taken apart; a status other than scored says why there is nothing to judge."""

    sample: Sample
    parts: list[Sentence]
    contexts: Contexts
    status: Status
    reason: str


class Match(NamedTuple):
    """What a method found for a statement: its support, the row of the nearest sentence, why support is lowered."""

    support: float
    row: int | None
    reasons: tuple[Reason, ...]


@dataclass(frozen=True, slots=True)
class ListedStatements(Sample):
    """A sample whose answer is a list, a statement in each line, as it stands: nothing is divided or left out."""


def sample_for(sample: Sample, piece: Piece) -> Sample | Blank:
    """The sample that has to be judged for a piece, or why there is nothing to judge."""
    if piece == "answer":
        found = marks(sample.answer, sample.contexts) if sample.answer and sample.contexts else []
        return replace(sample, answer=blank_marks(sample.answer or "", found)) if found else sample
    if piece == "nuggets":
        return _nuggets_as_statements(sample)
    if "reference" in sample.faults:
        return Blank("failed", fault_reason("reference", sample))
    if not any(text.strip() for text in sample.references):
        return Blank("not_applicable", say("reason.lacks", field="reference"))
    if piece == "check":
        told = tuple(Context(text) for text in sample.references)
        clean = {name: fault for name, fault in sample.faults.items() if name != "contexts"}
        return replace(sample, contexts=told, faults=clean)
    clean = {name: fault for name, fault in sample.faults.items() if name != "answer"}
    return replace(sample, answer=next(filter(str.strip, sample.references)), faults=clean)


def nuggets_of(sample: Sample) -> list[Nugget]:
    """The nuggets of a sample that have words, in their order: what an answer is held against."""
    return [one for one in sample.nuggets or () if Claim(_line(one)).weight]


def _line(nugget: Nugget) -> str:
    return " ".join(nugget.text.split())


def _nuggets_as_statements(sample: Sample) -> Sample | Blank:
    """Nuggets in the place of an answer, and the answer in that of the contexts; a refusal holds nothing."""
    for name in ("nuggets", "answer"):
        if name in sample.faults:
            return Blank("failed", fault_reason(name, sample))
    told = nuggets_of(sample)
    if not told:
        return Blank("not_applicable", say("reason.lacks", field="nuggets"))
    if not (sample.answer or "").strip():
        return Blank("missing", say("reason.no_answer" if sample.answer is None else "reason.empty_answer"))
    plain = sample_for(sample, "answer")
    assert isinstance(plain, Sample)
    kinds = {part.kind for part in statements(plain.answer or "")}
    refused = "refusal" in kinds and "claim" not in kinds
    return ListedStatements(
        sample.query_id,
        sample.question,
        answer="\n".join(map(_line, told)),
        contexts=() if refused else (Context(plain.answer or ""),),
        history=sample.history,
    )


def prepare(sample: Sample) -> Prepared:
    """Take a sample apart and find its status."""
    parts: list[Sentence] = []
    contexts = _NO_CONTEXTS
    status, reason = _readable(sample)
    if status == "scored" and sample.answer is not None:
        parts = list(_split_lines(sample.answer) if isinstance(sample, ListedStatements) else statements(sample.answer))
        status, reason = _judgeable(sample, parts)
    if status == "scored" and sample.contexts:
        contexts = Contexts([context.text for context in sample.contexts])
        if len(parts) * len(contexts.bags) > _LARGEST:
            sizes = {"statements": len(parts), "sentences": len(contexts.bags)}
            status, reason = "failed", say("reason.too_long", **sizes)
        elif not contexts.bags:
            reason = say("reason.wordless_contexts")
    return Prepared(sample, parts, contexts, status, reason)


def fault_reason(field: str, sample: Sample) -> str:
    """Why a field of a sample could not be read."""
    return say("reason.field", field=field, fault=sample.faults[field])


def _readable(sample: Sample) -> tuple[Status, str]:
    if "answer" in sample.faults:
        return "failed", fault_reason("answer", sample)
    if sample.answer is None:
        return "missing", say("reason.no_answer")
    if not sample.answer.strip():
        return "missing", say("reason.empty_answer")
    if "contexts" in sample.faults:
        return "failed", fault_reason("contexts", sample)
    return "scored", ""


def _judgeable(sample: Sample, parts: Sequence[Sentence]) -> tuple[Status, str]:
    kinds = {part.kind for part in parts}
    if not kinds:
        return "undefined", say("reason.wordless")
    if "claim" not in kinds:
        if "refusal" in kinds:
            return "abstained", say("reason.refuses")
        return "not_applicable", say("reason.claims_nothing")
    if sample.contexts is None:
        return "not_applicable", say("reason.unknown_contexts")
    return "scored", "" if sample.contexts else say("reason.no_contexts")


def statements(answer: str) -> Iterator[Sentence]:
    """Statements of an answer, with their offsets in it, without surrounding spaces."""
    for first, last in sentences(answer):
        raw = answer[first:last]
        text = raw.strip()
        claim = Claim(text)
        if claim.weight:
            start = first + len(raw) - len(raw.lstrip())
            yield Sentence(start, start + len(text), kind_of(text, claim), claim)


def _split_lines(answer: str) -> Iterator[Sentence]:
    start = 0
    for text in answer.split("\n"):
        yield Sentence(start, start + len(text), "claim", Claim(text))
        start += len(text) + 1


def kind_of(text: str, claim: Claim) -> Kind:
    """Say what a statement is."""
    doubtful = claim.has_not or claim.han or not _TELLTALE.isdisjoint(claim.words)
    if doubtful and is_refusal(text):
        return "refusal"
    polite = claim.tokens[0].lower() in COURTEOUS if claim.tokens else False
    return "courtesy" if (polite or claim.han) and is_courtesy(text) else "claim"


def record(ready: Prepared, method: Method, found: Sequence[Match | None], notes: tuple[str, ...] = ()) -> Support:
    """Record the finding for each statement; None for those that claim nothing or were not judged."""
    made = [_statement(ready, part, match) for part, match in zip(ready.parts, found, strict=True)]
    if any(part.claim.han for part in ready.parts):
        notes = (*notes, say("reason.segmenter", name=segmenter()))
    notes = (*ready.sample.notes, *notes)
    return Support(ready.sample.query_id, method, ready.status, ready.reason, tuple(made), notes)


def record_unjudged(ready: Prepared, method: Method) -> Support:
    """Record a sample in which there is nothing to judge."""
    return record(ready, method, [None] * len(ready.parts))


def _statement(ready: Prepared, part: Sentence, match: Match | None) -> Statement:
    answer = ready.sample.answer or ""
    text = answer[part.start : part.end]
    if match is None:
        return Statement(part.start, part.end, text, part.kind, part.claim.weight)
    evidence = None if match.row is None else _evidence(ready, match.row)
    return Statement(part.start, part.end, text, part.kind, part.claim.weight, match.support, evidence, match.reasons)


def _evidence(ready: Prepared, row: int) -> Evidence:
    context, place = ready.contexts.rows[row]
    start, end = ready.contexts.passages[context].spans[place]
    raw = ready.contexts.passages[context].text[start:end]
    start += len(raw) - len(raw.lstrip())
    text = raw.strip()
    assert ready.sample.contexts is not None
    return Evidence(context, start, start + len(text), text, ready.sample.contexts[context].id)
