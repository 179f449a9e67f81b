"""The stage at which an answer went wrong: retrieval, use of what was retrieved, support, or a refusal."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from assay.data.samples import Context
from assay.grounding.case import claims
from assay.grounding.holding import ENOUGH
from assay.grounding.preparing import sample_for
from assay.grounding.record import Blank
from assay.grounding.words import by_words

if TYPE_CHECKING:
    from assay.data.samples import Sample
    from assay.grounding.case import Case
    from assay.results.answers import AnswerStage

FINE = frozenset({"fine", "right refusal"})


class Staged(NamedTuple):
    """A stage, or None where nothing tells, and why."""

    stage: AnswerStage | None
    why: str


def stage_of(case: Case) -> Staged:
    """Say how far an answer got.

    A refusal is right where the contexts do not hold the answer. Otherwise: the contexts hold nothing of it (not
    retrieved); no statement is supported, or the answer does not say what the reference says (not used); a statement is
    not supported; fine.
    """
    support = case.support
    if support.status not in {"scored", "abstained"}:
        return Staged(None, support.reason)
    if support.status == "abstained":
        return _refused(case)
    supported = [(part.support or 0.0) >= ENOUGH for _, part in claims(support)]
    right = _says_the_reference(case.sample)
    unsaid = "the answer does not say what the reference says"
    rules: list[tuple[bool, AnswerStage, str]] = [
        (case.holding.holds is False and not (right and all(supported)), "not retrieved", f"by {case.holding.by}"),
        (not any(supported), "retrieved but not used", "no statement is supported by a context"),
        (not all(supported), "used but not supported", f"{supported.count(False)} of {len(supported)} statements"),
        (right is False, "retrieved but not used", unsaid),
    ]
    return next((Staged(stage, why) for found, stage, why in rules if found), Staged("fine", ""))


def _refused(case: Case) -> Staged:
    told = case.holding
    if told.holds is None:
        return Staged(None, "it refuses, and nothing says whether the contexts hold the answer")
    return Staged("wrong refusal" if told.holds else "right refusal", f"by {told.by}")


def _says_the_reference(sample: Sample) -> bool | None:
    """Whether the answer has what the reference says, by its words; None where nothing tells."""
    ready = sample_for(sample, "reference")
    if isinstance(ready, Blank) or not sample.answer:
        return None
    found = by_words(replace(ready, contexts=(Context(sample.answer),)))
    return None if found.status != "scored" or found.value is None else found.value >= ENOUGH
