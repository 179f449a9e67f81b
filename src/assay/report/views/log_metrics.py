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
    shown = (
        [one.label for one in found.measures if not one.lacking] if _DAY in found.by and len(found.groups) > 1 else []
    )
    return [*table(found), *(_by_day(found, label, f"{place}-{i}") for i, label in enumerate(shown))]


def values(found: LogMetrics) -> Table:
    """One row per group and measure."""
    heads = (
        *(say(f"column.{name}") if name in {_DAY, "variant"} else name for name in found.by),
        say("column.measure"),
        say("column.value"),
        say("column.interval", level=found.confidence_level),
        *(say(f"log.{name}") for name in ("numerator", "denominator", "unit", "users", "queries", "left_out")),
    )
    units = {one.label: one.unit for one in found.measures}
    lower = {one.label for one in found.measures if one.lower_is_better}
    rows = tuple((*_group(one), *_row(one, units[one.measure], low=one.measure in lower)) for one in found.values)
    return Table(heads, rows, names=len(found.by) + 1)


def _group(one: LogValue) -> tuple[str, ...]:
    return tuple(say("log.none") if part is None else part for part in one.group)


def _row(one: LogValue, unit: str, *, low: bool) -> tuple[str, ...]:
    return (
        say("ab.lower", measure=one.measure) if low else one.measure,
        number(one.interval.estimate),
        between(one.interval),
        number(one.numerator, whole=True),
        number(one.denominator, whole=True),
        say(f"unit.{unit}"),
        f"{one.interval.n:,}",
        f"{one.queries:,}",
        f"{one.left_out:,}",
    )


def _notes(found: LogMetrics) -> tuple[str, ...]:
    said: list[Said | str] = [say("log.intervals", level=found.confidence_level)] if found.cluster == "user" else []
    if found.without_cluster:
        said.append(say("log.without_user", n=found.without_cluster))
    if found.unknown_requests:
        said.append(say("log.unknown_requests", n=found.unknown_requests))
    if _DAY in found.by:
        said.append(say("log.timezone", name=found.timezone))
    return (*said, *found.warnings)


def _by_day(found: LogMetrics, measure: str, place: str) -> Chart:
    at = found.by.index(_DAY)
    days = sorted({day for group in found.groups if (day := group[at]) is not None})
    shown = [one for one in found.values if one.measure == measure and one.group[at] is not None]
    points = tuple(
        Point(
            float(days.index(one.group[at] or "") + 1), one.interval.estimate, one.interval.low, one.interval.high,
            series=" ".join(part for i, part in enumerate(_group(one)) if i != at) or measure,
        )
        for one in shown
        if one.interval.estimate is not None
    )  # fmt: skip
    heads = (*(name for name in found.by), say("column.value"), say("column.interval", level=found.confidence_level))
    rows = tuple((*_group(one), number(one.interval.estimate), between(one.interval)) for one in shown)
    title = say("log.by_day", measure=measure)
    return Chart(
        f"log-days-{place}",
        "curves",
        title,
        say("column.day"),
        measure,
        points,
        Table(heads, rows, names=len(found.by)),
    )
