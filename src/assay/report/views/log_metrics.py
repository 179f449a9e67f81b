"""What the measures of an event log look like: one row per group and measure, and a chart by day."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.messages import Said, say
from assay.report.blocks import Block, Chart, Lines, Point, Verdict
from assay.report.intervals import between
from assay.report.numbers import number
from assay.report.tables import Table

if TYPE_CHECKING:
    from assay.results.log_metrics import LogMetrics, LogValue

_DAY = "day"


def line(found: LogMetrics) -> Verdict:
    """How much was measured."""
    return Verdict(say("log.line", queries=found.queries, users=found.users, events=found.events), "")


def table(found: LogMetrics) -> list[Block]:
    """One row per group and measure, then notes."""
    return [line(found), values(found), Lines(_notes(found), listed=True)]


def page(found: LogMetrics, place: int = 0) -> list[Block]:
    """The same with a picture of every measure by day."""
    days = _days(found)
    charts = [
        _by_day(found, days, label.label, f"{place}-{i}")
        for i, label in enumerate(found.measures)
        if days and not label.lacking
    ]
    return [*table(found), *(charts if len(found.groups) > 1 else [])]


def _days(found: LogMetrics) -> list[str]:
    at = found.by.index(_DAY) if _DAY in found.by else None
    return [] if at is None else sorted({day for group in found.groups if (day := group[at]) is not None})


def values(found: LogMetrics) -> Table:
    """One row per group and measure."""
    heads = (
        *_group_heads(found),
        say("column.measure"),
        say("column.value"),
        say("column.interval", level=found.confidence_level),
        *(say(f"log.{name}") for name in ("fraction", "unit", "users", "queries", "left_out")),
    )
    units = {one.label: one.unit for one in found.measures}
    rows = tuple((*_group(one), *_row(one, units[one.measure])) for one in found.values)
    return Table(heads, rows, names=len(found.by) + 1, texts=(len(found.by) + 4,))


def _group_heads(found: LogMetrics) -> tuple[str, ...]:
    return tuple(say(f"column.{name}") if name in {_DAY, "variant"} else name for name in found.by)


def _group(one: LogValue) -> tuple[str, ...]:
    return tuple(say("log.none") if part is None else part for part in one.group)


def _row(one: LogValue, unit: str) -> tuple[str, ...]:
    return (
        one.measure,
        number(one.interval.estimate),
        between(one.interval),
        "/".join(filter(None, (number(part, whole=True) for part in (one.numerator, one.denominator)))),
        say(f"unit.{unit}"),
        f"{one.interval.n:,}",
        f"{one.queries:,}",
        f"{one.left_out:,}",
    )


def _notes(found: LogMetrics) -> tuple[str, ...]:
    lower = [one.label for one in found.measures if one.lower_is_better and not one.lacking]
    said: list[Said | str] = [say("log.lower", measures=lower)] if lower else []
    if found.cluster == "user":
        said.append(say("log.intervals", level=found.confidence_level))
    if found.without_cluster:
        said.append(say("log.without_user", n=found.without_cluster))
    if found.unknown_requests:
        said.append(say("log.unknown_requests", n=found.unknown_requests))
    if _DAY in found.by:
        said.append(say("log.timezone", name=found.timezone))
    return (*said, *found.warnings)


def _by_day(found: LogMetrics, days: list[str], measure: str, place: str) -> Chart:
    at = found.by.index(_DAY)
    shown = [one for one in found.values if one.measure == measure and one.group[at] is not None]
    points = tuple(
        Point(
            float(days.index(one.group[at] or "") + 1), one.interval.estimate, one.interval.low, one.interval.high,
            series=" ".join(part for i, part in enumerate(_group(one)) if i != at) or measure,
        )
        for one in shown
        if one.interval.estimate is not None
    )  # fmt: skip
    heads = (*_group_heads(found), say("column.value"), say("column.interval", level=found.confidence_level))
    rows = tuple((*_group(one), number(one.interval.estimate), between(one.interval)) for one in shown)
    title = say("log.by_day", measure=measure)
    return Chart(
        f"log-days-{place}",
        "curves",
        title,
        say("axis.days", first=days[0]),
        measure,
        points,
        Table(heads, rows, names=len(found.by)),
    )
