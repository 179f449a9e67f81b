"""What preferences look like: a row for every two systems, the part of the place, and strengths of several."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.messages import Said, ends, say, word
from assay.report.blocks import Block, Chart, Lines, Point, Verdict
from assay.report.intervals import between, interval_column, why
from assay.report.numbers import number, percent, pvalue
from assay.report.tables import Table

if TYPE_CHECKING:
    from assay.results.preferences import Preferences
    from assay.stats.intervals import Interval


def line(found: Preferences) -> Verdict:
    """Whether the first of two systems is shown to be preferred; of several, how many differences are shown."""
    if len(found.pairs) > 1:
        shown = sum(one.decision in {"better", "worse"} for one in found.pairs)
        return Verdict(say("preferences.several", shown=shown, n=len(found.pairs), systems=len(found.systems)))
    one = found.pairs[0]
    rate = say("preferences.rate", rate=one.rate.estimate or 0.0, interval=_ends(one.rate), questions=one.questions)
    if one.decision in {"better", "worse"}:
        better, other = (one.first, one.second) if one.decision == "better" else (one.second, one.first)
        return Verdict(say("preferences.better", better=better, other=other, rate=rate, first=one.first))
    key = "preferences.same" if one.decision == "equivalent" else "preferences.open"
    return Verdict(say(key, first=one.first, second=one.second, rate=rate), "warn" if key.endswith("open") else "")


def table(found: Preferences) -> list[Block]:
    """Every two systems, strengths where there are several, and what to know about them."""
    blocks: list[Block] = [line(found), _pairs(found)]
    if len(found.systems) > 2 and found.fitting != "apart":  # noqa: PLR2004 - two systems have a win rate
        blocks.append(_strengths(found))
    return [*blocks, Lines(tuple(_notes(found)), listed=True)]


def page(found: Preferences, place: int = 0) -> list[Block]:
    """The same with a picture of the win rates."""
    return [*table(found), _picture(found, f"preferences-{place}")]


def _ends(of: Interval) -> str:
    return ends(of.low, of.high, ".1%") or why(of.reason)


def _pairs(found: Preferences) -> Table:
    names = ("preferred_first", "preferred_second", "questions", "outcome_counts", "inconsistent", "win_rate")
    headers = (
        *(say(f"column.{name}") for name in names), interval_column(one.rate for one in found.pairs),
        say("column.p_corrected", name="holm"), say("column.verdict"),
    )  # fmt: skip
    rows = tuple(
        (
            one.first, one.second, f"{one.questions:,}", f"{one.wins}/{one.ties}/{one.losses}", str(one.inconsistent),
            percent(one.rate.estimate), _ends(one.rate), pvalue(one.adjusted), word("verdict", one.decision),
        )
        for one in found.pairs
    )  # fmt: skip
    return Table(headers, rows, names=2, texts=(8,))


def _strengths(found: Preferences) -> Table:
    listed = sorted(found.strengths, key=lambda one: -(one.strength.estimate or 0.0))
    rows = tuple((one.system, number(one.strength.estimate, signed=True), between(one.strength)) for one in listed)
    headers = (say("column.system"), say("column.strength"), interval_column(one.strength for one in listed))
    return Table(headers, rows, caption=say("preferences.strengths"))


def _notes(found: Preferences) -> list[Said]:
    notes = [say("preferences.counts", answers=found.answers, questions=found.questions, raters=found.raters)]
    if found.replaced:
        notes.append(say("preferences.replaced", n=found.replaced))
    if found.both_orders:
        notes.append(say("preferences.both_orders", n=found.both_orders, by_place=found.by_place))
    if found.left.estimate is not None:
        key = "preferences.place_matters" if found.place_matters else "preferences.place"
        notes.append(say(key, share=found.left.estimate, interval=_ends(found.left)))
    if len(found.systems) > 2:  # noqa: PLR2004
        notes.append(say(f"preferences.fit_{found.fitting or 'whole'}"))
    return notes


def _picture(found: Preferences, name: str) -> Chart:
    points = tuple(
        Point(
            say("preferences.against", first=one.first, second=one.second),
            one.rate.estimate,
            one.rate.low,
            one.rate.high,
        )
        for one in found.pairs
        if one.rate.estimate is not None
    )
    title = say("preferences.picture")
    axis, half = say("column.win_rate"), ((0.5, ""),)
    return Chart(name, "intervals", title, axis, "", points, _pairs(found), rules=half, write=percent)
