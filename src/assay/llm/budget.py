"""Money: what was spent, what may have been, what is set aside for calls under way, and the limit of it all."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from contextlib import suppress
from dataclasses import dataclass


@dataclass(frozen=True)
class Spending:
    """Money so far: surely spent, possibly spent (calls without an answer), set aside, and the limit."""

    spent: float
    possible: float
    held: float
    limit: float | None
    currency: str
    unpriced_calls: int


class Ledger:
    """Sets aside the most a call can cost before it is sent, so that the limit is never overshot.

    A call that does not fit while others are under way waits for money they release; one that does not fit when no call
    is under way is refused. Several clients may share one: it is then the limit of all of them together.
    """

    def __init__(self, limit: float | None, currency: str = "USD") -> None:
        self.limit, self.currency = limit, currency
        self.spent = self.possible = self.held = 0.0
        self.unpriced_calls = 0
        self._holders = 0
        self._waiting: deque[tuple[float, asyncio.Future[bool]]] = deque()
        self._lock = threading.RLock()  # each client has a loop on a thread of its own

    @property
    def spending(self) -> Spending:
        """Money so far."""
        return Spending(self.spent, self.possible, self.held, self.limit, self.currency, self.unpriced_calls)

    async def hold(self, amount: float) -> bool:
        """Set an amount aside, waiting for money to come back; False when it will never fit."""
        with self._lock:
            if not self._waiting and self._fits(amount):
                self._set_aside(amount)
                return True
            if not self._holders:
                return False
            answer: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
            self._waiting.append((amount, answer))
        return await answer

    def settle(self, held: float, *, spent: float = 0.0, possible: float = 0.0) -> None:
        """Release what was set aside, and add what the call cost."""
        with self._lock:
            self._holders -= 1
            self.held = self.held - held if self._holders else 0.0
            self.spent += spent
            self.possible += possible
            self._serve()

    def forget_calls(self) -> None:
        """Release what was set aside for calls that no longer belong to this process."""
        self._lock = threading.RLock()  # the parent's may be held
        self.held, self._holders = 0.0, 0
        self._waiting.clear()

    def _set_aside(self, amount: float) -> None:
        self.held += amount
        self._holders += 1

    def _fits(self, amount: float) -> bool:
        total = self.spent + self.possible + self.held + amount
        return self.limit is None or total <= self.limit * (1 + 1e-9)

    def _serve(self) -> None:
        while self._waiting:
            amount, answer = self._waiting[0]
            fits = self._fits(amount)
            if not fits and self._holders:
                return
            self._waiting.popleft()
            if answer.get_loop().is_closed():
                continue  # nobody waits any more
            if fits:
                self._set_aside(amount)
            _answer(answer, fits=fits)


def _answer(waiting: asyncio.Future[bool], *, fits: bool) -> None:
    """Answer a call that waits, on the loop that it waits on."""

    def tell() -> None:
        if not waiting.done():
            waiting.set_result(fits)

    loop = waiting.get_loop()
    with suppress(RuntimeError):  # the loop has ended, and with it who waited
        loop.call_soon_threadsafe(tell)
