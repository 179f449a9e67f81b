"""One query's calculation, rank by rank."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.errors import InputError, UsageError, excerpt
from assay.measures.steps import STEPS, StepCase
from assay.results.diagnosis import RankedDocument

if TYPE_CHECKING:
    from assay.data.judgments import Judgments
    from assay.measures import Measure


@dataclass(frozen=True)
class Explanation:
    """A calculation: the list with one column per step, then the sums, then the value."""

    query_id: str
    measure: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    steps: tuple[str, ...]
    value: float


def rank_list(
    judgments: Judgments, query_id: str, docs: list[tuple[str, float]], *, given: bool, single: bool
) -> list[RankedDocument]:
    """Order one query's documents: by falling score, then by falling document id (or as given)."""
    if query_id not in judgments.by_query:
        known = ", ".join(judgments.query_ids[:3])
        raise InputError(f"query {excerpt(query_id)} is not judged", hint=f"judged queries are {known} ...")
    grades = judgments.by_query[query_id]
    if single:
        import numpy as np

        docs = [(doc, float(np.float32(score))) for doc, score in docs]
    ordered = sorted(docs, key=lambda item: item[0], reverse=True) if not given else docs
    ordered = sorted(ordered, key=lambda item: -item[1])
    return [RankedDocument(i, doc, score, grades.get(doc)) for i, (doc, score) in enumerate(ordered, 1)]


def explain(judgments: Judgments, query_id: str, listed: list[RankedDocument], measure: Measure) -> Explanation:
    """Work out a measure for one query step by step."""
    work = STEPS.get(measure.name)
    if work is None:
        raise UsageError(f"{measure.name} has no step-by-step explanation; there is one for {', '.join(STEPS)}")
    if measure.spec.cutoff == "required" and measure.k is None:
        raise UsageError(f"{measure.name} needs a cutoff: write {measure.name}@10")
    if dict(measure.params).get("judged_only"):
        kept = [doc for doc in listed if doc.grade is not None and doc.grade >= 0]
        listed = [RankedDocument(i, doc.doc_id, doc.score, doc.grade) for i, doc in enumerate(kept, 1)]
    top = listed if measure.k is None else listed[: measure.k]
    case = StepCase(listed, top, judgments.by_query[query_id], measure.k, measure.arguments)
    columns, cells, steps, value = work(case)
    base = [(str(d.rank), d.doc_id, f"{d.score:g}", "-" if d.grade is None else f"{d.grade:g}") for d in top]
    rows = tuple((*left, *right) for left, right in zip(base, cells, strict=True))
    return Explanation(
        query_id, str(measure), ("rank", "document", "score", "grade", *columns), rows, tuple(steps), value
    )
