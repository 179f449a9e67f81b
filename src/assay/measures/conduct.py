"""Measures of how an answer behaves: its citations and its refusals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from assay.grounding.record import Blank
from assay.measures.answers import Method  # noqa: TC001 - parameters are checked by their types at run time
from assay.measures.registry import measure
from assay.messages import say

if TYPE_CHECKING:
    from collections.abc import Mapping

    from assay.grounding.case import Case
    from assay.grounding.matrix import Matrix
    from assay.grounding.preparing import Piece


def _answer(_: Mapping[str, Any]) -> frozenset[Piece]:
    return frozenset({"answer"})


@measure(cutoff="none", of="answers", needs=("answer", "contexts", "marks"), pieces=_answer)
def citation_precision(case: Case, _k: None, *, threshold: float = 0.5, method: Method = "auto") -> float | Blank:
    """Share of the citations that support the statement they are attached to.

    Definition: a citation is right if all contexts cited at its statement together support it and, of these, it
      supports it alone or the others do not without it. Right citations / citations.
    Parameters:
      threshold: support from which a statement is supported.
      method: how support is judged, as for faithfulness.
    Odd cases: marks are [1], [2, 3], [1-3], 【1】 or the id of a context in brackets; numbers count from 1. A mark
      belongs to the statement that it is in or after. A number beyond the contexts is a wrong citation. An answer
      without marks is not applicable.
    Reference: Gao et al. 2023 (ALCE).
    Agrees with: ALCE, up to the method.
    Reading: .70 means three citations in ten do not help their statement.
    Use when: answers have citations.
    Not when: every sentence cites everything: look at recall too.
    """
    found = _citations(case)
    if isinstance(found, Blank):
        return found
    matrix, cited = found
    right = total = 0
    for place, (known, absent) in cited.items():
        total += len(known) + len(absent)
        if matrix.joint(place, known) < threshold:
            continue
        for context in known:
            others = [other for other in known if other != context]
            needed = not others or matrix.joint(place, others) < threshold
            right += needed or matrix.joint(place, [context]) >= threshold
    return right / total


@measure(cutoff="none", of="answers", needs=("answer", "contexts", "marks"), pieces=_answer)
def citation_recall(case: Case, _k: None, *, threshold: float = 0.5, method: Method = "auto") -> float | Blank:
    """Share of the statements that their citations support.

    Definition: statements that the contexts cited at them together support / all statements.
    Parameters:
      threshold: support from which a statement is supported.
      method: how support is judged, as for faithfulness.
    Odd cases: as for citation_precision; a statement without a citation counts as not supported.
    Reference: Gao et al. 2023 (ALCE).
    Agrees with: ALCE, up to the method.
    Reading: .60 means a reader can check three statements in five at the place that the answer names.
    Use when: answers have citations and readers rely on them.
    Not when: one citation at the end covers a whole paragraph.
    """
    found = _citations(case)
    if isinstance(found, Blank):
        return found
    from assay.grounding.case import claims

    matrix, cited = found
    parts = claims(matrix.support)
    return sum(matrix.joint(place, cited.get(place, ([], []))[0]) >= threshold for place, _ in parts) / len(parts)


def _citations(case: Case) -> tuple[Matrix, dict[int, tuple[list[int], list[int]]]] | Blank:
    """The support of the answer, and what is cited at each statement that claims something.

    These are the contexts, and the numbers that name none.
    """
    from assay.grounding.case import claims

    found = case.matrix("answer")
    if isinstance(found, Blank):
        return found
    if not case.marks:
        return Blank("not_applicable", say("blank.no_marks"))
    parts = claims(found.support)
    cited: dict[int, tuple[list[int], list[int]]] = {}
    for mark in case.marks:
        before = [place for place, part in parts if part.start <= mark.start]
        place = before[-1] if before else parts[0][0]
        known, absent = cited.setdefault(place, ([], []))
        known += [context for context in mark.contexts if context not in known]
        absent += [number for number in mark.absent if number not in absent]
    return found, cited


Decision = Literal["right refusal", "wrong refusal", "right answer", "wrong answer"]


def _decision(case: Case) -> Decision | Blank:
    """Whether the answer refuses, and whether it should have."""
    support = case.support
    if support.status in {"missing", "failed", "undefined"}:
        return Blank(support.status, support.reason)
    told = case.answerability
    if told.holds is None:
        return Blank("not_applicable", say("blank.holding_unknown"))
    if support.status == "abstained":
        return "wrong refusal" if told.holds else "right refusal"
    return "right answer" if told.holds else "wrong answer"


@measure(cutoff="none", of="answers", needs=("answer", "reference|gold_ids|answerable"))
def abstention(case: Case, _k: None) -> float | Blank:
    """Whether the system was right to answer, or right to refuse.

    Definition: 1 for a refusal where the contexts do not hold the answer and for an answer where they do; else 0.
    Odd cases: a column answerable says whether the contexts hold the answer, yes or no. Without it they do not if none
      of them is a gold id (or there is no gold id at all), if the reference itself refuses, or if they support less
      than half of the reference's words. No contexts hold no answer. Where nothing of this is known, it is not
      applicable. Refusals are recognised by their words,
      English and Chinese: "I don't know", "the context does not say", 无法回答, 文中没有提到.
    Reference: Katsis et al. 2025 (MTRAG).
    Agrees with: no tool known.
    Reading: .90 means nine decisions in ten were right.
    Use when: a system is expected to say that it does not know.
    Not when: you want to know which way it errs: see right_refusals and wrong_refusals.
    """
    found = _decision(case)
    return found if isinstance(found, Blank) else float(found.startswith("right"))


@measure(cutoff="none", of="answers", needs=("answer", "reference|gold_ids|answerable"))
def right_refusals(case: Case, _k: None) -> float | Blank:
    """Share refused of what should be refused.

    Definition: of the samples whose contexts do not hold the answer: 1 for a refusal, 0 for an answer.
    Odd cases: those of abstention; a sample whose contexts hold the answer is not applicable.
    Agrees with: no tool known.
    Reading: .30 means that seven questions in ten without an answer get one anyway.
    Use when: invented answers are the main risk.
    Not when: it is the only measure: a system that always refuses has 1.
    """
    found = _decision(case)
    if isinstance(found, Blank):
        return found
    if found in {"right answer", "wrong refusal"}:
        return Blank("not_applicable", say("blank.held"))
    return float(found == "right refusal")


@measure(cutoff="none", of="answers", needs=("answer", "reference|gold_ids|answerable"), lower_is_better=True)
def wrong_refusals(case: Case, _k: None) -> float | Blank:
    """Share refused of what could be answered.

    Definition: of the samples whose contexts hold the answer: 1 for a refusal, 0 for an answer.
    Odd cases: those of abstention; a sample whose contexts do not hold the answer is not applicable.
    Agrees with: no tool known.
    Reading: .15 means that one question in seven is refused although the answer was there.
    Use when: a system is too careful.
    Not when: it is the only measure: a system that never refuses has 0.
    """
    found = _decision(case)
    if isinstance(found, Blank):
        return found
    if found in {"right refusal", "wrong answer"}:
        return Blank("not_applicable", say("blank.not_held"))
    return float(found == "wrong refusal")
