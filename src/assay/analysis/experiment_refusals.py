"""How combinations of an experiment take questions that no document answers: right is to refuse."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.analysis.answer_plan import plan_answers
from assay.analysis.answers import score_answers
from assay.analysis.means import column_mean
from assay.measures import defaults
from assay.pipeline.runner import total
from assay.results.experiment import Refusals
from assay.stats import proportion_interval

if TYPE_CHECKING:
    from assay.pipeline.runner import Execution, Work


def count_refusals(outcome: Execution) -> Refusals:
    """Count what one combination refused, answered and failed on; refusals are recognised by their words."""
    name = outcome.combination.name
    if outcome.samples is None:
        return Refusals(name, 0, 0, 0, proportion_interval(0, 0), reason=outcome.reason)
    scores = score_answers(plan_answers(outcome.samples, [defaults.REFUSALS], method="words", name=name))
    values = dict(zip(scores.query_ids, scores.column(defaults.REFUSALS).tolist(), strict=True))
    work: list[Work] = [one for works in outcome.work.values() for one in works]
    return Refusals(
        name, len(values),
        refused=sum(value == 1 for value in values.values()),
        failed=sum(value != value for value in values.values()),  # noqa: PLR0124 - NaN
        right=column_mean(scores, defaults.REFUSALS),
        money=total(work)[1],
        answered=next((one.question or "" for one in outcome.samples if values.get(one.query_id) == 0), ""),
    )  # fmt: skip
