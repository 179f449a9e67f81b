"""The measures of one window, and what many windows say about each of them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtri, stdtrit

from assay.errors import UsageError
from assay.messages import say
from assay.online.log_metrics import log_metrics
from assay.results.watch import WatchMeasure, WatchValue, WatchWindow
from assay.stats.alarms import detectable_shift

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from assay.data.requests import Holdings
    from assay.measures import Measure
    from assay.online.watching.feeds import Content
    from assay.online.watching.settings import WatchSettings
    from assay.stats.intervals import Interval

_MICRO = 1_000_000


def tell_time(micros: int) -> str:
    """A time in microseconds since 1970 as ISO 8601."""
    return datetime.fromtimestamp(micros / _MICRO, UTC).isoformat().replace("+00:00", "Z")


def measure_window(
    content: Content, settings: WatchSettings, index: int, *, holdings: Holdings, empty_before: int = 0
) -> WatchWindow:
    """The measures of a window whose requests are a log of its own; `holdings` are those of all windows so far."""
    width = round(settings.width * _MICRO)
    try:
        found = log_metrics(
            content.events, settings.measures, confidence_level=settings.rule.confidence_level, holdings=holdings
        )
    except UsageError:  # it has no requests
        found = None
    values = () if found is None else (WatchValue(one.measure, one.interval, one.left_out) for one in found.values)
    return WatchWindow(
        tell_time(index * width),
        tell_time((index + 1) * width),
        0 if found is None else found.queries,
        0 if found is None else found.users,
        tuple(one for one in values if one.interval.estimate is not None),
        content.set_aside,
        empty_before,
    )


def describe_measures(settings: WatchSettings, windows: Sequence[WatchWindow]) -> tuple[WatchMeasure, ...]:
    """What is known of every measure after some windows: its target, how it varies, and which shift would be found."""
    return tuple(_describe(one, settings, windows) for one in settings.measures)


def _describe(measure: Measure, settings: WatchSettings, windows: Sequence[WatchWindow]) -> WatchMeasure:
    label, spec = measure.label, measure.spec
    seen = [value.interval for window in windows if (value := window.value(label)) is not None]
    error, target = usual_error(seen), settings.targets.get(label)
    return WatchMeasure(
        label,
        str(measure),
        str(spec.unit),
        spec.lower_is_better,
        target,
        error,
        None if error is None or target is None else detectable_shift(settings.rule, error),
        say("watch.lacking", measure=label, names=list(spec.needs)) if windows and not seen else "",
    )


def usual_error(seen: Iterable[Interval]) -> float | None:
    """The median standard error of the windows, from how wide their intervals are."""
    errors = [error for one in seen if (error := _error(one)) is not None]
    return float(np.median(errors)) if errors else None


def _error(of: Interval) -> float | None:
    """The standard error that an interval would have if its ends were Student's, from the ends that it has."""
    if of.estimate is None or of.n < 2 or (of.low is None and of.high is None):  # noqa: PLR2004
        return None
    share = 0.5 + of.confidence_level / 2
    quantile = float(stdtrit(of.n - 1, share)) if of.method == "delta" else float(ndtri(share))
    reaches = [abs(end - of.estimate) for end in (of.low, of.high) if end is not None]
    return float(np.mean(reaches)) / quantile
