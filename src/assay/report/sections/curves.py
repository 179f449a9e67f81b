"""Measures against k, with bands, and which k to choose."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.messages import say
from assay.report.blocks import Block, Chart, Fold, Lines, Point, Section
from assay.report.tables import Table
from assay.report.views import sweep as shown
from assay.report.views.comparison import number

if TYPE_CHECKING:
    from assay.analysis.report_data import Group, ReportData
    from assay.results.sweep import Curve

_OPEN = 4  # systems whose advice is shown without a click


def section(found: ReportData) -> Section | None:
    """The curves of all groups."""
    blocks = [block for place, group in enumerate(found.groups) for block in _group(group, place)]
    return Section("curves", say("page.curves"), tuple(blocks)) if blocks else None


def _group(group: Group, place: int) -> list[Block]:
    blocks: list[Block] = [
        curve(f"curve-{place}-{measure}", measure, [one for one in group.curves if one.measure == measure])
        for measure in dict.fromkeys(one.measure for one in group.curves)
    ]
    if group.sweep is not None:
        lines = tuple(line for choice in group.sweep.choices for line in shown.choice_lines(group.sweep, choice))
        advice = Lines(lines, listed=True)
        blocks.append(advice if len(group.systems) <= _OPEN else Fold(say("sweep.choices"), (advice,)))
    return blocks


def curve(name: str, measure: str, curves: list[Curve]) -> Chart:
    """One measure over k, a line for each system."""
    points = tuple(
        Point(float(k), p.estimate, p.low, p.high, series=one.system)
        for one in curves
        for k, p in zip(one.k, one.points, strict=True)
        if p.estimate is not None
    )
    rows = tuple((one.system, *(number(p.estimate) for p in one.points)) for one in curves)
    table = Table((say("column.system"), *(f"k = {k}" for k in curves[0].k)), rows)
    return Chart(name, "curves", say("sweep.title", measure=measure), "k", measure, points, table)
