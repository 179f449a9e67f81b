"""An experiment: all combinations, the Pareto front of quality against latency and cost, where time and money went."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from assay.messages import say
from assay.report.blocks import Block, Chart, Fold, Lines, Point, Section, Verdict
from assay.report.intervals import behind
from assay.report.tables import Cell, Table
from assay.report.views.experiment import (
    LATENCY,
    about,
    deciding,
    figures,
    methods_of,
    outcome,
    published,
    three_digits,
    titled,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from assay.analysis.report_data import ReportData

Combination = dict[str, Any]


def section(found: ReportData) -> Section | None:
    """The table, the fronts, the stages."""
    blocks = [block for place, part in enumerate(found.extras["experiment"]) for block in _part(part, place)]
    return Section("experiment", say("page.experiment"), tuple(blocks)) if blocks else None


def verdict(found: ReportData) -> Verdict | None:
    """Name the winner."""
    part = next((part for part in found.extras["experiment"] if part.get("winner")), None)
    if part is None:
        return None
    done = [one for one in part["combinations"] if one.get("status") == "done"]
    failed = len(part["combinations"]) - len(done)
    text = say("experiment.verdict", winner=str(part["winner"]["name"]), n=len(done), baseline=str(part["baseline"]),
               failed=say("experiment.how_many_failed", n=failed) if failed else "")  # fmt: skip
    return Verdict(text, "good")


def _part(part: Mapping[str, Any], place: int) -> list[Block]:
    combinations: list[Combination] = list(part.get("combinations") or ())
    done = [one for one in combinations if one.get("status") == "done"]
    first = deciding(part)
    named = dict.fromkeys(name for one in done for name in one.get("quality") or {})
    measures = sorted(named, key=lambda name: name != first)
    star = Lines((say("experiment.star", baseline=str(part.get("baseline") or "")),))
    every = figures(part)
    shown = measures if every is None else measures[:1]
    blocks: list[Block] = [_table(part, combinations, shown), star, *([] if every is None else [every])]
    blocks.append(Lines(tuple(outcome(part))))
    blocks += [] if (table := published(part)) is None else [table]
    for cost in ("latency", "cost"):
        chart = _front(done, first, cost, place)
        blocks += [chart] if chart is not None else []
    failed = tuple(
        say("doubt.of_one", system=str(one["name"]), text=str(one.get("reason") or ""))
        for one in combinations
        if one.get("status") != "done"
    )
    blocks += [Lines(failed, listed=True)] if failed else []
    stages = _stages(done)
    return [*blocks, *([Fold(say("experiment.stages"), (stages,))] if stages.rows else []), *_index(done)]


def _table(part: Mapping[str, Any], combinations: Sequence[Combination], measures: Sequence[str]) -> Table:
    axes = list(part.get("axes") or {})
    winner = (part.get("winner") or {}).get("name")
    labelled = any(one.get("description") for one in combinations)
    headers = (
        say("column.combination"), *([say("column.description")] if labelled else []), *axes,
        *(titled(name, methods_of(part, name)) for name in measures),
        *map(say, LATENCY.values()), say("column.per_query_cost"), say("column.pareto"),
        say("column.status"),
    )  # fmt: skip
    rows = tuple(
        (row[0], *([str(one.get("description") or "")] if labelled else []), *row[1:])
        for one in combinations
        for row in (_row(one, axes, measures, winner=one.get("name") == winner),)
    )
    last = len(headers) - 1
    return Table(headers, rows, say("experiment.table"), names=1 + labelled + len(axes), texts=(last - 1, last))


def _row(one: Combination, axes: Sequence[str], measures: Sequence[str], *, winner: bool) -> tuple[str | Cell, ...]:
    latency = one.get("latency_ms") or {}
    cost = one.get("cost_per_query")
    return (
        Cell(str(one["name"]), strong=winner),
        *(str((one.get("axes") or {}).get(axis, "")) for axis in axes),
        *(_quality((one.get("quality") or {}).get(name) or {}) for name in measures),
        *("" if latency.get(p) is None else f"{float(latency[p]):,.1f}" for p in LATENCY),
        "" if cost is None else about(f"{float(cost):,.6f}", one.get("cost_estimated")),
        Cell(say("experiment.on_front"), tone="good") if one.get("pareto") else "",
        say("experiment.done") if one.get("status") == "done" else Cell(say("experiment.not_done"), tone="bad"),
    )


def _quality(value: Mapping[str, Any]) -> Cell:
    mean, low, high = value.get("mean"), value.get("low"), value.get("high")
    if mean is None:
        return Cell("")
    interval = behind(low, high, ".4f", reason=str(value.get("reason") or ""))
    text = say("interval.behind", value=f"{float(mean):.4f}", interval=interval) if interval else f"{float(mean):.4f}"
    return Cell(text, "*" if _differs(value) else "")


def _differs(value: Mapping[str, Any]) -> bool:
    """Say whether the mean is better or worse than the baseline's; files of earlier versions have only its p."""
    if "verdict" in value:
        return value["verdict"] in {"better", "worse"}
    p = value.get("pvalue")
    return p is not None and p <= 0.05  # noqa: PLR2004


def _front(done: Sequence[Combination], measure: str, cost: str, place: int) -> Chart | None:
    """Quality against what it costs; those that nothing beats in both are joined."""
    found = []
    for one in done:
        price = (one.get("latency_ms") or {}).get("p95") if cost == "latency" else one.get("cost_per_query")
        mean = ((one.get("quality") or {}).get(measure) or {}).get("mean")
        if price is not None and mean is not None:
            series = say("experiment.on_front") if one.get("pareto") else say("experiment.beaten")
            found.append(Point(float(price), float(mean), series=series, label=str(one["name"])))
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


def _stages(done: Sequence[Combination]) -> Table:
    rows = tuple(
        (
            str(one["name"]), str(stage.get("stage")), _plain(stage.get("ms_p50")), _plain(stage.get("ms_p95")),
            about(_plain(stage.get("tokens"), 0), stage.get("estimated")),
            about(_plain(stage.get("money"), 6), stage.get("money_estimated")),
        )
        for one in done
        for stage in one.get("stages") or ()
    )  # fmt: skip
    headers = (
        say("column.combination"), say("column.stage"), "P50 ms", "P95 ms", say("column.tokens"), say("column.spent"),
    )  # fmt: skip
    return Table(headers, rows, names=2)


def _plain(value: object, digits: int = 1) -> str:
    return f"{value:,.{digits}f}" if isinstance(value, (int, float)) else ""


def _seconds(value: object) -> str:
    return three_digits(value) if isinstance(value, (int, float)) else ""


def _index(done: Sequence[Combination]) -> list[Block]:
    rows = tuple(
        (
            str(one["name"]), _seconds(index.get("build_seconds")), _plain(index.get("chunks"), 0),
            _plain(index.get("bytes"), 0), _plain(index.get("peak_memory_bytes"), 0),
        )
        for one in done
        if (index := one.get("index"))
    )  # fmt: skip
    headers = (
        say("column.combination"), say("column.build"), say("column.chunks"), say("column.bytes"),
        say("column.memory"),
    )  # fmt: skip
    return [Fold(say("experiment.index"), (Table(headers, rows),))] if rows else []
