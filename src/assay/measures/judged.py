"""Measures that only a judge can give: a language model grades the answer as a whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from assay.grounding.record import Blank
from assay.judge.criteria import Criterion, ungradable
from assay.measures.registry import measure

if TYPE_CHECKING:
    from assay.grounding.case import Case

_CORRECTNESS = Criterion("correctness", "correctness", shows=("question", "reference"), needs=("reference",))


def _graded(case: Case, criterion: Criterion) -> float | Blank:
    """The grade of an answer, or why it has none."""
    blank = ungradable(case.sample, criterion)
    if blank is not None:
        return blank
    grade = case.grade(criterion.name)
    return Blank(grade.status, grade.reason) if grade.value is None else grade.value


@measure(
    cutoff="none",
    of="answers",
    needs=("answer", "reference"),
    criterion=_CORRECTNESS,
    needs_judge=True,
    zero_if_missing=True,
)
def correctness(case: Case, _k: None, *, method: Literal["auto", "llm"] = "auto") -> float | Blank:
    """Whether a judge finds that the answer says what the reference says.

    Definition: a language model's grade (0 wrong, 1 partly right, 2 right) / 2.
    Parameters:
      method: only a language model can decide this.
    Odd cases: with several references, agreeing with one is enough. An answer that is missing counts as 0.
    Agrees with: nobody: every tool has its own prompt.
    Reading: .75 may be three right in four, or half of them right and half partly.
    Use when: answers are sentences and references exist.
    Not when: the judge has not been compared with people.
    """
    return _graded(case, _CORRECTNESS)
