"""What a test by interleaving looks like: the decision with its reasons, every system's preference, and the lists."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.messages import Said, ends, say
from assay.report.blocks import Block, Chart, Facts, Lines, Point, Verdict
from assay.report.intervals import between
from assay.report.marks import tone
from assay.report.numbers import percent, pvalue
from assay.report.tables import Cell, Table
from assay.report.views.trials import trial_decisions, trial_line

if TYPE_CHECKING:
    from assay.results.interleaving import InterleavingTest, Preference
    from assay.stats.intervals import Interval


def line(found: InterleavingTest) -> Verdict:
    """The decision on every system."""
    return trial_line(found)


def table(found: InterleavingTest) -> list[Block]:
    """Decisions with their reasons, then preferences, what they rest on, and notes."""
    notes = (_level(found), say("interleaving.meaning"), *found.warnings)
    return [*trial_decisions(found), preferences(found), _facts(found), Lines(notes, listed=True)]


def page(found: InterleavingTest, place: int = 0) -> list[Block]:
    """The same with a picture."""
    points = tuple(
        Point(one.treatment, shown.estimate, shown.low, shown.high)
        for one in found.tests
        for shown in (_interval(one),)
        if shown.estimate is not None
    )
    title = say("interleaving.title", control=found.control)
    half = ((0.5, say("interleaving.half")),)
    chart = Chart(
        f"preferences-{place}", "intervals", title, say("column.preference"), "", points, preferences(found), half,
        write=percent,
    )  # fmt: skip
    return [*table(found), chart]


def _interval(one: Preference) -> Interval:
    return one.always or one.preference


def _level(found: InterleavingTest) -> Said:
    level, unit = 1 - found.rules.alpha, say(f"interleaving.unit_{found.unit}")
    if found.rules.sequential:
        return say("interleaving.level_sequential", level=level, unit=unit)
    return say("interleaving.level", level=level, unit=unit, correction=say(f"correction.{found.rules.correction}"))


def preferences(found: InterleavingTest) -> Table:
    """One row per system."""
    interval = say("column.interval", level=1 - found.rules.alpha)
    corrected = say("column.p_corrected", name=say(f"correction.{found.rules.correction}"))
    headers = (
        say("column.treatment"), say("column.outcome"), say("column.preference"), interval, say("column.p"), corrected,
        *(say(f"column.{name}") for name in ("wins", "ties", "losses", "users")),
    )  # fmt: skip
    caption = say("interleaving.title", control=found.control)
    return Table(headers, tuple(_row(one) for one in found.tests), caption=caption, names=2)


def _row(one: Preference) -> tuple[str | Cell, ...]:
    return (
        one.treatment,
        Cell(say(f"ab.outcome_{one.outcome}"), tone=tone(one.outcome)),
        percent(one.preference.estimate),
        ends(_interval(one).low, _interval(one).high, ".1%") or between(_interval(one)),
        "" if one.always else pvalue(one.pvalue),
        "" if one.always else pvalue(one.adjusted),
        f"{one.wins:,}",
        f"{one.ties:,}",
        f"{one.losses:,}",
        f"{one.users:,}",
    )


def _facts(found: InterleavingTest) -> Facts:
    methods = [f"{name or '?'} {n:,}" for name, n in found.methods.items()]
    return Facts(
        (
            (say("interleaving.requests"), f"{found.requests:,}", say("interleaving.by_method", methods=methods)),
            (say(f"interleaving.unit_{found.unit}"), f"{found.users:,}", ""),
            (say("interleaving.contested"), percent(found.contested), ""),
            (say("interleaving.ratio"), pvalue(found.ratio.pvalue), ""),
        )
    )
