"""The steps of a measure in plain arithmetic, rank by rank, to show how a value is computed.

Only the table of gains is shared with the vectorised measures, so an explanation is also a check of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from assay.measures.gains import gains
from assay.measures.scale import require_max_grade
from assay.messages import say, some

if TYPE_CHECKING:
    from collections.abc import Callable

    from assay.results.diagnosis import RankedDocument


_SHOWN = 12  # gains of the ideal order


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
        """Return whether a document was judged to be relevant."""
        return doc.grade is not None and doc.grade >= self.threshold


# Further columns of the list, their cells, the sums below it, and the value.
Steps = tuple[tuple[str, ...], list[tuple[str, ...]], list[str], float]


def _count_relevant(case: StepCase) -> tuple[int, list[tuple[str, ...]]]:
    seen = 0
    cells: list[tuple[str, ...]] = []
    for doc in case.top:
        seen += case.is_relevant(doc)
        cells.append((_mark(case, doc), str(seen)))
    return seen, cells


def _mark(case: StepCase, doc: RankedDocument) -> str:
    return say("step.yes") if case.is_relevant(doc) else ""


def _counts() -> tuple[str, ...]:
    """The columns for measures that count relevant documents."""
    return say("step.relevant"), say("step.so_far")


def _precision(case: StepCase) -> Steps:
    seen, cells = _count_relevant(case)
    divisor = case.k if case.params.get("over", "k") == "k" else len(case.top)
    value = seen / divisor if divisor else 0.0
    return _counts(), cells, [say("step.precision", n=seen, of=divisor, value=f"{value:.6f}")], value


def _recall(case: StepCase) -> Steps:
    seen, cells = _count_relevant(case)
    divisor = min(case.k or 0, case.relevant) if case.params["capped"] else case.relevant
    value = seen / divisor if divisor else math.nan
    key = "step.recall_capped" if case.params["capped"] else "step.recall"
    shown = f"{value:.6f}"  # a result file cannot hold NaN
    return _counts(), cells, [say(key, n=seen, of=divisor, relevant=case.relevant, value=shown)], value


def _f1(case: StepCase) -> Steps:
    columns, cells, steps, precision = _precision(case)
    seen = _count_relevant(case)[0]
    recall = seen / case.relevant if case.relevant else 0.0
    weight = case.params["beta"] ** 2
    value = (1 + weight) * precision * recall / (weight * precision + recall) if seen else 0.0
    steps += [f"recall = {seen} / {case.relevant} = {recall:.6f}"]
    return columns, cells, [*steps, f"F = (1 + {weight:g}) P R / ({weight:g} P + R) = {value:.6f}"], value


def _hit_rate(case: StepCase) -> Steps:
    seen, cells = _count_relevant(case)
    return _counts(), cells, [say("step.hit", n=seen, k=case.k, hit=int(seen > 0))], float(seen > 0)


def _reciprocal_rank(case: StepCase) -> Steps:
    cells: list[tuple[str, ...]] = [(_mark(case, doc),) for doc in case.top]
    first = next((doc.rank for doc in case.top if case.is_relevant(doc)), None)
    value = 1 / first if first else 0.0
    text = say("step.first", rank=first, value=f"{value:.6f}") if first else say("step.none")
    return (say("step.relevant"),), cells, [text], value


def _average_precision(case: StepCase) -> Steps:
    seen, total = 0, 0.0
    cells: list[tuple[str, ...]] = []
    graded = case.params["gain"] == "graded"
    top = require_max_grade(case.params["max_grade"], "average_precision(gain='graded')") if graded else 1.0
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
    steps: list[str] = [
        say("step.relevant_in_all", n=case.relevant),
        say("step.sum_over", total=f"{total:.6f}", of=divisor, over=case.params["over"], value=f"{value:.6f}"),
    ]
    return ("precision", say("step.weight"), say("step.term")), cells, steps, value


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
    return (say("step.gain"), "log2(rank+1)", say("step.gain_over_log"), "DCG"), cells, [f"DCG = {total:.6f}"], total


def _ndcg(case: StepCase) -> Steps:
    columns, cells, steps, dcg = _dcg(case)
    best = sorted((_gain_of(case, grade) for grade in case.grades.values()), reverse=True)
    best = [gain for gain in best if gain > 0]
    best = best[: case.k] if case.params["ideal"] == "cut" and case.k else best
    ideal = sum(gain / math.log2(rank + 1) for rank, gain in enumerate(best, 1))
    value = dcg / ideal if ideal else math.nan
    shown = some((f"{gain:g}" for gain in best), _SHOWN)
    cut = case.params["ideal"] == "cut" and case.k
    steps += [
        say("step.ideal_cut", k=case.k, gains=shown) if cut else say("step.ideal", gains=shown),
        say("step.ideal_dcg", value=f"{ideal:.6f}"),
    ]
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
    columns = say("step.gain"), say("step.weight"), say("step.sum")
    return columns, cells, [f"rbp = (1 - {p:g}) x {total:.6f} = {value:.6f}"], value


def _err(case: StepCase) -> Steps:
    scale, reach, total = 2.0 ** require_max_grade(case.params["max_grade"], "err"), 1.0, 0.0
    cells: list[tuple[str, ...]] = []
    for doc in case.top:
        stop = (2 ** max(doc.grade or 0.0, 0.0) - 1) / scale
        total += reach * stop / doc.rank
        cells.append((f"{stop:.4f}", f"{reach:.6f}", f"{reach * stop / doc.rank:.6f}"))
        reach *= 1 - stop
    return (
        (say("step.stop"), say("step.reached"), say("step.term")),
        cells,
        [say("step.err", value=f"{total:.6f}")],
        total,
    )


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
