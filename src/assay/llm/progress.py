"""How far a run is: counts, rate, money and the time that is left."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from assay.llm.records import Reply


@dataclass(frozen=True)
class Progress:
    """A moment of a run. Money is that of this run; `unpriced` counts answers whose price is not known.

    `estimated` counts answers whose server did not say how many tokens they took: tokens and money are then estimates.
    """

    done: int
    total: int | None
    ok: int
    cached: int
    failures: Mapping[str, int]
    calls: int
    cost: float
    possible_cost: float
    currency: str
    unpriced: int
    prompt_tokens: int
    completion_tokens: int
    seconds: float
    estimated: int = 0

    @property
    def failed(self) -> int:
        """Items without an answer."""
        return self.done - self.ok

    @property
    def rate(self) -> float:
        """Items per second."""
        return self.done / self.seconds if self.seconds > 0 else 0.0

    @property
    def seconds_left(self) -> float | None:
        """Time that the rest will take at the rate of those that were not in the cache; None if it is unknown."""
        fresh = self.done - self.cached
        if self.total is None or not fresh:
            return None
        return (self.total - self.done) * self.seconds / fresh


class Tally:
    """Counts replies as they come."""

    def __init__(self, total: int | None, currency: str) -> None:
        self._total, self._currency = total, currency
        self._start = time.monotonic()
        self._done = self._ok = self._cached = self._calls = self._unpriced = self._estimated = 0
        self._prompt = self._completion = 0
        self._cost = self._possible = 0.0
        self._failures: Counter[str] = Counter()

    def count(self, reply: Reply) -> None:
        """Take a reply into account."""
        self._done += 1
        self._cached += reply.cached
        self._calls += reply.calls
        if reply.ok:
            self._ok += 1
        else:
            self._failures[reply.reason] += 1
        if reply.cost is None:
            self._unpriced += 1
        else:
            self._cost += reply.cost.amount
            self._possible += reply.cost.possible
        if not reply.cached and not reply.shared:
            self._prompt += reply.usage.prompt_tokens
            self._completion += reply.usage.completion_tokens
            self._estimated += reply.usage.estimated

    @property
    def progress(self) -> Progress:
        """The moment."""
        return Progress(
            self._done, self._total, self._ok, self._cached, dict(self._failures), self._calls, self._cost,
            self._possible, self._currency, self._unpriced, self._prompt, self._completion,
            time.monotonic() - self._start, self._estimated,
        )  # fmt: skip
