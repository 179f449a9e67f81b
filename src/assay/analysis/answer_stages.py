"""The stage at which an answer went wrong: retrieval, use of what was retrieved, support, or a refusal."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from assay.data.samples import Context
from assay.grounding.answerability import ENOUGH
from assay.grounding.case import claims
from assay.grounding.preparing import sample_for
from assay.grounding.record import Blank
from assay.grounding.words import by_words
from assay.messages import say

if TYPE_CHECKING:
    from assay.data.samples import Sample
    from assay.grounding.case import Case
    from assay.results.answers import AnswerStage


class StageFinding(NamedTuple):
    """The stage at which an answer went wrong (None if unknown), and why."""

    stage: AnswerStage | None
    why: str


def stage_of(case: Case) -> StageFinding:
    """Return the stage that an answer reached.

    A refusal is right where the contexts do not hold the answer. Otherwise: the question has no answer, as
    `answerable`, gold ids or the reference say (should have refused); the contexts hold nothing of it (not retrieved);
    no statement is supported, or the answer does not say what the reference says (not used); a statement is not
    supported; fine.
    """
    support = case.support
    if support.status not in {"scored", "abstained"}:
        return StageFinding(None, support.reason)
    if support.status == "abstained":
        return _refusal_stage(case)
    supported = [(part.support or 0.0) >= ENOUGH for _, part in claims(support)]
    right = _says_the_reference(case.sample)
    lacking = case.answerability.holds is False and not (right and all(supported))
    rules: list[tuple[bool, AnswerStage, str]] = [
        (lacking and case.answerability.unanswerable, "should have refused", _by(case)),
        (lacking, "not retrieved", _by(case)),
        (not any(supported), "retrieved but not used", say("stage_why.no_support")),
        (
            not all(supported),
            "used but not supported",
            say("stage_why.unsupported", n=supported.count(False), of=len(supported)),
        ),
        (right is False, "retrieved but not used", say("stage_why.unsaid")),
    ]
    return next((StageFinding(stage, why) for found, stage, why in rules if found), StageFinding("fine", ""))


def _refusal_stage(case: Case) -> StageFinding:
    told = case.answerability
    if told.holds is None:
        return StageFinding(None, say("stage_why.refusal_open"))
    return StageFinding("wrong refusal" if told.holds else "right refusal", _by(case))


def _by(case: Case) -> str:
    """What the finding about the contexts is based on."""
    return say("stage_why.by", field=case.answerability.by)


def _says_the_reference(sample: Sample) -> bool | None:
    """Return whether the answer has the words of the reference; None if that cannot be known."""
    ready = sample_for(sample, "reference")
    if isinstance(ready, Blank) or not sample.answer:
        return None
    found = by_words(replace(ready, contexts=(Context(sample.answer),)))
    return None if found.status != "scored" or found.value is None else found.value >= ENOUGH
