"""What a plan of judging looks like."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.messages import say
from assay.report.blocks import Block, Lines, Verdict
from assay.report.numbers import number
from assay.report.tables import Table
from assay.report.views.judging import plan

if TYPE_CHECKING:
    from assay.results.judging import JudgingPlan


def line(found: JudgingPlan) -> Verdict:
    """Say what the first judge would take."""
    said = plan(found)
    return Verdict(said[0] if said else say("judge.no_plan"))


def table(found: JudgingPlan) -> list[Block]:
    """One row per judge, and the same in words."""
    names = ("judge", "calls", "cached", "prompt_tokens", "completion_tokens", "cost", "enough", "currency")
    rows = tuple(
        (
            name, f"{one.calls:,}", f"{one.cached:,}", f"{one.prompt_tokens:,}", f"{one.completion_tokens:,}",
            number(one.cost), number(one.enough), one.currency,
        )
        for name, one in found.estimates.items()
    )  # fmt: skip
    return [Table(tuple(say(f"column.{name}") for name in names), rows, texts=(7,)), Lines(tuple(plan(found)))]
