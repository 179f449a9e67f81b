"""What a plan of making questions looks like: what each step takes, and how much money suffices."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.messages import Said, say, word
from assay.report.blocks import Block, Lines, Verdict
from assay.report.numbers import upwards
from assay.report.tables import Table

if TYPE_CHECKING:
    from assay.results.questions import QuestionPlan


def line(found: QuestionPlan) -> Verdict:
    """How many calls so many questions take."""
    one = found.total
    return Verdict(say("questions.plan", n=found.n, calls=one.calls, cached=one.cached, judge=found.judge))


def table(found: QuestionPlan, limit: float | None = None) -> list[Block]:
    """Calls, tokens and money of every step, and whether a limit of money suffices."""
    rows = tuple(
        (word("questions.step", one.name), f"{one.estimate.calls:,}", f"{one.estimate.prompt_tokens:,}",
         f"{one.estimate.completion_tokens:,}", "-" if one.estimate.cost is None else f"{one.estimate.cost:.4f}")
        for one in found.steps
    )  # fmt: skip
    names = ("question_step", "calls", "prompt_tokens", "completion_tokens", "cost")
    return [
        line(found),
        Table(tuple(say(f"column.{name}") for name in names), rows),
        Lines(tuple(prices(found, limit))),
    ]


def page(found: QuestionPlan, place: int = 0) -> list[Block]:
    """The same."""
    del place
    return table(found)


def prices(found: QuestionPlan, limit: float | None = None) -> list[Said]:
    """What it will cost, and which --max-cost suffices whatever becomes of the questions."""
    one, most = found.total, found.most
    if one.cost is None:
        return [say("judge.no_price")]
    told = [say("questions.plan_cost", n=found.n, cost=one.cost, currency=one.currency)]
    if most.enough is not None:
        enough = upwards(most.enough)
        told.append(say("questions.plan_most", attempts=found.attempts, enough=enough, currency=one.currency))
        if limit is not None and most.enough > limit:
            told.append(say("judge.over", limit=limit, currency=one.currency))
    return told
