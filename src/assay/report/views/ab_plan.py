"""What the plan of an A/B test looks like: how many users, for how long, and what they would show."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.messages import say
from assay.report.blocks import Block, Facts, Lines, Verdict
from assay.report.numbers import number, percent

if TYPE_CHECKING:
    from assay.results.ab_test import ABPlan


def line(found: ABPlan) -> Verdict:
    """How many users show the lift."""
    if found.lift is None:
        return Verdict(say("ab.plan_too_few", users=found.users or 0, measure=found.measure, power=found.power))
    if found.users is None:
        return Verdict(say("ab.plan_impossible", measure=found.measure))
    return Verdict(
        say(
            "ab.plan",
            users=found.users,
            lift=abs(found.lift),
            relative=percent(None if found.relative is None else abs(found.relative)),
            measure=found.measure,
            power=found.power,
        )
    )


def table(found: ABPlan) -> list[Block]:
    """The sentence, then what it is computed from."""
    items = [
        (say("column.mean"), number(found.mean), ""),
        (say("ab.deviation"), number(found.deviation), ""),
        (say("ab.level_alpha"), f"{found.alpha:.4g}", say("ab.plan_tests", n=found.tests) if found.tests > 1 else ""),
        (say("ab.power"), percent(found.power), ""),
    ]
    if found.treatment_deviation is not None:  # plans of earlier versions took it to be that of the control
        items.insert(2, (say("ab.deviation_with_lift"), number(found.treatment_deviation), ""))
    if found.days is not None:
        items.append((say("column.days"), f"{found.days:,}", say("ab.plan_days", n=found.users_per_day)))
    week = [say("ab.plan_week")] if found.days is not None and found.days < 7 else []  # noqa: PLR2004
    return [line(found), Facts(tuple(items)), Lines(tuple(week))]
