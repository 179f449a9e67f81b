"""Query by query against the baseline: sorted differences, one against the other, the queries that moved most."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from assay.analysis.comparable import aligned
from assay.messages import say
from assay.report.blocks import Block, Chart, Fold, Point, Section
from assay.report.sections.summary import leading
from assay.report.tables import Cell, Table
from assay.report.views import comparison as shown
from assay.report.views.comparison import number

if TYPE_CHECKING:
    from assay.analysis.comparable import Aligned
    from assay.analysis.report_data import Group, ReportData
    from assay.data.segments import Floats
    from assay.results.comparison import Comparison, Contrast

_BARS = 240  # more bars than this cannot be told apart
_DOTS = 600
_CELLS = 24
_SHARES = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)


def section(found: ReportData) -> Section | None:
    """Differences on the primary measure, the most interesting system first."""
    blocks = [block for place, group in enumerate(found.groups) for block in _group(group, place)]
    return Section("differences", say("page.differences"), tuple(blocks)) if blocks else None


def _group(group: Group, place: int) -> list[Block]:
    found = group.comparison
    if found is None:
        return []
    data = aligned(group.systems, [group.primary])
    first = leading(found, group.primary)
    blocks = _contrast(found, data, first, f"{place}-0", lower=group.lower)
    for number_, contrast in enumerate((c for c in found.contrasts if c.measure == group.primary), 1):
        if contrast.system != first.system:
            title = say("report.against", system=contrast.system, baseline=found.baseline)
            parts = _contrast(found, data, contrast, f"{place}-{number_}", lower=group.lower)
            blocks.append(Fold(title, tuple(parts)))
    return blocks


def _contrast(found: Comparison, data: Aligned, contrast: Contrast, key: str, *, lower: bool) -> list[Block]:
    place = data.names.index(contrast.system)
    before, after = data.values[:, 0, 0], data.values[:, 0, place]
    change = after - before
    change = change[~np.isnan(change)]
    blocks: list[Block] = [
        replace(_bars(found, contrast, np.sort(change) if lower else np.sort(change)[::-1], key), lower=lower),
        replace(_scatter(found, contrast, (before, after), data.query_ids, key), lower=lower),
    ]
    movers = shown.movers(found, contrast)
    return [*blocks, _linked(movers)] if movers is not None else blocks


def _linked(table: Table) -> Table:
    rows = tuple((Cell(str(row[0]), query=str(row[0])), *row[1:]) for row in table.rows)
    return Table(table.headers, rows, table.caption, table.names, table.texts)


def _bars(found: Comparison, contrast: Contrast, ordered: Floats, key: str) -> Chart:
    """All differences, the greatest gain first; of very many, evenly spaced ones."""
    picked = ordered
    if len(ordered) > _BARS:
        picked = ordered[np.linspace(0, len(ordered) - 1, _BARS).round().astype(int)]
    points = tuple(Point(float(i + 1), float(value)) for i, value in enumerate(picked))
    quantiles: list[float] = np.quantile(ordered, _SHARES).tolist() if len(ordered) else []
    cells = tuple(number(value, signed=True) for value in quantiles)
    outcomes = f"{contrast.wins}/{contrast.ties}/{contrast.losses}"
    headers = (*(say("column.quantile", share=share) for share in _SHARES), say("column.outcomes"))
    table = Table(headers, ((*cells, outcomes),), names=0)
    title = say("chart.bars", measure=contrast.measure, system=contrast.system, baseline=found.baseline, n=len(ordered))
    return Chart(f"differences-{key}", "bars", title, say("axis.queries_sorted"), say("axis.difference"), points, table)


def _scatter(
    found: Comparison, contrast: Contrast, values: tuple[Floats, Floats], queries: list[str], key: str
) -> Chart:
    """Every query's value under the baseline and under the system; many queries as shaded cells."""
    before, after = values
    known = ~(np.isnan(before) | np.isnan(after))
    title = say("chart.scatter", measure=contrast.measure, system=contrast.system, baseline=found.baseline)
    table = _quadrants(found, contrast, before[known], after[known])
    place = (f"scatter-{key}", title, found.baseline, contrast.system, table)
    if known.sum() <= _DOTS:
        points = tuple(
            Point(float(x), float(y), label=query)
            for x, y, query, keep in zip(before, after, queries, known, strict=True)
            if keep
        )
        return Chart(place[0], "scatter", place[1], place[2], place[3], points, table)
    low, high = _range(before[known], after[known])
    counts, edges, _ = np.histogram2d(before[known], after[known], bins=_CELLS, range=((low, high), (low, high)))
    step = float(edges[1] - edges[0])
    points = tuple(
        Point(float(edges[i]), float(edges[j]), low=float(counts[i, j]))
        for i in range(_CELLS)
        for j in range(_CELLS)
        if counts[i, j]
    )
    return Chart(place[0], "density", place[1], place[2], place[3], points, table, step=step)


def _range(before: Floats, after: Floats) -> tuple[float, float]:
    low, high = float(min(before.min(), after.min())), float(max(before.max(), after.max()))
    return (low, high) if high > low else (low, low + 1.0)


def _quadrants(found: Comparison, contrast: Contrast, before: Floats, after: Floats) -> Table:
    """How many queries had nothing before or after: the numbers behind the picture."""
    zero = (before == 0, after == 0)
    rows = (
        (say("scatter.both_zero"), f"{int((zero[0] & zero[1]).sum()):,}"),
        (say("scatter.rescued", baseline=found.baseline, system=contrast.system),
         f"{int((zero[0] & ~zero[1]).sum()):,}"),
        (say("scatter.lost", baseline=found.baseline, system=contrast.system), f"{int((~zero[0] & zero[1]).sum()):,}"),
        (say("scatter.neither"), f"{int((~zero[0] & ~zero[1]).sum()):,}"),
    )  # fmt: skip
    return Table((say("column.case"), say("column.queries")), rows)
