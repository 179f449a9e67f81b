"""Times of calls as numbers: percentiles with intervals, throughput, errors, a histogram."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from assay.analysis.pace import judge_pace
from assay.results.bench import Histogram, Latency, Load, Streaming
from assay.stats.intervals import quantile_interval

if TYPE_CHECKING:
    from assay.data.segments import Floats
    from assay.serving.records import Timing

SHARES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
_MS = 1000.0
_BINS = 24
_MIDDLE = 0.9  # of the answers, between the earliest and the latest ones
_LEAST = 1e-6  # milliseconds: a logarithmic scale has no 0


def summarise(timing: Timing, *, candidates: int | None = None, confidence_level: float = 0.95) -> Load:
    """Turn the times of all calls into percentiles, throughput and counts."""
    due, begun, ended = (np.array(part) for part in (timing.due, timing.begun, timing.ended))
    waited = (ended - due) * _MS
    is_open = timing.plan.kind == "open"
    errors = timing.errors | ({"not started": timing.not_started} if timing.not_started else {})
    sending = _sending(timing)
    throughput = _throughput(ended, timing.seconds if sending is None else sending, is_open=is_open)
    return Load(
        kind=timing.plan.kind,
        threads=timing.plan.threads,
        candidates=candidates,
        rate=timing.plan.rate,
        seconds=timing.seconds,
        count=len(ended),
        errors=errors,
        examples=timing.examples,
        throughput_qps=throughput,
        latency_ms=_latency(waited, confidence_level),
        service_ms=_latency((ended - begun) * _MS, confidence_level) if is_open else None,
        histogram=_histogram(waited),
        interrupted=timing.interrupted,
        sending_seconds=sending,
        drain_seconds=None if sending is None else max(0.0, timing.seconds - sending),
        pace=judge_pace(timing, confidence_level=confidence_level),
        streaming=_streaming(timing, throughput, confidence_level),
    )


def _sending(timing: Timing) -> float | None:
    """Seconds in which the calls of an open loop were sent: the last one takes as long as any other."""
    rate = timing.plan.rate
    return None if rate is None else max([timing.sent, *timing.begun[-1:]]) + 1 / rate


def _throughput(ended: Floats, seconds: float, *, is_open: bool) -> float:
    """Calls a second: of an open loop over the time of sending, or over that of the answers where they take longer.

    The time from the last call sent to the last answer is not counted. Answers take longer where calls pile up; the
    time between them is that of their middle nine tenths, which one late answer does not stretch.
    """
    n = len(ended)
    if is_open and n > 1:
        early, late = np.quantile(ended, ((1 - _MIDDLE) / 2, (1 + _MIDDLE) / 2))
        seconds = max(seconds, float(late - early) / _MIDDLE * n / (n - 1))
    return n / seconds if seconds > 0 else 0.0


def _streaming(timing: Timing, throughput: float, confidence_level: float) -> Streaming | None:
    streams = timing.streams
    if not streams:
        return None
    due = np.array(timing.due)
    first, last = np.array([one.first for one in streams]), np.array([one.last for one in streams])
    tokens = np.array([one.tokens for one in streams])
    several = tokens > 1
    waited = _latency((first - due) * _MS, confidence_level)
    assert waited is not None
    return Streaming(
        waited,
        _latency((last - first)[several] / (tokens[several] - 1) * _MS, confidence_level),
        int(tokens.sum()),
        float(tokens.mean()) * throughput,
        all(one.counted for one in streams),
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
    edges = np.geomspace(low, high, _BINS + 1)
    edges[0], edges[-1] = low, high  # exactly, so that no value falls outside
    if (np.diff(edges) <= 0).any():  # all the same but for rounding
        return Histogram((low, high), (len(ms),))
    return Histogram(tuple(edges.tolist()), tuple(np.histogram(shown, edges)[0].tolist()))
