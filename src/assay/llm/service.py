"""Start the engine with the first request that is not in the cache, and stop it when it is no longer needed.

It runs on an event loop with a thread of its own, so that notebooks, other loops and plain scripts can all wait for it.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
import weakref
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, TypeVar

from assay.llm.engine import Engine
from assay.llm.flights import ReplyQueue, RequestGroup
from assay.llm.records import failure
from assay.messages import say

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence

    from assay.llm.budget import Ledger
    from assay.llm.engine import Configuration
    from assay.llm.jobs import Job
    from assay.llm.records import Reply

    Link = tuple["LoopThread", Engine]
    Item = tuple[str, Job, Callable[[Reply], None]]

T = TypeVar("T")
_CHUNK = 256  # requests looked up in the cache together
_AHEAD = 1024  # requests that may wait for an answer at the same time


class LoopThread:
    """Runs coroutines and callbacks for other threads until it is stopped."""

    def __init__(self, name: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        self._loop.run_forever()
        self._loop.run_until_complete(_clear())
        self._loop.close()

    def soon(self, action: Callable[..., object], *arguments: object) -> bool:
        """Call a function on the loop; False when it has ended."""
        try:
            self._loop.call_soon_threadsafe(action, *arguments)
        except RuntimeError:
            return False
        return True

    def wait(self, work: Coroutine[object, object, T]) -> T:
        """Run a coroutine on the loop and wait for its result here."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def later(self, seconds: float, action: Callable[[], object]) -> None:
        """Call a function on the loop after a while."""
        self.soon(self._loop.call_later, seconds, action)

    def stop(self, last: Callable[[], Coroutine[object, object, None]]) -> None:
        """Do one last thing, then end the loop and its thread."""

        async def end() -> None:
            try:
                await last()
            finally:
                self._loop.stop()

        if self.soon(lambda: self._loop.create_task(end())) and threading.current_thread() is not self._thread:
            self._thread.join()


async def _clear() -> None:
    left = asyncio.all_tasks() - {asyncio.current_task()}
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)
    await asyncio.get_running_loop().shutdown_asyncgens()
    await asyncio.get_running_loop().shutdown_default_executor()


class Service:
    """Answers requests from the cache or by an engine on a thread of its own; threads and forks may share it."""

    def __init__(self, settings: Configuration, ledger: Ledger) -> None:
        self.settings, self.ledger = settings, ledger
        self._past_calls = 0
        self._start()

    def _start(self) -> None:
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._link: Link | None = None
        self._end: Callable[[], object] = _nothing

    @property
    def calls(self) -> int:
        """HTTP calls so far."""
        return self._past_calls + (0 if self._link is None else self._link[1].calls)

    def look_up(self, keys: Sequence[str]) -> dict[str, Reply]:
        """Look replies up in the cache."""
        return {} if self.settings.cache is None else self.settings.cache.get_many(keys)

    def serve(
        self, jobs: Iterable[tuple[str, Job]], deadline: float | None, *, keep: bool = True, ahead: int | None = None
    ) -> Iterator[tuple[int, Reply]]:
        """Give the replies to jobs with their keys, numbered, as they come."""
        most = _AHEAD if ahead is None else ahead - 1
        batch = RequestGroup()
        basket = ReplyQueue(batch)
        end = None if deadline is None else time.monotonic() + deadline
        link: Link | None = None
        number = waiting = 0
        try:
            for chunk in chunks(jobs) if ahead is None else ([job] for job in jobs):
                found = self.look_up([key for key, _ in chunk]) if keep else {}
                new: list[Item] = []
                for key, job in chunk:
                    kept = job.recall(found[key]) if key in found else None
                    if kept is not None:
                        yield number, kept
                    else:
                        new.append((key, job, partial(basket.add, number)))
                    number += 1
                if new:
                    link = link or self._link_for(batch, end)
                    _submit(link, batch, new, keep=keep)
                    waiting += len(new)
                while waiting > most:
                    some = basket.take()
                    waiting -= len(some)
                    yield from some
            while waiting:
                some = basket.take()
                waiting -= len(some)
                yield from some
        finally:
            if self.settings.cache is not None:
                self.settings.cache.tell_damage()
            if link is not None:
                link[0].soon(batch.end, failure("cancelled", say("reply.caller_gone")))

    def _link_for(self, batch: RequestGroup, end: float | None) -> Link:
        link = self._running()
        if end is not None:
            late = partial(batch.end, failure("deadline", say("reply.run_over")))
            link[0].later(max(end - time.monotonic(), 0.0), late)
        return link

    def _running(self) -> Link:
        if self._pid != os.getpid():
            # After a fork the thread, the connections and the calls under way are the parent's.
            self._start()
            self.ledger.forget_calls()
        with self._lock:
            if self._link is None:
                thread = LoopThread("assay-llm")
                self._link = thread, thread.wait(_start_engine(self.settings, self.ledger))
                # Also when the client is forgotten, or the program ends: what is under way is paid for.
                self._end = weakref.finalize(self, _end_engine, os.getpid(), *self._link)
            return self._link

    def close(self) -> None:
        """Send nothing more, wait for the answers that are under way, and close the connections."""
        if self._pid != os.getpid():
            return
        with self._lock:
            link, self._link = self._link, None
        self._end()
        if link is not None:
            self._past_calls += link[1].calls


async def _start_engine(settings: Configuration, ledger: Ledger) -> Engine:
    return Engine(settings, ledger)


def _end_engine(pid: int, thread: LoopThread, engine: Engine) -> None:
    if pid == os.getpid():
        thread.stop(engine.close)


def _nothing() -> None:
    """Nothing to end."""


def _submit(link: Link, batch: RequestGroup, items: list[Item], *, keep: bool) -> None:
    thread, engine = link

    def submit_all() -> None:
        for key, job, deliver in items:
            engine.submit(batch, key, job, deliver, keep=keep)

    if not thread.soon(submit_all):
        for _, _, deliver in items:
            deliver(failure("cancelled", say("reply.closed")))


def chunks(items: Iterable[T]) -> Iterator[list[T]]:
    """Take items some at a time."""
    source = iter(items)
    while chunk := list(islice(source, _CHUNK)):
        yield chunk
