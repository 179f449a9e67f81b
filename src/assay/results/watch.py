"""What watching a log found: windows of event time with their measures, targets, and the alerts that stand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from assay.data.protocol import Target
from assay.data.record import Record, Value
from assay.results.parts import part
from assay.stats.alarms import AlarmRule, find_alarms
from assay.stats.intervals import Interval

# Where a value stands: its interval is past the target or within it, or the target is inside the interval.
Standing = Literal["alert", "past", "met", "unclear", "none"]
LogKind = Literal["events", "traces"]


@dataclass(frozen=True)
class WatchValue:
    """One measure in one window; its interval counts users (`n`)."""

    measure: str
    interval: Interval
    left_out: int = 0

    def is_past(self, target: Target) -> bool:
        """Whether the whole interval is on the wrong side of a target; an end that is not known is on the right one."""
        end = self.interval.low if target.below else self.interval.high
        return end is not None and not target.is_reached(end, target.target)

    def is_within(self, target: Target) -> bool:
        """Whether the whole interval reaches a target."""
        end = self.interval.high if target.below else self.interval.low
        return end is not None and target.is_reached(end, target.target)


@dataclass(frozen=True)
class WatchWindow:
    """Requests whose time is from `start` up to `end`.

    `set_aside` counts rows that were repeated or faulty, `empty_before` the windows without any request just before it.
    `unjudged` says that the money of the day was not enough for a judge, `judge_failed` on how many answers it failed.
    """

    start: str
    end: str
    requests: int
    users: int
    values: tuple[WatchValue, ...] = ()
    set_aside: int = 0
    empty_before: int = 0
    unjudged: bool = False
    judge_failed: int = 0

    def value(self, measure: str) -> WatchValue | None:
        """Find one measure; None where the window has nothing to count for it."""
        return next((one for one in self.values if one.measure == measure), None)


@dataclass(frozen=True)
class WatchMeasure:
    """What is known of a measure: its target, if it has one, and why a log has no values of it (`lacking`).

    `error` is the standard error that is usual in a window, `shift` how far past the target a truth has to be to be
    found within the delay of the rule; both are None where no window shows how values vary.
    """

    label: str
    definition: str
    unit: str
    lower_is_better: bool = False
    target: Target | None = None
    error: float | None = None
    shift: float | None = None
    lacking: str = ""


@dataclass(frozen=True)
class Alert:
    """A row of windows whose intervals were past the target: since when, and until when if it is over.

    `value` is that of the last window of the row.
    """

    measure: str
    target: Target
    first: str
    since: str
    windows: int
    value: WatchValue
    until: str | None = None

    @property
    def stands(self) -> bool:
        """Whether it is not over."""
        return self.until is None


@dataclass(frozen=True)
class OpenWindow:
    """A window that may still get rows."""

    start: str
    rows: int


@dataclass(frozen=True)
class SentEvaluations:
    """Values of single answers that were sent to a `place` since the watch began, that wait, or were `refused` there.

    `problem` is why those that wait could not be sent.
    """

    place: str
    sent: int = 0
    waiting: int = 0
    refused: int = 0
    problem: str = ""


@part("watch")
@dataclass(frozen=True)
class Watch(Record):
    """Windows of a log with their measures, and alerts where a row of them is past a target.

    `rows` counts what was read; `left_out` what no window counts, by reason.
    """

    kind: LogKind
    measures: tuple[WatchMeasure, ...]
    windows: tuple[WatchWindow, ...]
    rule: AlarmRule
    width_s: float
    lateness_s: float
    protocol: str = ""
    baseline: int = 0
    open: tuple[OpenWindow, ...] = ()
    rows: int = 0
    left_out: Mapping[str, int] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    evaluations: SentEvaluations | None = None

    @property
    def watched(self) -> tuple[WatchMeasure, ...]:
        """The measures with a target."""
        return tuple(one for one in self.measures if one.target is not None)

    @property
    def alerts(self) -> tuple[Alert, ...]:
        """All alerts, those that stand first, the latest first."""
        found = [alert for one in self._rung.values() for alert in one]
        return tuple(sorted(sorted(found, key=lambda one: one.since, reverse=True), key=lambda one: not one.stands))

    @property
    def standing(self) -> tuple[Alert, ...]:
        """The alerts that stand."""
        return tuple(one for one in self.alerts if one.stands)

    @property
    def period_days(self) -> float:
        """The days of the budget of false alarms."""
        return self.rule.windows * self.width_s / 86_400

    def measure(self, label: str) -> WatchMeasure:
        """Find a measure."""
        return next(one for one in self.measures if one.label == label)

    def history(self, measure: str) -> list[tuple[WatchWindow, WatchValue]]:
        """The windows that have a value of a measure, with it."""
        return [(window, value) for window in self.windows if (value := window.value(measure)) is not None]

    def windows_past(self, measure: str) -> int:
        """How many windows in a row, up to the last that has a value, are past the target of a measure."""
        target, n = self.measure(measure).target, 0
        for _, value in reversed(self.history(measure)):
            if target is None or not value.is_past(target):
                break
            n += 1
        return n

    def standing_of(self, window: WatchWindow, measure: WatchMeasure) -> Standing:
        """Where a measure of a window stands against its target."""
        value = window.value(measure.label)
        if measure.target is None or value is None:
            return "none"
        if value.is_past(measure.target):
            rang = any(
                one.first <= window.start and (one.until is None or window.start < one.until)
                for one in self._rung.get(measure.label, ())
            )
            return "alert" if rang else "past"
        return "met" if value.is_within(measure.target) else "unclear"

    @cached_property
    def _rung(self) -> dict[str, list[Alert]]:
        """The alerts of each measure with a target, in order."""
        return {one.label: self._find_alerts(one.label, one.target) for one in self.measures if one.target is not None}

    def _find_alerts(self, measure: str, target: Target) -> list[Alert]:
        seen = self.history(measure)
        found = []
        for complete, over in find_alarms([value.is_past(target) for _, value in seen], self.rule.run):
            first, last = complete - self.rule.run + 1, len(seen) if over is None else over
            found.append(
                Alert(
                    measure, target, seen[first][0].start, seen[complete][0].start, last - first, seen[last - 1][1],
                    None if over is None else seen[over][0].start,
                )
            )  # fmt: skip
        return found

    def to_rows(self) -> list[dict[str, Value]]:
        """One row per window and measure."""
        known = {one.label: one for one in self.measures}
        return [
            {
                "window": window.start,
                "measure": value.measure,
                "value": value.interval.estimate,
                "low": value.interval.low,
                "high": value.interval.high,
                "target": target.target if (target := known[value.measure].target) else None,
                "standing": self.standing_of(window, known[value.measure]),
                "users": value.interval.n,
                "requests": window.requests,
                "left_out": value.left_out,
            }
            for window in self.windows
            for value in window.values
            if value.measure in known
        ]
