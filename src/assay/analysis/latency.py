"""Times of calls as numbers: percentiles with intervals, throughput, errors, a histogram."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from assay.results.bench import Histogram, Latency, Load
from assay.stats.intervals import quantile_interval

if TYPE_CHECKING:
    from assay.data.segments import Floats
    from assay.serving.records import Timing

SHARES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
_MS = 1000.0
_BINS = 24
_LEAST = 1e-6  # milliseconds: a logarithmic scale has no 0


def summarise(timing: Timing, *, candidates: int | None = None, confidence_level: float = 0.95) -> Load:
    """Turn the times of all calls into percentiles, throughput and counts."""
    due, begun, ended = (np.array(part) for part in (timing.due, timing.begun, timing.ended))
    waited = (ended - due) * _MS
    is_open = timing.plan.kind == "open"
    errors = timing.errors | ({"not started": timing.not_started} if timing.not_started else {})
    return Load(
        kind=timing.plan.kind,
        threads=timing.plan.threads,
        candidates=candidates,
        rate=timing.plan.rate,
        seconds=timing.seconds,
        count=len(ended),
        errors=errors,
        examples=timing.examples,
        throughput_qps=len(ended) / timing.seconds if timing.seconds > 0 else 0.0,
        latency_ms=_latency(waited, confidence_level),
        service_ms=_latency((ended - begun) * _MS, confidence_level) if is_open else None,
        histogram=_histogram(waited),
        interrupted=timing.interrupted,
    )


def _latency(ms: Floats, confidence_level: float) -> Latency | None:
    if not len(ms):
        return None
    found = {name: quantile_interval(ms, share, confidence_level=confidence_level) for name, share in SHARES.items()}
    return Latency(**found, mean=math.fsum(ms) / len(ms), std=float(np.std(ms)))


def _histogram(ms: Floats) -> Histogram | None:
    if not len(ms):
        return None
    shown = np.maximum(ms, _LEAST)
    low, high = float(shown.min()), float(shown.max())
    if low == high:
        return Histogram((low, high), (len(ms),))
    edges = np.geomspace(low, high, _BINS + 1)
    edges[0], edges[-1] = low, high  # exactly, so that no value falls outside
    return Histogram(tuple(edges.tolist()), tuple(np.histogram(shown, edges)[0].tolist()))
