"""What was found out about answers as plain values for files: samples with their evidence, stages, methods."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from assay.analysis.answer_stages import STAGES
from assay.analysis.doubts import agreement
from assay.results.diagnosis import WeakStatement

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from assay.analysis.answers import Answers, SampleOutcome
    from assay.grounding.record import Statement

_WEAKEST = 8


def answers_part(systems: Sequence[Answers]) -> dict[str, Any]:
    """The part of a result file that is about answers."""
    methods: Counter[str] = Counter()
    for scores in systems:
        methods.update(scores.methods)
    embedder = next((scores.embedder for scores in systems if scores.embedder), "")
    outcomes = [(outcome, scores.name) for scores in systems for outcome in scores.outcomes]
    return {
        "samples": [sample_record(outcome, name if len(systems) > 1 else "") for outcome, name in outcomes],
        "methods": dict(methods),
        "agreement": {method: str(agreement(method, embedder)) for method in methods},
        "columns": dict(systems[0].mapping),
    }


def samples_of(samples: Sequence[Mapping[str, Any]], system: str) -> list[Mapping[str, Any]]:
    """The samples of one system of a result; one that names no system in them has but one."""
    return [row for row in samples if row.get("system", system) == system]


def sample_record(outcome: SampleOutcome, system: str = "") -> dict[str, Any]:
    """One sample with everything that was found out about it; its system where there are several."""
    sample, support = outcome.sample, outcome.support
    return {
        **({"system": system} if system else {}),
        "query_id": sample.query_id,
        "question": sample.question,
        "answer": sample.answer,
        "contexts": [{"id": context.id, "text": context.text} for context in sample.contexts or ()],
        "method": support.method,
        "status": support.status,
        "reason": support.reason,
        "stage": outcome.staged.stage,
        "stage_reason": outcome.staged.why,
        "statements": [_statement(part, sample.answer or "") for part in support.statements],
        "scores": {
            label: {"value": cell.value, "status": cell.status, "reason": cell.reason, "method": cell.method}
            | ({"note": cell.note} if cell.note else {})
            for label, cell in outcome.cells.items()
        },
        "fallback": list(outcome.trail),
        "notes": list(support.notes),
    }


def _statement(part: Statement, answer: str) -> dict[str, Any]:
    evidence = part.evidence
    return {
        "start": part.start,
        "end": part.end,
        "text": answer[part.start : part.end],
        "kind": part.kind,
        "support": part.support,
        "context": None if evidence is None else evidence.context,
        "evidence": None if evidence is None else evidence.text,
        "reason": reason_of(part) or None,
    }


def reason_of(part: Statement) -> str:
    """Why a statement has the support it has, in a few words."""
    found = [f"{reason.conflict}: {reason.detail}" for reason in part.reasons]
    return "; ".join([*found, *([part.note] if part.note else [])])


def stages_in(samples: Sequence[Mapping[str, Any]]) -> dict[str, tuple[str, ...]]:
    """Ids of the samples at each stage, in the order of the stages; those at no stage under the empty name."""
    names = [*STAGES, ""]
    found = {name: tuple(str(row["query_id"]) for row in samples if (row.get("stage") or "") == name) for name in names}
    return {name: ids for name, ids in found.items() if ids}


def weakest_in(samples: Sequence[Mapping[str, Any]]) -> tuple[WeakStatement, ...]:
    """The statements with the least support."""
    found = []
    for row in samples:
        parts = [part for part in row.get("statements") or () if part.get("support") is not None]
        for part in parts if row.get("status", "scored") == "scored" else ():
            text = (row.get("answer") or "")[part["start"] : part["end"]]
            found.append(
                WeakStatement(
                    str(row["query_id"]), part["support"], text, part.get("evidence") or "", part.get("reason") or ""
                )
            )
    low = [weak for weak in found if weak.support < 1]
    return tuple(sorted(low, key=lambda weak: (weak.support, weak.query_id))[:_WEAKEST])
