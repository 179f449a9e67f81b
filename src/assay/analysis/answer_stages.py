"""The stage at which an answer went wrong: retrieval, use of what was retrieved, support, or a refusal."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

from assay.data.samples import Context
from assay.support.case import claims, posed
from assay.support.holding import ENOUGH, holding
from assay.support.methods import by_words
from assay.support.record import Blank

if TYPE_CHECKING:
    from assay.data.samples import Sample
    from assay.support.case import Case

Stage = Literal[
    "not retrieved",
    "retrieved but not used",
    "used but not supported",
    "wrong refusal",
    "right refusal",
    "fine",
]
STAGES: tuple[Stage, ...] = get_args(Stage)
FINE = frozenset({"fine", "right refusal"})


class Staged(NamedTuple):
    """A stage, or None where nothing tells, and why."""

    stage: Stage | None
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
    told = holding(case.sample)
    if support.status == "abstained":
        if told.holds is None:
            return Staged(None, "it refuses, and nothing says whether the contexts hold the answer")
        return Staged("wrong refusal" if told.holds else "right refusal", f"by {told.by}")
    values = [part.support or 0.0 for _, part in claims(support)]
    supported = [value >= ENOUGH for value in values]
    right = _says_the_reference(case.sample)
    if told.holds is False and not (right and all(supported)):
        return Staged("not retrieved", f"by {told.by}")
    if not any(supported):
        return Staged("retrieved but not used", "no statement is supported by a context")
    if not all(supported):
        return Staged("used but not supported", f"{supported.count(False)} of {len(supported)} statements")
    if right is False:
        return Staged("retrieved but not used", "the answer does not say what the reference says")
    return Staged("fine", "")


def _says_the_reference(sample: Sample) -> bool | None:
    """Whether the answer has what the reference says, by its words; None where nothing tells."""
    ready = posed(sample, "reference")
    if isinstance(ready, Blank) or not sample.answer:
        return None
    found = by_words(replace(ready, contexts=(Context(sample.answer),)))
    return None if found.status != "scored" or found.value is None else found.value >= ENOUGH
