"""Limit how fast requests are sent: limits per minute, a common pause, and an adaptive number in flight.

All decisions are plain arithmetic on a clock that is passed in; only `Pacer` sleeps.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections import deque
from contextlib import suppress
from dataclasses import dataclass

from assay.errors import UsageError
from assay.messages import say

# A request can reach the server later than it left: up to this much, no window of a minute there sees too many.
_SLACK = 1.0
_MINUTE = 60.0
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Limits:
    """What a server allows: requests in flight, requests and tokens per minute. Limits hold for this client alone."""

    concurrency: int = 32
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    start: int = 8

    def __post_init__(self) -> None:
        for name in ("concurrency", "requests_per_minute", "tokens_per_minute", "start"):
            value = getattr(self, name)
            if value is not None and not value >= 1:
                raise UsageError(say("{name} = {value}: expected a number of 1 or more", name=name, value=value))


class Reservation:
    """A place in a minute: when it was taken, how much of the limit it takes, and whether that minute is over."""

    __slots__ = ("amount", "at", "over")

    def __init__(self, at: float, amount: float) -> None:
        self.at, self.amount, self.over = at, amount, False


class Minute:
    """An amount per minute, spread evenly: no more than the limit in any minute, and no burst at its start."""

    def __init__(self, limit: float) -> None:
        self.limit = limit
        self._window = _MINUTE + _SLACK
        self._spots: deque[Reservation] = deque()
        self._total = 0.0
        self._free_at = 0.0

    def delay(self, now: float, amount: float) -> float:
        """Seconds until the amount may be taken. More than a whole minute's worth waits until nothing else is there."""
        self._forget(now)
        wait = max(self._free_at - now, 0.0)
        excess = self._total + min(amount, self.limit) - self.limit
        for spot in self._spots:
            if excess <= _ROUNDING:
                break
            excess -= spot.amount
            wait = max(wait, spot.at + self._window - now)
        return wait

    def take(self, now: float, amount: float) -> Reservation:
        """Take the amount."""
        spot = Reservation(now, amount)
        self._spots.append(spot)
        self._total += amount
        self._free_at = max(now, self._free_at) + amount * self._window / self.limit
        return spot

    def correct(self, spot: Reservation, amount: float) -> None:
        """Replace an estimate by what it really was."""
        if not spot.over:
            self._total += amount - spot.amount
            self._free_at += (amount - spot.amount) * self._window / self.limit
            spot.amount = amount

    def _forget(self, now: float) -> None:
        while self._spots and self._spots[0].at + self._window <= now:
            gone = self._spots.popleft()
            gone.over = True
            self._total -= gone.amount


class Window:
    """The number of requests in flight: it grows while the server answers and halves when the server asks for less.

    Until the first throttling every answer adds one, afterwards a whole round of answers does. Throttlings of requests
    that were sent before the last halving belong to the same round trip and do not halve again.
    """

    def __init__(self, limits: Limits) -> None:
        self.most = limits.concurrency
        self.limit = float(min(limits.start, limits.concurrency))
        self.flying = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._throttled = False
        self._halved_at = -1.0

    async def enter(self) -> None:
        """Wait for a place."""
        if self.flying < int(self.limit) and not self._waiting:
            self.flying += 1
            return
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(place)
        await place  # the waker has already counted it

    def leave(self) -> None:
        """Give the place back."""
        self.flying -= 1
        self._wake()

    def note_answer(self) -> None:
        """Let the number grow, if it is needed."""
        if self.flying * 2 >= self.limit:
            self.limit = min(self.limit + (1 / self.limit if self._throttled else 1), self.most)

    def note_throttling(self, sent: float, now: float) -> bool:
        """Halve the number, at most once per round trip; return whether it was halved."""
        self._throttled = True
        if sent <= self._halved_at:
            return False
        self.limit, self._halved_at = max(self.limit / 2, 1.0), now
        return True

    def _wake(self) -> None:
        while self._waiting and self.flying < int(self.limit):
            place = self._waiting.popleft()
            if not place.done():
                self.flying += 1
                place.set_result(None)


class Pacer:
    """Releases requests one by one, as the limits allow and not during a pause."""

    def __init__(self, limits: Limits, *, longest_wait: float, backoff: float) -> None:
        self.window = Window(limits)
        self._requests = None if limits.requests_per_minute is None else Minute(limits.requests_per_minute)
        self._tokens = None if limits.tokens_per_minute is None else Minute(limits.tokens_per_minute)
        self._longest, self._backoff = longest_wait, backoff
        self._turn = asyncio.Lock()
        self._changed = asyncio.Event()  # a minute has more room than was thought
        self._paused_until = 0.0
        self._in_a_row = 0
        self._random = random.Random()  # noqa: S311 - jitter is no secret

    async def leave_with(self, tokens: float) -> Reservation | None:
        """Wait until a request with that many tokens may leave; returns its place among the minute's tokens."""
        if self._requests is None and self._tokens is None and self._paused_until <= time.monotonic():
            return None
        async with self._turn:
            while (delay := self._delay(time.monotonic(), tokens)) > 0:
                self._changed.clear()
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._changed.wait(), delay)
            now = time.monotonic()
            if self._requests is not None:
                self._requests.take(now, 1)
            return None if self._tokens is None else self._tokens.take(now, tokens)

    def _delay(self, now: float, tokens: float) -> float:
        wait = self._paused_until - now
        if self._requests is not None:
            wait = max(wait, self._requests.delay(now, 1))
        return wait if self._tokens is None else max(wait, self._tokens.delay(now, tokens))

    @property
    def counts_tokens(self) -> bool:
        """Return whether tokens are limited."""
        return self._tokens is not None

    def used(self, spot: Reservation, tokens: float) -> None:
        """Correct the tokens of a request by what it really used."""
        assert self._tokens is not None
        self._tokens.correct(spot, tokens)
        self._changed.set()

    def note_answer(self) -> None:
        """Take note that the server answers."""
        self._in_a_row = 0
        self.window.note_answer()

    def note_throttling(self, sent: float, wanted: float | None) -> None:
        """Pause all requests: as long as the server asks, within a limit, else longer each time."""
        now = time.monotonic()
        if self.window.note_throttling(sent, now):
            self._in_a_row += 1
        wait = wanted or self.backoff(self._in_a_row)
        self._paused_until = max(self._paused_until, now + min(wait, self._longest))

    def backoff(self, attempt: int) -> float:
        """Seconds before the next attempt: doubling, with jitter so that not all clients come back at once."""
        whole = min(self._backoff * 2.0 ** max(attempt - 1, 0), self._longest)
        return whole * self._random.uniform(0.5, 1.0)
