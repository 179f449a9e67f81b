"""An experiment: all combinations, the Pareto front of quality against latency and cost, where time and money went."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.messages import say
from assay.report.blocks import Block, Chart, Fold, Lines, Point, Section, Verdict
from assay.report.intervals import behind
from assay.report.tables import Cell, Table
from assay.report.views.experiment import (
    LATENCY,
    about,
    figures,
    methods_of,
    outcome,
    published,
    three_digits,
    titled,
)
from assay.results.experiment import Findings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.analysis.report_data import ReportData
    from assay.results.experiment import Quality, Row


def section(found: ReportData) -> Section | None:
    """The table, the fronts, the stages."""
    blocks = [block for place, part in enumerate(found.every(Findings)) for block in _part(part, place)]
    return Section("experiment", say("page.experiment"), tuple(blocks)) if blocks else None


def verdict(found: ReportData) -> Verdict | None:
    """Name the winner."""
    part = next((part for part in found.every(Findings) if part.winner), None)
    if part is None:
        return None
    failed = len(part.combinations) - len(part.done)
    text = say("experiment.verdict", winner=part.winner, n=len(part.done), baseline=part.baseline,
               failed=say("experiment.how_many_failed", n=failed) if failed else "")  # fmt: skip
    return Verdict(text, "good")


def _part(part: Findings, place: int) -> list[Block]:
    done = part.done
    named = dict.fromkeys(name for row in done for name in row.quality)
    measures = sorted(named, key=lambda name: name != part.measure)
    star = Lines((say("experiment.star", baseline=part.baseline),))
    every = figures(part)
    shown = measures if every is None else measures[:1]
    blocks: list[Block] = [_table(part, shown), star, *([] if every is None else [every])]
    blocks.append(Lines(tuple(outcome(part))))
    blocks += [] if (table := published(part)) is None else [table]
    for cost in ("latency", "cost"):
        chart = _front(done, part.measure, cost, place)
        blocks += [chart] if chart is not None else []
    failed = tuple(say("doubt.of_one", system=row.name, text=row.reason) for row in part.combinations if not row.done)
    blocks += [Lines(failed, listed=True)] if failed else []
    stages = _stages(done)
    return [*blocks, *([Fold(say("experiment.stages"), (stages,))] if stages.rows else []), *_index(done)]


def _table(part: Findings, measures: Sequence[str]) -> Table:
    axes = list(part.axes)
    labelled = bool(part.labels)
    headers = (
        say("column.combination"), *([say("column.description")] if labelled else []), *axes,
        *(titled(name, methods_of(part, name)) for name in measures),
        *map(say, LATENCY.values()), say("column.per_query_cost"), say("column.pareto"),
        say("column.status"),
    )  # fmt: skip
    rows = tuple(
        (cells[0], *([row.description] if labelled else []), *cells[1:])
        for row in part.combinations
        for cells in (_row(row, axes, measures, winner=row.name == part.winner),)
    )
    last = len(headers) - 1
    return Table(headers, rows, say("experiment.table"), names=1 + labelled + len(axes), texts=(last - 1, last))


def _row(row: Row, axes: Sequence[str], measures: Sequence[str], *, winner: bool) -> tuple[str | Cell, ...]:
    cost = row.cost_per_query
    return (
        Cell(row.name, strong=winner),
        *(row.axes.get(axis, "") for axis in axes),
        *(_quality(row.quality.get(name)) for name in measures),
        *("" if row.latency_ms.get(p) is None else f"{row.latency_ms[p]:,.1f}" for p in LATENCY),
        "" if cost is None else about(f"{cost:,.6f}", row.cost_estimated),
        Cell(say("experiment.on_front"), tone="good") if row.pareto else "",
        say("experiment.done") if row.done else Cell(say("experiment.not_done"), tone="bad"),
    )


def _quality(found: Quality | None) -> Cell:
    if found is None or found.mean.estimate is None:
        return Cell("")
    mean = found.mean
    interval = behind(mean.low, mean.high, ".4f", reason=mean.reason)
    text = (
        say("interval.behind", value=f"{mean.estimate:.4f}", interval=interval) if interval else f"{mean.estimate:.4f}"
    )
    return Cell(text, "*" if found.verdict in {"better", "worse"} else "")


def _front(done: Sequence[Row], measure: str, cost: str, place: int) -> Chart | None:
    """Quality against what it costs; those that nothing beats in both are joined."""
    found = []
    for row in done:
        price = row.latency_ms.get("p95") if cost == "latency" else row.cost_per_query
        mean = row.quality[measure].mean.estimate if measure in row.quality else None
        if price is not None and mean is not None:
            series = say("experiment.on_front") if row.pareto else say("experiment.beaten")
            found.append(Point(price, mean, series=series, label=row.name))
    if len(found) < 2:  # noqa: PLR2004
        return None
    axis = say("axis.p95") if cost == "latency" else say("column.per_query_cost")
    rows = tuple((p.label, f"{p.x:,.6g}", f"{p.y:.4f}", p.series) for p in found)
    table = Table((say("column.combination"), axis, measure, say("column.pareto")), rows, texts=(3,))
    title = say("chart.front", measure=measure, cost=axis)
    name = f"front-{cost}-{place}"
    return Chart(name, "frontier", title, axis, measure, tuple(found), table, line=_line(found))


def _line(points: Sequence[Point]) -> tuple[tuple[float, float], ...]:
    """The line along the front in this plane: each of its points costs more and is better than the one before."""
    best, line = float("-inf"), []
    for point in sorted(points, key=lambda p: (float(p.x), -p.y)):
        if point.y > best:
            best = point.y
            line.append((float(point.x), point.y))
    return tuple(line)


def _stages(done: Sequence[Row]) -> Table:
    rows = tuple(
        (
            row.name, stage.stage, f"{stage.ms_p50:,.1f}", f"{stage.ms_p95:,.1f}",
            about(f"{stage.tokens:,}", stage.estimated),
            "" if stage.money is None else about(f"{stage.money:,.6f}", stage.money_estimated),
        )
        for row in done
        for stage in row.stages
    )  # fmt: skip
    headers = (
        say("column.combination"), say("column.stage"), "P50 ms", "P95 ms", say("column.tokens"), say("column.spent"),
    )  # fmt: skip
    return Table(headers, rows, names=2)


def _index(done: Sequence[Row]) -> list[Block]:
    rows = tuple(
        (
            row.name, three_digits(row.index.build_seconds), f"{row.index.chunks:,}", f"{row.index.bytes:,}",
            f"{row.index.peak_memory_bytes:,}",
        )
        for row in done
        if row.index is not None
    )  # fmt: skip
    headers = (
        say("column.combination"), say("column.build"), say("column.chunks"), say("column.bytes"),
        say("column.memory"),
    )  # fmt: skip
    return [Fold(say("experiment.index"), (Table(headers, rows),))] if rows else []
