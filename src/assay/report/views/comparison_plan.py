"""What a plan of a comparison looks like: how many queries it takes, or what they show."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.messages import Said, say
from assay.report.blocks import Block, Lines, Verdict
from assay.report.numbers import number
from assay.report.tables import Table

if TYPE_CHECKING:
    from assay.results.comparison_plan import ComparisonPlan, PlannedContrast


def line(found: ComparisonPlan) -> Verdict:
    """Say how many queries the first contrast needs, or what they show."""
    return Verdict(sentence(found, found.contrasts[0]))


def table(found: ComparisonPlan) -> list[Block]:
    """One row per system and measure, then the same in words."""
    said = [sentence(found, one) for one in found.contrasts]
    key = "plan.level_corrected" if found.tests > 1 else "plan.level"
    ends = [say(key, level=found.level, alpha=found.alpha, n=found.tests), say("plan.normal")]
    if not found.baseline:
        return [Lines((*said, *ends))]
    names = ("system", "measure", "deviation", "queries", "needed", "detectable")
    rows = tuple(
        (
            one.system, one.measure, number(one.deviation), "" if one.queries is None else f"{one.queries:,}",
            "" if one.needed is None else f"{one.needed:,}", number(one.detectable),
        )
        for one in found.contrasts
    )  # fmt: skip
    key = "plan.title" if found.difference is None else "plan.title_of"
    caption = say(key, baseline=found.baseline, difference=abs(found.difference or 0.0), power=found.power)
    headers = tuple(say(f"column.{name}") for name in names)
    return [Table(headers, rows, caption=caption, names=2), Lines((*said[: len(said) == 1], *ends))]


def sentence(found: ComparisonPlan, one: PlannedContrast) -> Said:
    """Say what one contrast needs, and what the queries show."""
    told: Said | str = ""
    values = {"power": found.power, "n": found.n or one.queries, "detectable": one.detectable}
    if one.reason:
        told = one.reason
    elif found.difference is not None and one.needed is not None:
        told = say("plan.needed", difference=abs(found.difference), needed=one.needed, power=found.power)
        if one.detectable is not None:
            told = say("text.then", first=told, second=say("plan.detectable", **values))
    elif found.difference is not None:
        told = say("plan.never", difference=abs(found.difference))
    else:
        told = say("plan.detectable", **values)
    who = say("plan.of", system=one.system, measure=one.measure) if one.system else ""
    return say("plan.line", who=who, told=told)
