"""The measures of one window, and what many windows say about each of them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import ndtri, stdtrit

from assay.errors import UsageError
from assay.messages import say
from assay.online.log_metrics import measure_log
from assay.online.watching.settings import CANARY
from assay.online.watching.signals import SIGNALS, measure_signals
from assay.results.watch import WatchMeasure, WatchValue, WatchWindow
from assay.stats.alarms import power_quantile

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from assay.data.protocol import Target
    from assay.data.requests import Holdings
    from assay.formats.traces.evaluations import Evaluation
    from assay.measures import Measure
    from assay.online.watching.feeds import Content
    from assay.online.watching.settings import WatchSettings
    from assay.stats.alarms import AlarmRule
    from assay.stats.intervals import Bounds, Interval

_MICRO = 1_000_000
_CLOSE = 1e-9
_STEPS = 60


class Judged(NamedTuple):
    """What was said of the answers of a window: values, on how many the judge `failed`, and whether money lacked.

    `evaluations` are the values of single answers.
    """

    values: Sequence[WatchValue] = ()
    failed: int = 0
    unjudged: bool = False
    evaluations: Sequence[Evaluation] = ()


def tell_time(micros: int) -> str:
    """A time in microseconds since 1970 as ISO 8601."""
    return datetime.fromtimestamp(micros / _MICRO, UTC).isoformat().replace("+00:00", "Z")


def measure_window(
    content: Content, settings: WatchSettings, index: int, *, holdings: Holdings, more: Sequence[WatchValue] = (),
    empty_before: int = 0,
) -> WatchWindow:  # fmt: skip
    """The measures of a window whose requests are a log of its own; `holdings` are those of all windows so far."""
    width = round(settings.width * _MICRO)
    try:
        found = measure_log(
            content.events, settings.measures, [], timezone="UTC", level=settings.rule.confidence_level,
            holdings=holdings, skewed=True,
        )  # fmt: skip
    except UsageError:  # it has no requests
        found = None
    values = [] if found is None else [WatchValue(one.measure, one.interval, one.left_out) for one in found.values]
    values += measure_signals(content.served, settings.rule.confidence_level) if content.served else []
    return WatchWindow(
        tell_time(index * width),
        tell_time((index + 1) * width),
        0 if found is None else found.queries,
        0 if found is None else found.users,
        tuple(one for one in (*values, *more) if one.interval.estimate is not None),
        content.set_aside,
        empty_before,
    )


def describe_measures(settings: WatchSettings, windows: Sequence[WatchWindow]) -> tuple[WatchMeasure, ...]:
    """What is known of every measure after some windows: its target, how it varies, and which shift would be found."""
    own = [_describe_measure(one, settings, windows) for one in settings.measures]
    signals = [
        _describe(
            WatchMeasure(label, one.definition, "query", one.lower_is_better, settings.targets.get(label)),
            settings, windows, one.bounds,
        )
        for label, one in SIGNALS.items()
    ]  # fmt: skip
    drifts = [
        _describe(WatchMeasure(label, label, "query", target.below, target), settings, windows, (0.0, math.inf))
        for label, target in settings.drift.items()
    ]
    seen = {value.measure for window in windows for value in window.values}
    asked = {*settings.targets, CANARY} - seen if windows else set[str]()
    return (
        *own,
        *(one for one in (*signals, *drifts) if one.label in seen),
        *(
            replace(one, lacking=say("watch.unseen", measure=one.label))
            for one in (*signals, *drifts)
            if one.label in asked
        ),
    )


def _describe_measure(measure: Measure, settings: WatchSettings, windows: Sequence[WatchWindow]) -> WatchMeasure:
    label, spec = measure.label, measure.spec
    seen = any(window.value(label) is not None for window in windows)
    lacking = "" if seen or not windows else say("watch.lacking", measure=label, names=list(spec.needs))
    target = settings.targets.get(label)
    made = WatchMeasure(label, str(measure), str(spec.unit), spec.lower_is_better, target, lacking=lacking)
    return _describe(made, settings, windows, measure.bounds)


def _describe(
    of: WatchMeasure, settings: WatchSettings, windows: Sequence[WatchWindow], bounds: Bounds
) -> WatchMeasure:
    """Add how the values of a measure vary, and which shift is found."""
    seen = [value.interval for window in windows if (value := window.value(of.label)) is not None]
    error = usual_error(seen, of.target)
    if error is None or of.target is None:
        return replace(of, error=error)
    spread = Spread.of(seen, error, bounds, index=of.label in settings.drift and of.target.below)
    return replace(of, error=error, shift=find_shift(settings.rule, spread, of.target))


@dataclass(frozen=True)
class Spread:
    """The standard error of a window's estimate as it depends on the truth: `usual` is what was seen around `value`."""

    usual: float
    value: float
    n: float
    bounds: Bounds
    index: bool = False

    @classmethod
    def of(cls, seen: Sequence[Interval], error: float, bounds: Bounds, *, index: bool) -> Spread:
        """What the intervals of many windows say."""
        value = float(np.median([one.estimate for one in seen if one.estimate is not None]))
        return cls(error, value, float(np.median([one.n for one in seen])), bounds, index)

    def at(self, truth: float) -> float:
        """Of shares as of counts, of stability indices as of chi-square, of others in proportion to the truth."""
        if self.index:
            return math.sqrt(self.usual**2 + 4 * truth / self.n)
        low, high = self.bounds
        if math.isfinite(high):
            least = (high - low) / (self.n + 2)
            usual = min(max(self.value, low + least), high - least)
            return self.usual * math.sqrt((truth - low) * (high - truth) / ((usual - low) * (high - usual)))
        return self.usual * max(truth / self.value, 1.0) if self.value > 0 else self.usual


