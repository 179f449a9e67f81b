"""Schedule calls: tickets for workers, arrivals of an open loop, and when to stop or not to begin."""

from __future__ import annotations

import itertools
import math
import threading
from typing import TYPE_CHECKING

import numpy as np

from assay.errors import UsageError
from assay.messages import say
from assay.serving.records import kind_word

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.serving.records import LoadPlan, Log

HOPELESS = 100  # failures in a row, whichever worker made the call, after which a load ends
_DRAIN = 2.0  # an open loop may take this many times its length to work off its queue ...
_LEAST_DRAIN = 10.0  # ... and this many seconds more


class Schedule:
    """What the workers of one load share."""

    def __init__(self, plan: LoadPlan) -> None:
        self.plan = plan
        self.limit = plan.limit
        self.ticket = itertools.count().__next__  # one step of the interpreter, so threads need no lock
        self.stop = threading.Event()
        self.hopeless = False
        self._failures, self._lock = 0, threading.Lock()
        self.start = self.end = 0.0
        self.offsets = arrivals(plan) if plan.rate is not None else None

    def begin(self, now: float) -> None:
        """Set the moment from which arrivals count."""
        self.start = now
        plan = self.plan
        if self.offsets is not None:
            self.end = now + max(_DRAIN * self.offsets[-1], self.offsets[-1] + _LEAST_DRAIN)
        else:
            self.end = math.inf if plan.seconds is None else now + plan.seconds

    def next(self) -> int | None:
        """Number of the next call; None when there is none."""
        number = self.ticket()
        return None if number >= self.limit or self.stop.is_set() else number

    def due(self, number: int, now: float) -> float:
        """When a call should begin: at once in a closed loop."""
        return now if self.offsets is None else self.start + self.offsets[number]

    def note_success(self) -> None:
        """Record a call that worked, which resets the count of failures in a row."""
        self._failures = 0

    def fail(self) -> None:
        """Note a call that failed; after too many in a row, of all workers together, the load ends."""
        with self._lock:
            self._failures += 1
        if self._failures >= HOPELESS:
            self.hopeless = True
            self.stop.set()

    def is_over(self, now: float) -> bool:
        """Return whether it is too late for another call."""
        return now >= self.end or self.stop.is_set()


def arrivals(plan: LoadPlan) -> Sequence[float]:
    """Seconds from the start at which calls of an open loop are due."""
    assert plan.rate is not None
    if plan.arrivals == "constant":
        return [number / plan.rate for number in range(plan.limit)]
    gaps = np.random.default_rng(plan.seed).exponential(1 / plan.rate, plan.limit)
    gaps[0] = 0.0
    found: list[float] = np.cumsum(gaps).tolist()
    return found


def check_warm(logs: Sequence[Log]) -> None:
    """Stop when there were calls to warm up and none of them worked."""
    failed = sum(log.failures.total() for log in logs)
    if failed and not any(len(log.ended) for log in logs):
        kind, text = next((kind, text) for log in logs for kind, text in log.examples.items())
        word = kind_word(kind)
        raise UsageError(
            say(
                "nothing can be measured: all {n} warm-up calls failed ({reason})",
                n=failed,
                reason=say("{kind}: {message}", kind=word, message=text) if text and text != kind else word,
            )
        )
