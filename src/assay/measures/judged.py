"""Measures that only a judge can give: a language model grades the answer as a whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from assay.errors import InputError, UsageError, excerpt
from assay.grounding.record import Blank
from assay.judge import criteria
from assay.judge.criteria import Criterion, ungradable
from assay.measures.registry import REGISTRY, measure
from assay.messages import say

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from assay.grounding.case import Case
    from assay.measures.registry import Measure

_RUBRICS: dict[str, Criterion] = {}  # rubrics that were read, by the digest of their text, to which definitions refer
_CORRECTNESS = Criterion("correctness", "correctness", shows=("question", "reference"), needs=("reference",))


def _grade_of(case: Case, criterion: Criterion) -> float | Blank:
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
    Agrees with: no other tool: each has its own prompt.
    Reading: .75 may be three right in four, or half of them right and half partly.
    Use when: answers are sentences and references exist.
    Not when: the judge has not been compared with people.
    """
    return _grade_of(case, _CORRECTNESS)


def _own_criterion(params: Mapping[str, Any]) -> Criterion:
    """The rubric that a definition refers to, which this process must have read."""
    found = _RUBRICS.get(params["digest"])
    if found is not None:
        return found
    if not params["digest"]:
        raise UsageError(say("a rubric is a file: name it, as in -m tone.md"))
    raise UsageError(
        say(
            "the rubric {name} ({digest}) has not been read: name its file, as in -m tone.md",
            name=excerpt(params["name"]),
            digest=params["digest"],
        )
    )


def _own_bounds(params: Mapping[str, Any]) -> tuple[float, float]:
    return float(params["low"]), float(params["high"])


@measure(
    cutoff="none",
    of="answers",
    needs=("answer",),
    criterion=_own_criterion,
    needs_judge=True,
    bounds=_own_bounds,
    label="name",
)
def rubric(
    case: Case,
    _k: None,
    *,
    name: str = "",
    digest: str = "",
    low: int = 0,
    high: int = 1,
    method: Literal["auto", "llm"] = "auto",
) -> float | Blank:
    """What a judge finds by a criterion of your own.

    Definition: a language model's grade of the answer by a rubric, a Markdown file that says what to judge and has a
      scale. Ask for it by the file, as in -m tone.md; the parameters are what results say about it.
    Parameters:
      name: the name of the rubric and of its column: the file's, or that of a line name: in it.
      digest: the beginning of the SHA-256 of the file's text: values of different rubrics are never compared.
      low: the lowest grade.
      high: the highest grade.
      method: only a language model can decide this.
    Odd cases: the judge sees the answer and what a line needs: names (question, contexts, reference), a sample without
      that is not applicable; without such a line, all that the sample has. A refusal is graded like any answer. A
      missing answer is in no mean.
    Agrees with: no other tool: the rubric is your own.
    Reading: the mean grade on your scale; the meanings of the grades are in the file.
    Use when: you have criteria of your own: tone, house style, a duty to warn, completeness of a form.
    Not when: the judge has not been compared with people on this rubric.
    """
    return _grade_of(case, _own_criterion({"name": name, "digest": digest}))


def read_rubric(place: str | os.PathLike[str]) -> Measure:
    """Read a user's rubric, and make a measure of it."""
    found = criteria.read_rubric(place)
    if found.name in REGISTRY:
        hint = say("give it another name: begin the file with a line such as name: my_{name}", name=found.name)
        raise InputError(say("there is already a measure called {name}", name=found.name), path=str(place), hint=hint)
    _RUBRICS[found.digest] = found.criterion
    scale = found.criterion.scale
    assert scale is not None
    return rubric(name=found.name, digest=found.digest, low=scale.low, high=scale.high)
