"""What watching a log looks like: alerts, the last window against its targets, and the windows before it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from assay.messages import Said, ends, say
from assay.report.blocks import Block, Chart, Lines, Point, Verdict
from assay.report.intervals import between
from assay.report.marks import tone
from assay.report.tables import Cell, Table
from assay.report.views.diagnosis import goal

if TYPE_CHECKING:
    from assay.results.watch import Alert, SentEvaluations, Watch, WatchMeasure, WatchWindow
    from assay.stats.intervals import Interval

_RECENT = 12  # windows in the table of a terminal
_COLUMNS = 5  # measures beside each other there
_ALERTS = 8


def line(found: Watch) -> Verdict:
    """Whether an alert stands."""
    n = len(found.windows)
    if found.standing:
        names = list(dict.fromkeys(one.measure for one in found.standing))
        return Verdict(say("watch.standing", n=len(found.standing), names=names, windows=n), "bad")
    if not n:
        return Verdict(say("watch.no_windows", rows=found.rows))
    if not (checked := [one for one in found.watched if not one.lacking]):
        return Verdict(say("watch.no_targets", windows=n))
    return Verdict(say("watch.quiet", windows=n, measures=len(checked)), "good")


def table(found: Watch) -> list[Block]:
    """The verdict, alerts, the last window, the windows before it, and what the alerts are worth."""
    blocks: list[Block] = [line(found)]
    if found.alerts:
        blocks.append(alerts(found, _ALERTS))
    if found.windows:
        blocks.append(last_window(found))
    if len(found.windows) > 1 and found.watched:
        blocks.append(history(found, found.windows[-_RECENT:], found.watched[:_COLUMNS]))
    return [*blocks, Lines(tuple(notes(found)), listed=True)]


def page(found: Watch, place: int = 0) -> list[Block]:
    """The same with all windows, and a picture of every measure that has a target."""
    blocks: list[Block] = [line(found)]
    blocks += [alerts(found)] if found.alerts else []
    blocks += [last_window(found)] if found.windows else []
    blocks += charts(found, place)
    blocks += [history(found, found.windows, found.watched)] if len(found.windows) > 1 and found.watched else []
    return [*blocks, Lines(tuple(notes(found)), listed=True)]


def charts(found: Watch, place: int = 0) -> list[Block]:
    """A picture of every measure that has a target and more than one value."""
    return [
        _chart(found, one, f"{place}-{i}") for i, one in enumerate(found.watched) if len(found.history(one.label)) > 1
    ]


def goal_of(one: WatchMeasure) -> str:
    """The target of a measure in words; nothing where there is none."""
    return "" if one.target is None else goal(one.target, one.target.target)


def alerts(found: Watch, most: int | None = None) -> Table:
    """One row per alert, those that stand first."""
    headers = (
        say("column.measure"), say("column.target"), say("column.since"), say("column.until"), say("column.windows"),
        say("column.value"), interval_name(found),
    )  # fmt: skip
    return Table(headers, tuple(map(_alert, found.alerts[:most])), caption=say("watch.alerts"), texts=(1, 2, 3))


def _alert(one: Alert) -> tuple[str | Cell, ...]:
    until = say("watch.stands") if one.until is None else write_time(one.until)
    return (
        one.measure, goal(one.target, one.target.target), write_time(one.since),
        Cell(until, tone="bad" if one.stands else ""), str(one.windows), write_value(one.value.interval.estimate),
        _between(one.value.interval),
    )  # fmt: skip


def last_window(found: Watch) -> Table:
    """Every measure of the window that was closed last."""
    window = found.windows[-1]
    headers = (
        say("column.measure"), say("column.value"), interval_name(found), say("column.target"), say("column.standing"),
        say("column.shift"),
    )  # fmt: skip
    shown = [one for one in found.measures if window.value(one.label) is not None]
    rows = tuple(_measure(found, window, one) for one in sorted(shown, key=lambda one: one.target is None))
    caption = say("watch.last", window=_span(window), requests=window.requests, users=window.users)
    return Table(headers, rows, caption=caption, texts=(3, 4))


def _measure(found: Watch, window: WatchWindow, one: WatchMeasure) -> tuple[str | Cell, ...]:
    value = window.value(one.label)
    assert value is not None
    standing = found.standing_of(window, one)
    return (
        one.label,
        write_value(value.interval.estimate),
        _between(value.interval),
        goal_of(one),
        "" if standing == "none" else Cell(say(f"watch.is_{standing}"), tone=tone(f"watch_{standing}")),
        "" if one.shift is None else write_value(one.shift),
    )


def history(found: Watch, windows: tuple[WatchWindow, ...], measures: tuple[WatchMeasure, ...]) -> Table:
    """One row per window with the measures that have targets."""
    headers = (say("column.window"), say("column.requests"), *(one.label for one in measures))
    rows = [
        [Cell(write_time(window.start)), Cell(f"{window.requests:,}"), *(_cell(found, window, one) for one in measures)]
        for window in windows
    ]
    return Table(headers, tuple(map(tuple, rows)), caption=say("watch.windows", n=len(windows)))


def _cell(found: Watch, window: WatchWindow, one: WatchMeasure) -> Cell:
    value = window.value(one.label)
    standing = found.standing_of(window, one)
    mark = {"alert": "!", "past": "*"}.get(standing, "")
    return Cell("" if value is None else write_value(value.interval.estimate), mark, tone=tone(f"watch_{standing}"))


def notes(found: Watch) -> list[Said | str]:
    """What the alerts are worth, and what was not counted."""
    rule, level = found.rule, found.rule.confidence_level
    told: list[Said | str] = []
    if found.watched:
        told.append(say("watch.rule", run=rule.run, level=_percent(1 - rule.level, 1), interval=_percent(level)))
        n, most = len(found.watched), rule.false_alarms
        told.append(say("watch.budget", expected=most, days=found.period_days, measures=n, total=most * n))
        told += [say("watch.extreme", run=rule.run)] if rule.is_extreme else []
        told.append(say("watch.shift", delay=rule.delay))
        told.append(say("watch.marks"))
    told += _say_drift(found)
    told += [one.lacking for one in found.watched if one.lacking]
    told += [say(f"watch.left_{name}", n=n) for name, n in found.left_out.items() if n]
    aside = sum(one.set_aside for one in found.windows)
    told += [say("watch.set_aside", n=aside)] if aside else []
    unjudged = sum(one.unjudged for one in found.windows)
    told += [say("watch.unjudged", n=unjudged)] if unjudged else []
    failed = sum(one.judge_failed for one in found.windows)
    told += [say("watch.judge_failed", n=failed)] if failed else []
    told += _say_sent(found.evaluations)
    if found.open:
        told.append(say("watch.open", n=len(found.open), rows=sum(one.rows for one in found.open),
                         start=write_time(found.open[0].start)))  # fmt: skip
    return [*told, *found.warnings]


def _say_drift(found: Watch) -> list[Said | str]:
    """What drift is measured against, once it is."""
    if not found.baseline:
        return []
    compared = any(one.measure.startswith(("psi(", "canary_")) for window in found.windows for one in window.values)
    return [say("watch.drift" if compared else "watch.drift_later", n=found.baseline)]


def _say_sent(found: SentEvaluations | None) -> list[Said | str]:
    """What became of the values of single answers."""
    if found is None:
        return []
    notes: list[Said | str] = [say("watch.sent", n=found.sent, place=found.place)]
    notes += [say("watch.refused", n=found.refused, place=found.place)] if found.refused else []
    return notes + ([say("watch.waiting", n=found.waiting, why=found.problem)] if found.problem else [])


def _chart(found: Watch, one: WatchMeasure, place: str) -> Chart:
    """A measure by window, with its target as a second curve."""
    assert one.target is not None
    numbers = {window.start: float(i + 1) for i, window in enumerate(found.windows)}
    seen = found.history(one.label)
    points = [
        Point(numbers[window.start], of.estimate, of.low, of.high, series=one.label)
        for window, value in seen
        if (of := value.interval).estimate is not None
    ]
    limit = [
        Point(numbers[window.start], one.target.target, series=say("column.target"))
        for window, _ in (seen[0], seen[-1])
    ]
    table = replace(history(found, found.windows, (one,)), caption="")
    title = say("watch.by_window", measure=one.label)
    axis = say("axis.windows", first=write_time(found.windows[0].start))
    return Chart(f"watch-{place}", "curves", title, axis, one.label, (*points, *limit), table, write=write_value)


def interval_name(found: Watch) -> Said:
    """What its intervals are called."""
    return say("watch.interval", level=_percent(found.rule.confidence_level))


def _percent(share: float, digits: int = 0) -> str:
    """A share below 1 with so many decimals, or as many more as keep it from being called 100 %."""
    texts = (f"{share:.{n}%}" for n in range(digits, 12))
    return next((text for text in texts if not text.startswith("100")), f"{share:.12%}")


def _between(of: Interval) -> str:
    return ends(of.low, of.high, form_for(of.estimate)) or between(of)


def write_value(number: float | None) -> str:
    """A value as it is shown; nothing where there is none."""
    return "" if number is None else format(number, form_for(number))


def form_for(number: float | None) -> str:
    """Four decimals as elsewhere, fewer where values are large, such as milliseconds."""
    return ".4f" if number is None or abs(number) < 10 else ".1f" if abs(number) < 100 else ".0f"  # noqa: PLR2004


def write_time(text: str) -> str:
    """A time to the minute, or to the second where it is not on a full minute."""
    return text[: 16 if text[17:19] == "00" else 19].replace("T", " ")


def _span(window: WatchWindow) -> str:
    same = window.start[:10] == window.end[:10]
    return f"{write_time(window.start)} - {write_time(window.end)[11 if same else 0 :]} UTC"
