"""How an interval is shown: its ends, or why it has none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.messages import Said, ends, say
from assay.stats.agreement import UNSTABLE
from assay.stats.bootstrap import SAME_RESAMPLES
from assay.stats.intervals import NO_BASELINE
from assay.stats.moments import NO_SPREAD, ONE_VALUE, ONE_WEIGHT

if TYPE_CHECKING:
    from assay.stats.intervals import Interval

_REASONS = {
    NO_SPREAD: "interval.no_spread",
    ONE_VALUE: "interval.one_value",
    ONE_WEIGHT: "interval.one_weight",
    NO_BASELINE: "interval.no_baseline",
    SAME_RESAMPLES: "interval.same_resamples",
    UNSTABLE: "interval.unstable",
}


def between(interval: Interval, *, signed: bool = False, percent: bool = False) -> str:
    """Show an interval in a cell of its own: its ends, or why it has none."""
    return ends(interval.low, interval.high, _form(signed=signed, percent=percent)) or why(interval.reason)


def told(interval: Interval, *, signed: bool = False, percent: bool = False) -> str:
    """Show an interval behind a number: its ends, or that there is none and why."""
    return behind(interval.low, interval.high, _form(signed=signed, percent=percent), reason=interval.reason)


def behind(low: float | None, high: float | None, form: str, *, reason: str = "") -> str:
    """Show two ends behind a number, or that there are none and why; nothing where the reason is not known."""
    shown = ends(low, high, form)
    if shown:
        return shown
    lacking = why(NO_SPREAD if low is not None and low == high else reason)
    return say("interval.none", reason=lacking) if lacking else ""


def why(reason: str) -> Said | str:
    """Say in a few words why there is no interval."""
    return say(_REASONS[reason]) if reason in _REASONS else ""


def _form(*, signed: bool, percent: bool) -> str:
    return "+.1%" if percent else "+.4f" if signed else ".4f"
