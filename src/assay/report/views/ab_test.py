"""What an A/B test looks like: the decision with its reasons, every measure with its lift, users, and days."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.messages import Said, say
from assay.report.blocks import Block, Chart, Figure, Heading, Lines, Point, Verdict
from assay.report.intervals import between
from assay.report.marks import tone
from assay.report.numbers import number, percent, pvalue, signed
from assay.report.tables import Cell, Table
from assay.report.views.trials import trial_decisions, trial_line

if TYPE_CHECKING:
    from assay.results.ab_test import ABTest, MeasureTest


def line(found: ABTest) -> Verdict:
    """The decision on every treatment."""
    return trial_line(found)


def figure(found: ABTest) -> Figure | None:
    """The lift of the first treatment on the primary measure."""
    test = next((one for one in found.tests if one.role == "primary"), None)
    if test is None:
        return None
    name = say("ab.figure", measure=test.measure, treatment=test.treatment, control=found.control)
    shown = test.always or test.lift.absolute
    return Figure(name, number(test.lift.absolute.estimate, signed=True), between(shown, signed=True))


def table(found: ABTest) -> list[Block]:
    """Decisions with their reasons, then lifts, users and notes."""
    return [
        *trial_decisions(found),
        lifts(found),
        _users(found),
        *_responses(found),
        Lines((*_roles(found), _level(found), *found.warnings), listed=True),
    ]


def page(found: ABTest, place: int = 0) -> list[Block]:
    """The same with a picture of the lift by day."""
    return [*table(found), *([_by_day(found, place)] if len(found.days) > 1 else []), *_day_table(found)]


def _level(found: ABTest) -> Said:
    key = "ab.level_sequential" if found.rules.sequential else "ab.level"
    correction = say(f"correction.{found.rules.correction}")
    return say(key, level=1 - found.rules.alpha, correction=correction)


def _roles(found: ABTest) -> list[Said]:
    """Say which measures are guardrails or secondary, and of which a lower value is better."""
    said = []
    for role in ("secondary", "guardrail"):
        names = list(dict.fromkeys(test.measure for test in found.tests if test.role == role))
        said += [say(f"ab.role_{role}", measures=names)] if names else []
    lower = list(dict.fromkeys(test.measure for test in found.tests if test.lower_is_better))
    return [*said, *([say("ab.lower", measures=lower)] if lower else [])]


def lifts(found: ABTest) -> Table:
    """One row per treatment and measure."""
    interval = say("column.interval", level=1 - found.rules.alpha)
    many = len(found.treatments) > 1
    names = (*(("treatment",) if many else ()), "measure", "outcome", "control", "treated", "lift")
    headers = (
        *(say(f"column.{name}") for name in names),
        interval,
        say("column.relative"),
        interval,
        say("column.p"),
        say("column.p_corrected", name=say(f"correction.{found.rules.correction}")),
    )
    return Table(
        headers, tuple(((test.treatment,) if many else ()) + _row(test) for test in found.tests), names=2 + many
    )


def _row(test: MeasureTest) -> tuple[str | Cell, ...]:
    one = test.lift
    shown = test.always or one.absolute
    return (
        test.measure,
        Cell(say(f"ab.outcome_{test.outcome}"), tone=tone(test.outcome)),
        number(one.control),
        number(one.treatment),
        number(one.absolute.estimate, signed=True),
        between(shown, signed=True),
        percent(one.relative.estimate, signed=True),
        "" if test.always else between(one.relative, signed=True, percent=True),
        "" if test.always or test.role == "guardrail" else pvalue(one.pvalue),
        "" if test.always else pvalue(test.adjusted),
    )


def _users(found: ABTest) -> Table:
    total = sum(found.users.values()) or 1
    rows = tuple(
        (name, f"{n:,}", percent(n / total), percent(expected / total))
        for (name, n), expected in zip(found.users.items(), found.ratio.expected, strict=True)
    )
    headers = (say("column.variant"), say("column.users"), say("column.share"), say("column.planned"))
    return Table(headers, rows, caption=say("ab.ratio", p=pvalue(found.ratio.pvalue)))


def _responses(found: ABTest) -> list[Block]:
    rows = tuple(
        (
            one.treatment,
            one.measure,
            percent(one.control_share),
            percent(one.treatment_share),
            pvalue(one.pvalue),
            Cell(
                say("ab.responses_other" if one.differs else "ab.responses_alike"), tone="warn" if one.differs else ""
            ),
        )
        for one in found.responses
    )
    names = ("treatment", "measure", "control", "treated", "p", "outcome")
    headers = tuple(say(f"column.{name}") for name in names)
    return [Table(headers, rows, names=2, caption=say("ab.responses"))] if rows else []


def _by_day(found: ABTest, place: int) -> Chart:
    points = tuple(
        Point(float(i), one.estimate, one.low, one.high, series=treatment)
        for i, day in enumerate(found.days, 1)
        for treatment, one in day.lifts.items()
        if one.estimate is not None
    )
    title = say("ab.by_day", measure=found.primary)
    axis = say("axis.days", first=found.days[0].day)
    return Chart(f"ab-days-{place}", "curves", title, axis, say("column.lift"), points, _days(found), write=signed)


def _day_table(found: ABTest) -> list[Block]:
    return [Heading(say("ab.days")), _days(found)] if found.days else []


def _days(found: ABTest) -> Table:
    headers = (say("column.day"), *found.users, say("column.p_ratio"), *found.treatments)
    rows = tuple(
        (
            day.day,
            *(f"{day.users.get(name, 0):,}" for name in found.users),
            pvalue(day.ratio_pvalue),
            *(between(day.lifts[name], signed=True) if name in day.lifts else "" for name in found.treatments),
        )
        for day in found.days
    )
    return Table(headers, rows)
