"""What each query gained and lost against the baseline, as pictures that lead to the queries."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from assay.analysis.changes import SHARES
from assay.messages import say
from assay.report.addresses import query_address
from assay.report.blocks import Block, Chart, Fold, Point
from assay.report.numbers import number, signed
from assay.report.tables import Table
from assay.report.views.comparison import movers

if TYPE_CHECKING:
    from collections.abc import Mapping

    from assay.analysis.changes import QueryChanges
    from assay.results.comparison import Comparison, Contrast


def differences(comparison: Comparison, changes: Mapping[str, QueryChanges], place: int, measure: str) -> list[Block]:
    """What each query gained and lost: the most interesting system first."""
    first = comparison.leading_contrast(measure)
    return _draw(first, changes[first.system], f"{place}-0")


def more_differences(
    comparison: Comparison, changes: Mapping[str, QueryChanges], place: int, measure: str
) -> list[Block]:
    """The queries that moved most, and the other systems, to be opened."""
    first = comparison.leading_contrast(measure)
    moved = movers(comparison, first)
    folds: list[Block] = [] if moved is None else [Fold(moved.caption, (replace(moved, caption=""),))]
    for number_, contrast in enumerate((c for c in comparison.contrasts if c.measure == measure), 1):
        if contrast.system != first.system:
            title = say("report.against", system=contrast.system, baseline=comparison.baseline)
            own = movers(comparison, contrast)
            drawn = _draw(contrast, changes[contrast.system], f"{place}-{number_}")
            folds.append(Fold(title, (*drawn, *([] if own is None else [own]))))
    return folds


def _draw(contrast: Contrast, found: QueryChanges, key: str) -> list[Block]:
    return [_bars(found, contrast, key), _scatter(found, key)]


def _bars(found: QueryChanges, contrast: Contrast, key: str) -> Chart:
    """All differences, the greatest gain first; of very many, evenly spaced ones."""
    queries = found.in_order
    points = tuple(
        Point(float(i + 1), value, label=queries[i].query_id, to=query_address(queries[i].query_id))
        if queries else Point(float(i + 1), value)
        for i, value in enumerate(found.ordered)
    )  # fmt: skip
    cells = tuple(number(value, signed=True) for value in found.quantiles) or ("",) * len(SHARES)
    outcomes = f"{contrast.wins}/{contrast.ties}/{contrast.losses}"
    headers = (*(say("column.quantile", share=share) for share in SHARES), say("column.outcomes"))
    table = Table(headers, ((*cells, outcomes),), names=0)
    names = {"measure": found.measure, "system": found.system, "baseline": found.baseline}
    title, axes = say("chart.bars", n=len(found.queries), **names), (say("axis.queries_sorted"), say("axis.difference"))
    return Chart(f"differences-{key}", "bars", title, *axes, points, table, lower=found.lower, write=signed)


def _scatter(found: QueryChanges, key: str) -> Chart:
    """Every query's value under the baseline and under the system; many queries as shaded cells."""
    title = say("chart.scatter", measure=found.measure, system=found.system, baseline=found.baseline)
    axes, density = (found.baseline, found.system), found.density
    drawn = Chart(f"scatter-{key}", "scatter", title, *axes, (), _quadrants(found), lower=found.lower, write_x=number)
    if density is None:
        dots = tuple(
            Point(one.before, one.after, label=one.query_id, to=query_address(one.query_id)) for one in found.queries
        )
        return replace(drawn, points=dots)
    cells = tuple(Point(x, y, low=float(count)) for x, y, count in density.cells)
    return replace(drawn, kind="density", points=cells, step=density.step)


def _quadrants(found: QueryChanges) -> Table:
    """How many queries had nothing before or after: the numbers behind the picture."""
    names = {"baseline": found.baseline, "system": found.system}
    keys = ("scatter.both_zero", "scatter.rescued", "scatter.lost", "scatter.neither")
    rows = tuple((say(key, **names), f"{count:,}") for key, count in zip(keys, found.zeros, strict=True))
    return Table((say("column.case"), say("column.queries")), rows)
