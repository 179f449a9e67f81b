"""Callers that wait for an answer, the batches they belong to, and the flights that serve them."""

from __future__ import annotations

import asyncio
import queue
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from assay.llm.records import Cost, Reply, Usage, failure
from assay.messages import say

if TYPE_CHECKING:
    from collections.abc import Callable

    from assay.llm.cache import Lease
    from assay.llm.jobs import Job

# So many failures in a row, with no answer between them, and the rest of a batch is not tried.
_HOPELESS = 50
_GATHERING = 0.004  # seconds
_COUNTED = {"network", "server", "timeout", "garbage", "request", "throttled"}


class RequestGroup:
    """Requests that belong together: they stop together, share a deadline, and are given up together."""

    def __init__(self) -> None:
        self.waiters: set[Waiter] = set()
        self.over: Reply | None = None  # the reply to all requests that were not sent
        self._bad = 0

    def note(self, reply: Reply, *, final: bool) -> None:
        """Record an outcome: one that affects all requests, or too many failures in a row, stops the batch."""
        if final:
            self.stop(reply)
        elif reply.reason not in _COUNTED:
            self._bad = 0
        else:
            self._bad += 1
            if self._bad >= _HOPELESS:
                self.stop(replace(reply, message=say("reply.given_up", n=_HOPELESS, message=reply.message)))

    def stop(self, reply: Reply) -> None:
        """Send nothing more: unsent requests get a failed reply now, sent ones still get their answer."""
        if self.over is None:
            self.over = replace(failure(reply.reason, say("reply.not_sent", message=reply.message)), cost=Cost())
        for waiter in [waiter for waiter in self.waiters if not waiter.flight.sending]:
            waiter.tell(self.over)

    def end(self, reply: Reply) -> None:
        """Stop waiting. Calls under way continue, and their replies go into the cache."""
        self.over = replace(reply, cost=Cost())
        for waiter in list(self.waiters):
            waiter.tell(self.over)


class ReplyQueue:
    """Replies on their way to another thread, a few at a time: waking it for each would cost more than a call does."""

    def __init__(self, batch: RequestGroup) -> None:
        self._batch = batch
        self._gathered: list[tuple[int, Reply]] = []
        self._handed: queue.SimpleQueue[list[tuple[int, Reply]]] = queue.SimpleQueue()
        self._due = False

    def add(self, number: int, reply: Reply) -> None:
        """Put a reply in; it is handed over with those of the next few milliseconds, at once if it is the last."""
        self._gathered.append((number, reply))
        if not self._batch.waiters:
            self._hand_over()
        elif not self._due:
            self._due = True
            asyncio.get_running_loop().call_later(_GATHERING, self._hand_over)

    def _hand_over(self) -> None:
        self._due = False
        if self._gathered:
            self._handed.put(self._gathered)
            self._gathered = []

    def take(self) -> list[tuple[int, Reply]]:
        """Wait for replies."""
        return self._handed.get()


class Waiter:
    """One caller of one flight; it gets its reply exactly once."""

    __slots__ = ("_deliver", "_told", "batch", "flight", "shared")

    def __init__(self, batch: RequestGroup, flight: Flight, deliver: Callable[[Reply], None], *, shared: bool) -> None:
        self.batch, self.flight, self.shared = batch, flight, shared
        self._deliver, self._told = deliver, False
        batch.waiters.add(self)

    def tell(self, reply: Reply) -> None:
        """Deliver the reply, the first time only."""
        if self._told:
            return
        self._told = True
        self.batch.waiters.discard(self)
        if self in self.flight.waiters:
            self.flight.waiters.remove(self)
        self._deliver(reply)


@dataclass
class Flight:
    """One request under way, shared by all who ask the same; its calls, tokens and money so far."""

    key: str
    job: Job
    keep: bool
    waiters: list[Waiter] = field(default_factory=list)
    placed: bool = False  # it has a place in the window
    sending: bool = False  # a call is out, or its answer is being stored: money may be at stake
    claim: Lease | None = None  # others who use the cache wait for it
    started: float = 0.0
    calls: int = 0
    usage: Usage = field(default_factory=Usage)
    cost: Cost = field(default_factory=Cost)
    unpriced: bool = False
    first_sent: float = 0.0
    last_sent: float = 0.0
    seconds: float = 0.0
    tries: dict[str, int] = field(default_factory=dict)

    @property
    def is_wanted(self) -> bool:
        """Return whether any caller still waits."""
        return bool(self.waiters)

    def tell(self, reply: Reply) -> None:
        """Deliver the reply to all callers; those who joined later pay nothing."""
        for waiter in list(self.waiters):
            waiter.tell(replace(reply, shared=True, calls=0, cost=Cost()) if waiter.shared else reply)
