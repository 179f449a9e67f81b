"""What a replay looks like: what the policy would have earned, by every estimator, and whether the log can tell."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.messages import Said, ends, say
from assay.report.blocks import Block, Chart, Facts, Lines, Point, Verdict
from assay.report.intervals import between
from assay.report.numbers import number, percent
from assay.report.tables import Table

if TYPE_CHECKING:
    from assay.results.replay import PolicyEstimate, Replay
    from assay.stats.intervals import Interval


def line(found: Replay) -> Verdict:
    """What the policy would have earned, or that the log cannot tell."""
    if not found.overlap:
        return Verdict(
            say("replay.undefined", policy=found.policy, ess=found.best.ess, largest=found.best.largest_weight), "bad"
        )
    shown = found.best.interval
    text = say(
        "replay.line", policy=found.policy, value=_value(shown.estimate), interval=_ends(shown),
        logged=_value(found.logged.estimate), n=found.rows,
    )  # fmt: skip
    return Verdict(text)


def table(found: Replay) -> list[Block]:
    """The sentence, every estimator, what the log shows, and notes."""
    notes: list[Said | str] = []
    if found.overlap:
        shown = _ends(found.difference, "+.5f")
        notes.append(say("replay.difference", difference=_value(found.difference.estimate, "+.5f"), interval=shown))
    else:
        notes.append(say("replay.why", least=found.rules.least_ess, largest=found.rules.largest,
                         mean=found.rules.least_weight))  # fmt: skip
    return [line(found), estimates(found), _facts(found), Lines((*notes, *found.warnings), listed=True)]


def page(found: Replay, place: int = 0) -> list[Block]:
    """The same with a picture."""
    points = tuple(
        Point(say(f"replay.{one.estimator}"), one.estimate, one.interval.low, one.interval.high)
        for one in found.estimates
        if one.estimate is not None and one.estimator != "item_position"  # by list, not by row
    )
    if not points:
        return table(found)
    logged = ((found.logged.estimate or 0.0, say("replay.logged")),)
    title = say("replay.title", policy=found.policy)
    of = estimates(found)
    axis = say("column.estimate")
    chart = Chart(f"replay-{place}", "intervals", title, axis, "", points, of, logged, write=_value)
    return [*table(found), chart]


def estimates(found: Replay) -> Table:
    """One row per estimator."""
    headers = (
        say("column.estimator"), say("column.estimate"),
        say("column.interval", level=found.rules.confidence_level), say("column.ess"), say("column.largest_weight"),
    )  # fmt: skip
    return Table(headers, tuple(map(_row, found.estimates)), names=1)


def _row(one: PolicyEstimate) -> tuple[str, ...]:
    return (
        say(f"replay.{one.estimator}"),
        _value(one.estimate),
        _ends(one.interval),
        f"{one.ess:,.1f}",
        percent(one.largest_weight),
    )


def _facts(found: Replay) -> Facts:
    items = [
        (say("replay.logged"), _value(found.logged.estimate), _ends(found.logged)),
        (say("replay.rows"), f"{found.rows:,}", ""),
        (say("replay.items"), f"{found.items:,}", ""),
        (say("replay.mean_weight"), number(found.mean_weight.estimate), ""),
    ]
    if found.lists is not None:
        items.insert(2, (say("replay.lists"), f"{found.lists:,}", ""))
    return Facts(tuple(items))


def _value(value: float | None, form: str = ".5f") -> str:
    """Rates of clicks are small: five decimals."""
    return "" if value is None else format(value, form)


def _ends(one: Interval, form: str = ".5f") -> str:
    return ends(one.low, one.high, form) or between(one)
