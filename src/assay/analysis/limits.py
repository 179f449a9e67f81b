"""Limits that the numbers of a load must not pass, and whether they do."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from assay.errors import UnknownName, UsageError
from assay.messages import say
from assay.results.bench import LimitCheck

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from assay.results.bench import Load, Verdict
    from assay.stats.intervals import Interval

_TIMES = ("p50", "p95", "p99", "mean")
_PREFIXES = ("first_token_", "per_token_")
ERRORS = "error_rate"


def check_limits(limits: Mapping[str, float], max_errors: float, *, stream: bool) -> None:
    """Refuse limits on numbers that a load does not have, before anything is measured."""
    known = [*_TIMES, *(f"{prefix}{name}" for prefix in (_PREFIXES if stream else ()) for name in _TIMES)]
    for name, limit in limits.items():
        if name not in known:
            raise UnknownName(say("number of a load"), name, known, hint=say("the numbers are {names}", names=known))
        if not 0 < limit < math.inf:
            raise UsageError(say("{name} must be above 0, not {value!r}", name=name, value=limit))
    if not 0 <= max_errors < 1:
        raise UsageError(
            say("the share of calls that may fail lies between 0 and 1, not at {value!r}", value=max_errors)
        )


def check_loads(loads: Sequence[Load], limits: Mapping[str, float], max_errors: float) -> Iterator[LimitCheck]:
    """Check every load against the limits; failed calls are counted exactly and need no interval."""
    for place, load in enumerate(loads):
        figures = load.figures()
        for name, limit in limits.items():
            value, interval = figures[name]
            ends = (None, None) if interval is None else (interval.low, interval.high)
            yield LimitCheck(place, name, limit, value, *ends, _verdict(value, interval, limit))
        share = load.error_rate
        if load.failed or max_errors:
            verdict: Verdict = "over" if share is not None and share > max_errors else "ok"
            yield LimitCheck(place, ERRORS, max_errors, share, None, None, verdict)


def _verdict(value: float | None, interval: Interval | None, limit: float) -> Verdict:
    """Return whether the limit is passed: by the whole interval, else by the value."""
    if value is None:
        return "unclear"
    if interval is None:
        return "over" if value > limit else "ok"
    if interval.low is not None and interval.low > limit:
        return "over"
    return "ok" if interval.high is not None and interval.high <= limit else "unclear"
