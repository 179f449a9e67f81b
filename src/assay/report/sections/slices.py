"""Kinds of queries: where failures happen, and the measure by attribute."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.messages import say
from assay.report.blocks import Block, Chart, Fold, Point, Section
from assay.report.intervals import between
from assay.report.tables import Table
from assay.report.views import diagnosis as shown
from assay.report.views.comparison import number

if TYPE_CHECKING:
    from assay.analysis.report_data import ReportData
    from assay.results.diagnosis import Diagnosis, Slice

_OPEN = 3  # systems that are shown without a click


def section(found: ReportData) -> Section | None:
    """Stages of failure and slices of every system."""
    diagnoses = [one for group in found.groups for one in group.diagnoses if one.stages or one.slices]
    blocks: list[Block] = []
    kinds = dict.fromkeys((one.measure, part.attribute) for one in diagnoses for part in one.slices)
    blocks += [_chart(*kind, [one for one in diagnoses if one.measure == kind[0]]) for kind in kinds]
    for place, one in enumerate(diagnoses):
        part = Fold(say("report.system", system=one.system), (*shown.stages(one), *shown.slices(one)))
        blocks += [part] if place >= _OPEN or len(diagnoses) > 1 else part.blocks
    return Section("slices", say("page.slices"), tuple(blocks)) if blocks else None


def _chart(measure: str, attribute: str, diagnoses: list[Diagnosis]) -> Chart:
    """One measure by one attribute: a row for each of its values, a mark for each system."""
    parts = [(one.system, part) for one in diagnoses for part in one.slices if part.attribute == attribute]
    points = tuple(
        Point(part.value or "-", part.mean.estimate, part.mean.low, part.mean.high, series=system)
        for system, part in parts
        if part.mean.estimate is not None
    )
    rows = tuple(_row(system, part) for system, part in parts)
    headers = (
        say("column.system"), say("column.value"), say("column.queries"), say("column.mean"),
        say("column.interval", level=0.95), say("column.failed"),
    )  # fmt: skip
    title = say("chart.slice", measure=measure, attribute=attribute)
    table = Table(headers, rows, names=2)
    return Chart(f"slice-{measure}-{attribute}", "intervals", title, measure, attribute, points, table)


def _row(system: str, part: Slice) -> tuple[str, ...]:
    return (
        system, part.value, str(part.queries), number(part.mean.estimate), between(part.mean), str(part.failed),
    )  # fmt: skip
