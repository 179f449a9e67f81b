"""How values and failures are spread, as pictures with the tables behind them."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

from assay.messages import say
from assay.report.addresses import page_address, stage_code
from assay.report.blocks import Chart, Point
from assay.report.tables import Table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from assay.analysis.distributions import Distribution
    from assay.results.answers import AnswerDetails


def spread(found: Distribution, place: int, *, of_answers: bool = False) -> Chart:
    """How many queries, or answers, of each system have which values."""
    bins = list(pairwise(found.edges))
    points = tuple(
        Point(low, float(n), low, high, series=system)
        for system, counts in found.counts.items()
        for (low, high), n in zip(bins, counts, strict=True)
    )
    rows = tuple((system, *(f"{n:,}" for n in counts)) for system, counts in found.counts.items())
    headers = (say("column.system"), *(f"{low:.4g}-{high:.4g}" for low, high in bins))
    title = say("chart.spread_of_answers" if of_answers else "chart.spread", measure=found.measure)
    name = f"spread-{place}-{found.measure}"
    return Chart(name, "distribution", title, found.measure, "", points, Table(headers, rows))


def draw_failures(found: AnswerDetails, place: int) -> Chart | None:
    """How many answers of each system failed where."""
    stages = found.stages_by_system
    only = next(iter(stages)) if len(stages) == 1 else None
    return failures(stages, page="answers", leading=only, name=f"failed-answers-{place}", of_answers=True)


def failures(
    stages: Mapping[str, Mapping[Any, Sequence[str]]], *, page: str, leading: str | None, name: str,
    of_answers: bool = False,
) -> Chart | None:  # fmt: skip
    """How many queries, or answers, of each system got how far; those of the leading system lead to their rows."""
    order = dict.fromkeys(stage for found in stages.values() for stage in found)
    known = [stage for stage in order if stage and any(found.get(stage) for found in stages.values())]
    if not known:
        return None
    points, rows = [], []
    for system, found in stages.items():
        total = sum(map(len, found.values()))
        for stage in known:
            n = len(found.get(stage, ()))
            share = f"{n:,} ({n / total:.1%})" if total else ""
            to = page_address(page, failure=stage_code(stage)) if n and system == leading else ""
            points.append(Point(say(f"stage.{stage}"), float(n), series=system, label=share, to=to))
        rows.append((system, *(f"{len(found.get(stage, ())):,}" for stage in known)))
    headers = (say("column.system"), *(say(f"stage.{stage}") for stage in known))
    title = say("chart.failures_of_answers" if of_answers else "chart.failures")
    axis = say("column.samples" if of_answers else "column.queries")
    return Chart(name, "counts", title, axis, "", tuple(points), Table(headers, tuple(rows)))
