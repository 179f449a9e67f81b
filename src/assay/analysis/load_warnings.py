"""Warnings about the measurements of a load that its numbers alone do not show."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from assay.analysis.latency import SHARES
from assay.messages import Said, say
from assay.serving.records import MOST_CALLS, kind_word
from assay.stats.intervals import least_values

if TYPE_CHECKING:
    from assay.data.segments import Floats
    from assay.results.bench import Latency, Load
    from assay.serving.records import Timing

_ALIKE = 0.3  # correlation of one call with the next from which we warn that intervals are too narrow
_LAGGING = 0.05  # largest share of the median latency that our own delay may take
_ENOUGH = 30  # fewer calls say nothing about correlation


def find_load_warnings(load: Load, timing: Timing) -> list[str]:
    """Return the warnings that a reader of the numbers needs."""
    found: list[str] = []
    if load.latency_ms is not None:
        found += _too_few(load.latency_ms, load.count)
    failed = [(kind, n) for kind, n in load.errors.items() if kind != "not started"]
    if failed:
        shown = [_count(kind, n, load.examples.get(kind, "")) for kind, n in failed]
        found.append(say("bench.failed", n=sum(n for _, n in failed), kinds=shown))
    if load.errors.get("timeout"):
        found.append(say("bench.timeouts"))
    if timing.hopeless:
        found.append(say("bench.hopeless"))
    if timing.plan.kind == "open" and load.count:
        found += _open(load, timing)
    elif _neighbours_correlate(np.array(timing.ended) - np.array(timing.due)):
        found.append(say("bench.alike"))
    if timing.plan.runs is None and load.count >= MOST_CALLS:
        found.append(say("bench.most", n=MOST_CALLS))
    return found


def _too_few(latency: Latency, count: int) -> list[Said]:
    """Warn of percentiles above which there may be no call, with the number of calls that each needs."""
    named = [
        say("bench.needs", n=round(100 * share), needed=least_values(share, confidence_level=of.confidence_level))
        for name, share in SHARES.items()
        if (of := getattr(latency, name)).high is None
    ]
    return [say("bench.too_few", n=count, names=named)] if named else []


def _count(kind: str, n: int, said: str) -> Said:
    if not said or said == kind:
        return say("load.count", n=n, kind=kind_word(kind))
    return say("load.count_said", n=n, kind=kind_word(kind), message=said)


def _open(load: Load, timing: Timing) -> list[str]:
    due, begun, ended = (np.array(part) for part in (timing.due, timing.begun, timing.ended))
    found: list[str] = []
    if load.pace is not None and load.pace.decision == "behind":
        found.append(load.pace.reason)
    elif _neighbours_correlate(ended - due):
        found.append(say("bench.alike"))
    if timing.not_started:
        found.append(say("bench.not_started", n=timing.not_started))
    assert load.latency_ms is not None
    lag = _own_lag(due, begun, ended, timing.plan.threads) * 1000
    if lag > _LAGGING * (load.latency_ms.p50.estimate or math.inf):
        found.append(say("bench.lag", ms=lag))
    return found


def _own_lag(due: Floats, begun: Floats, ended: Floats, threads: int) -> float:
    """How late calls began, in the median, though a worker was free: this machine's fault, not the target's."""
    under_way = np.arange(len(due)) - np.searchsorted(np.sort(ended), due, side="right")
    free = under_way < threads
    return float(np.median((begun - due)[free])) if free.any() else 0.0


def _neighbours_correlate(values: Floats) -> bool:
    """Return whether neighbouring calls are more alike than chance explains (four standard errors)."""
    return len(values) >= _ENOUGH and _correlation(values) > max(_ALIKE, 4 / math.sqrt(len(values)))


def _correlation(values: Floats) -> float:
    """Correlation of each value's rank with the next one's."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts + 1) / 2)[place]  # equal values share their mean rank
    a, b = ranks[:-1] - ranks[:-1].mean(), ranks[1:] - ranks[1:].mean()
    spread = math.sqrt(float((a * a).sum() * (b * b).sum()))
    return float((a * b).sum()) / spread if spread else 0.0