def find_shift(rule: AlarmRule, spread: Spread, target: Target) -> float | None:
    """How far past a target a truth has to be to be found within the delay; None where no truth is found so."""
    quantile, further = float(stdtrit(max(spread.n - 1, 1), 1 - rule.level)), power_quantile(rule)
    sign, at_target = 1 if target.below else -1, spread.at(target.target)

    def need(truth: float) -> float:
        """How far the truth has to be: intervals of shares are as wide as their spread at the target makes them."""
        error = spread.at(truth)
        return quantile * max(at_target, error) + further * error

    low, high = 0.0, abs((spread.bounds[1] if target.below else spread.bounds[0]) - target.target)
    if not math.isfinite(high):
        high = 100 * ((quantile + further) * spread.usual + abs(target.target))
    if need(target.target + sign * high * (1 - _CLOSE)) > high:
        return None
    for _ in range(_STEPS):
        middle = (low + high) / 2
        found = need(target.target + sign * middle) <= middle
        low, high = (low, middle) if found else (middle, high)
    return high


def usual_error(seen: Iterable[Interval], target: Target | None = None) -> float | None:
    """The median standard error of the windows, from how wide their intervals are.

    Where ends are extended for a skew, it is that of the end which has to be past the target.
    """
    errors = [error for one in seen if (error := _error(one, target)) is not None]
    return float(np.median(errors)) if errors else None


def _error(of: Interval, target: Target | None) -> float | None:
    """The standard error that an interval would have if its ends were Student's, from the ends that it has."""
    if of.estimate is None or of.n < 2 or (of.low is None and of.high is None):  # noqa: PLR2004
        return None
    share, extended = 0.5 + of.confidence_level / 2, of.method == "adjusted t"
    quantile = float(stdtrit(of.n - 1, share)) if extended or of.method == "delta" else float(ndtri(share))
    ends = [end for end in (of.low, of.high) if end]  # a bound at 0 cuts the low end off
    if extended and target is not None:
        ends = ends[:1] if target.below else ends[-1:]
    return float(np.mean([abs(end - of.estimate) for end in ends])) / quantile if ends else None
