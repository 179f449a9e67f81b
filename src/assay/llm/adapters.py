"""Anything that answers in a client's place: a function from messages to text, or an object with `complete`."""

from __future__ import annotations

import queue
import time
from collections.abc import Sized
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from assay.errors import UsageError
from assay.llm.claims import poll_intervals
from assay.llm.hosts import OTHER
from assay.llm.jobs import Chat
from assay.llm.policy import POLICY
from assay.llm.progress import Tally
from assay.llm.records import Cost, Reply, Request, failure, mend_surrogates
from assay.llm.wire import Traits
from assay.messages import say

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from assay.llm.cache import Cache
    from assay.llm.progress import Progress

    Messages = Sequence[Mapping[str, Any]]

_FENCED = Traits(rung="fenced")
_LATE = failure("deadline", say("reply.run_over"), cost=Cost())


class Completes(Protocol):
    """What a judge needs of a client."""

    def complete(self, request: Request) -> Reply:
        """Ask one question."""

    def complete_many(
        self,
        requests: Iterable[Request],
        *,
        total: int | None = None,
        progress: Callable[[Progress], object] | None = None,
        deadline: float | None = None,
    ) -> Iterator[tuple[int, Reply]]:
        """Ask many questions at once; gives (number, reply) as they come."""


@runtime_checkable
class _One(Protocol):
    def complete(self, request: Request) -> Any:
        """Ask one question."""


def as_client(thing: Any, *, name: str = "", workers: int = 8, cache: Cache | None = None) -> Completes:
    """Make a client from a function (messages -> text) or an object with `complete`; a client is returned unchanged.

    Functions are called on `workers` threads. With a `cache` they need a `name`, so that answers are not mixed up.
    """
    if hasattr(thing, "complete") and hasattr(thing, "complete_many"):
        client: Completes = thing
        return client
    if cache is not None and not name:
        raise UsageError(say("a cache needs a name for the function, so that its answers are not taken for another's"))
    if isinstance(thing, _One):
        return Adapter(thing.complete, name=name, workers=workers, cache=cache)
    if callable(thing):
        return Adapter(lambda request: thing(list(request.messages)), name=name, workers=workers, cache=cache)
    raise UsageError(say("{kind} is neither a function nor an object with `complete`", kind=type(thing).__name__))


class Adapter:
    """A client around a function that takes a request and gives text, or a Reply."""

    def __init__(self, answer: Callable[[Request], Any], *, name: str, workers: int, cache: Cache | None) -> None:
        self._answer, self.model, self._workers, self._cache = answer, name, workers, cache

    def complete(self, request: Request) -> Reply:
        """Ask one question; whatever the function raises becomes the reason of a failed reply."""
        return self._complete(request, float("inf"))

    def _complete(self, request: Request, end: float) -> Reply:
        """Ask one question, unless another asks the same and has not been answered before the `end`."""
        key = request.fingerprint("function", self.model)
        if time.monotonic() > end:
            return _LATE
        if self._cache is None:
            return replace(self._ask(request), key=key, cost=Cost())
        recall = Chat(request, self.model, OTHER).recall
        with self._cache.claiming() as claimed:
            waits = poll_intervals()
            while not (state := claimed.take([key], recall)[key]):
                left = end - time.monotonic()
                if left < 0:
                    return replace(_LATE, key=key)
                time.sleep(min(next(waits), left))
            if isinstance(state, Reply):
                return state
            reply = replace(self._ask(request), key=key, cost=Cost())
            if reply.ok or reply.reason == POLICY["unfit"].reason:
                self._cache.put(key, reply, host="function", model=self.model).result()
            return reply

    def _ask(self, request: Request) -> Reply:
        job, calls = Chat(request, self.model, OTHER), 0
        while True:
            calls += 1
            sent = job.body(_FENCED)["messages"] if request.schema is not None else job.request.messages
            answer = self._call(replace(job.request, messages=sent))
            if isinstance(answer, Reply):
                return replace(answer, calls=calls)
            kind, reply = job.read({"choices": [{"message": {"content": answer}, "finish_reason": "stop"}]}, _FENCED)
            if kind is None:
                return replace(reply, calls=calls, repaired=calls > 1)
            if POLICY[kind].action != "repair" or calls >= POLICY[kind].attempts:
                return replace(reply, status="failed", reason=POLICY[kind].reason, calls=calls)
            job = job.repair(reply)

    def _call(self, request: Request) -> str | Reply:
        try:
            answer = self._answer(request)
        except Exception as error:  # noqa: BLE001 - a user's function may raise anything; the run goes on
            return failure("error", f"{type(error).__name__}: {error}"[:300])
        if isinstance(answer, (str, Reply)):
            return mend_surrogates(answer) if isinstance(answer, str) else answer
        return failure("error", say("reply.function", kind=type(answer).__name__))

    def complete_many(
        self,
        requests: Iterable[Request],
        *,
        total: int | None = None,
        progress: Callable[[Progress], object] | None = None,
        deadline: float | None = None,
    ) -> Iterator[tuple[int, Reply]]:
        """Ask many questions on several threads; `deadline` bounds the run, but breaks off no call."""
        tally = Tally(len(requests) if total is None and isinstance(requests, Sized) else total, "USD")
        for number, reply in self._replies(requests, deadline):
            tally.count(reply)
            if progress is not None:
                progress(tally.progress)
            yield number, reply

    def _replies(self, requests: Iterable[Request], deadline: float | None) -> Iterator[tuple[int, Reply]]:
        end = float("inf") if deadline is None else time.monotonic() + deadline
        replies: queue.SimpleQueue[tuple[int, Reply]] = queue.SimpleQueue()

        def work(number: int, request: Request) -> None:
            replies.put((number, self._complete(request, end)))

        waiting = 0
        pool = ThreadPoolExecutor(self._workers, thread_name_prefix="assay-function")
        try:
            for number, request in enumerate(requests):
                pool.submit(work, number, request)
                waiting += 1
                if waiting >= 4 * self._workers:
                    waiting -= 1
                    yield replies.get()
                with suppress(queue.Empty):
                    while waiting:
                        yield replies.get_nowait()
                        waiting -= 1
            for _ in range(waiting):
                yield replies.get()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
