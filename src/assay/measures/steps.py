"""The steps of a measure in plain arithmetic, rank by rank, for those who want to see how a value comes about.

Only the table of gains is shared with the vectorised measures, so an explanation is also a check of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from assay.measures.gains import gains
from assay.measures.scale import needed_max_grade

if TYPE_CHECKING:
    from collections.abc import Callable

    from assay.results.diagnosis import RankedDocument


@dataclass(frozen=True)
class StepCase:
    """What a calculation works on."""

    listed: list[RankedDocument]
    top: list[RankedDocument]
    grades: dict[str, float]
    k: int | None
    params: dict[str, Any]

    @property
    def threshold(self) -> float:
        """The smallest grade that counts as relevant."""
        return max(float(self.params.get("min_relevance") or 0.0), 0.0)

    @property
    def relevant(self) -> int:
        """How many documents are relevant, retrieved or not."""
        return sum(grade >= self.threshold for grade in self.grades.values())

    def is_relevant(self, doc: RankedDocument) -> bool:
        """Say whether a document was judged to be relevant."""
        return doc.grade is not None and doc.grade >= self.threshold


# Further columns of the list, their cells, the sums below it, and the value.
Steps = tuple[tuple[str, ...], list[tuple[str, ...]], list[str], float]


def _counted(case: StepCase) -> tuple[int, list[tuple[str, ...]]]:
    seen = 0
    cells: list[tuple[str, ...]] = []
    for doc in case.top:
        seen += case.is_relevant(doc)
        cells.append(("yes" if case.is_relevant(doc) else "", str(seen)))
    return seen, cells


def _precision(case: StepCase) -> Steps:
    seen, cells = _counted(case)
    divisor = case.k if case.params.get("over", "k") == "k" else len(case.top)
    value = seen / divisor if divisor else 0.0
    return ("relevant", "so far"), cells, [f"precision = {seen} relevant / {divisor} = {value:.6f}"], value


def _recall(case: StepCase) -> Steps:
    seen, cells = _counted(case)
    divisor = min(case.k or 0, case.relevant) if case.params["capped"] else case.relevant
    value = seen / divisor if divisor else math.nan
    what = f"min(k, {case.relevant} relevant)" if case.params["capped"] else "relevant in all"
    return ("relevant", "so far"), cells, [f"recall = {seen} found / {divisor} {what} = {value:.6f}"], value


def _f1(case: StepCase) -> Steps:
    columns, cells, steps, precision = _precision(case)
    seen = _counted(case)[0]
    recall = seen / case.relevant if case.relevant else 0.0
    weight = case.params["beta"] ** 2
    value = (1 + weight) * precision * recall / (weight * precision + recall) if seen else 0.0
    steps += [f"recall = {seen} / {case.relevant} = {recall:.6f}"]
    return columns, cells, [*steps, f"F = (1 + {weight:g}) P R / ({weight:g} P + R) = {value:.6f}"], value


def _hit_rate(case: StepCase) -> Steps:
    seen, cells = _counted(case)
    return (
        ("relevant", "so far"),
        cells,
        [f"{seen} relevant in the top {case.k}: hit rate = {int(seen > 0)}"],
        float(seen > 0),
    )


def _reciprocal_rank(case: StepCase) -> Steps:
    cells: list[tuple[str, ...]] = [("yes" if case.is_relevant(doc) else "",) for doc in case.top]
    first = next((doc.rank for doc in case.top if case.is_relevant(doc)), None)
    value = 1 / first if first else 0.0
    text = f"first relevant document at rank {first}: 1/{first} = {value:.6f}" if first else "no relevant document: 0"
    return ("relevant",), cells, [text], value


def _average_precision(case: StepCase) -> Steps:
    seen, total = 0, 0.0
    cells: list[tuple[str, ...]] = []
    graded = case.params["gain"] == "graded"
    top = needed_max_grade(case.params["max_grade"], "average_precision(gain='graded')") if graded else 1.0
    for doc in case.top:
        if not case.is_relevant(doc):
            cells.append(("", "", ""))
            continue
        seen += 1
        weight = (doc.grade or 0.0) / top if graded else 1.0
        total += seen / doc.rank * weight
        cells.append((f"{seen}/{doc.rank}", f"{weight:g}" if graded else "", f"{seen / doc.rank * weight:.6f}"))
    divisor = {"all": case.relevant, "found": seen, "min_k": min(case.k or case.relevant, case.relevant)}[
        case.params["over"]
    ]
    value = total / divisor if divisor else (math.nan if not case.relevant else 0.0)
    step = f"sum {total:.6f} / {divisor} ({case.params['over']}) = {value:.6f}"
    return ("precision", "weight", "term"), cells, [f"{case.relevant} relevant documents in all", step], value


def _gain_of(case: StepCase, grade: float | None) -> float:
    import numpy as np

    if grade is None:
        return 0.0
    return float(gains(np.array([grade]), case.params["gain"], case.params["min_relevance"])[0])


def _dcg(case: StepCase) -> Steps:
    total = 0.0
    cells: list[tuple[str, ...]] = []
    for doc in case.top:
        gain, log = _gain_of(case, doc.grade), math.log2(doc.rank + 1)
        total += gain / log
        cells.append((f"{gain:g}", f"{log:.4f}", f"{gain / log:.6f}", f"{total:.6f}"))
    return ("gain", "log2(rank+1)", "gain/log", "DCG"), cells, [f"DCG = {total:.6f}"], total


def _ndcg(case: StepCase) -> Steps:
    columns, cells, steps, dcg = _dcg(case)
    best = sorted((_gain_of(case, grade) for grade in case.grades.values()), reverse=True)
    best = [gain for gain in best if gain > 0]
    best = best[: case.k] if case.params["ideal"] == "cut" and case.k else best
    ideal = sum(gain / math.log2(rank + 1) for rank, gain in enumerate(best, 1))
    value = dcg / ideal if ideal else math.nan
    shown = ", ".join(f"{gain:g}" for gain in best[:12]) + (" ..." if len(best) > 12 else "")  # noqa: PLR2004
    cut = f" (cut at {case.k})" if case.params["ideal"] == "cut" and case.k else ""
    steps += [f"ideal order of gains{cut}: {shown}", f"ideal DCG = {ideal:.6f}"]
    return columns, cells, [*steps, f"nDCG = {dcg:.6f} / {ideal:.6f} = {value:.6f}"], value


def _rbp(case: StepCase) -> Steps:
    p, total = case.params["p"], 0.0
    top = max([1.0, *case.grades.values()])
    cells: list[tuple[str, ...]] = []
    for doc in case.top:
        grade = max(doc.grade or 0.0, 0.0)
        gain = {
            "binary": float(case.is_relevant(doc)),
            "raw": grade,
            "topic": grade / top,
            "graded": grade / (case.params["max_grade"] or 1.0),
        }[case.params["gain"]]
        total += gain * p ** (doc.rank - 1)
        cells.append((f"{gain:g}", f"{p ** (doc.rank - 1):.6f}", f"{total:.6f}"))
    value = (1 - p) * total
    return ("gain", "weight", "sum"), cells, [f"rbp = (1 - {p:g}) x {total:.6f} = {value:.6f}"], value


def _err(case: StepCase) -> Steps:
    scale, reach, total = 2.0 ** needed_max_grade(case.params["max_grade"], "err"), 1.0, 0.0
    cells: list[tuple[str, ...]] = []
    for doc in case.top:
        stop = (2 ** max(doc.grade or 0.0, 0.0) - 1) / scale
        total += reach * stop / doc.rank
        cells.append((f"{stop:.4f}", f"{reach:.6f}", f"{reach * stop / doc.rank:.6f}"))
        reach *= 1 - stop
    return ("stop", "reached", "term"), cells, [f"ERR = sum of terms = {total:.6f}"], total


STEPS: dict[str, Callable[[StepCase], Steps]] = {
    "precision": _precision,
    "recall": _recall,
    "f1": _f1,
    "hit_rate": _hit_rate,
    "reciprocal_rank": _reciprocal_rank,
    "average_precision": _average_precision,
    "ndcg": _ndcg,
    "dcg": _dcg,
    "rbp": _rbp,
    "err": _err,
}
