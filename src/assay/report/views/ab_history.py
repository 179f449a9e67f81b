"""What a history of releases looks like: what comparisons predicted, and what A/B tests found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.messages import Said, say
from assay.report.blocks import Block, Chart, Lines, Point, Verdict
from assay.report.intervals import between
from assay.report.marks import tone
from assay.report.numbers import number, percent, signed
from assay.report.tables import Cell, Table

if TYPE_CHECKING:
    from assay.results.ab_history import ABHistory, Release


def line(found: ABHistory) -> Verdict:
    """How many predictions came true."""
    right, wrong = found.count("right"), found.count("wrong")
    key = "ab.history" if right + wrong else "ab.history_open"
    return Verdict(say(key, right=right, decided=right + wrong, n=len(found.releases)))


def table(found: ABHistory) -> list[Block]:
    """The sentence, the releases, and what all of them together say."""
    return [line(found), releases(found), Lines(tuple(_notes(found)), listed=True)]


def page(found: ABHistory, place: int = 0) -> list[Block]:
    """The same with a picture."""
    points = tuple(
        Point(one.offline.estimate, 100 * one.online.estimate, label=one.name)
        for one in found.releases
        if one.offline.estimate is not None and one.online.estimate is not None
    )
    axes = (say("ab.history_offline_axis"), say("ab.history_online_axis"))
    title = say("ab.history_title")
    drawn = Chart(
        f"ab-history-{place}", "frontier", title, *axes, points, releases(found), write="{:+.1f}".format, write_x=signed
    )
    return [*table(found), drawn]


def releases(found: ABHistory) -> Table:
    """One row per release."""
    level = found.releases[0].offline.confidence_level
    interval = say("column.interval", level=level)
    headers = (
        say("column.release"), say("ab.history_offline"), say("column.difference"), interval, say("column.verdict"),
        say("ab.history_online"), say("column.relative"), interval, say("column.outcome"), say("column.prediction"),
    )  # fmt: skip
    return Table(headers, tuple(map(_row, found.releases)), texts=(1, 4, 5, 8, 9))


def _row(one: Release) -> tuple[str | Cell, ...]:
    return (
        one.name,
        one.offline_measure,
        number(one.offline.estimate, signed=True),
        between(one.offline, signed=True),
        say(f"verdict.{one.offline_verdict}"),
        one.online_measure,
        percent(one.online.estimate, signed=True),
        between(one.online, signed=True, percent=True),
        say(f"ab.outcome_{one.online_outcome}"),
        Cell(say(f"ab.prediction_{one.prediction}"), tone=tone(one.prediction)),
    )


def _notes(found: ABHistory) -> list[Said]:
    same = found.same_way
    notes = [say("ab.history_same", n=len(found.releases), share=percent(same.estimate),
                 interval=between(same, percent=True))]  # fmt: skip
    if found.order.value is not None:
        notes.append(say("ab.history_order", tau=number(found.order.value)))
    if found.too_few:
        notes.append(say("ab.history_few", n=len(found.releases), enough=found.enough))
    return notes
