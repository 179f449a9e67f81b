"""Closed and open loops of coroutines, on an event loop of their own."""

from __future__ import annotations

import asyncio
import math
import threading
import time
from typing import TYPE_CHECKING, Any

from assay.messages import say
from assay.serving.records import CallFailed, LoadPlan, LoadTarget, Log, Progress, Timing, gather
from assay.serving.schedule import Schedule, check_warm

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    Call = Callable[[Any], Awaitable[object]]

_GLANCE = 0.1
_PATIENCE = 5.0
_WATCH = 0.05  # seconds between two looks for calls that take too long
_COARSE = 0.002  # seconds that an event loop may sleep too long; the rest is waited out in small steps


def run_tasks(plan: LoadPlan, target: LoadTarget, calls: Sequence[Any], *, progress: Progress | None) -> Timing:
    """Put a load on a coroutine function; the calling thread, which may have a loop of its own, only waits."""
    load = _Load(Schedule(plan), target, calls)
    thread = threading.Thread(target=load.run, daemon=True)
    thread.start()
    interrupted = False
    try:
        while thread.is_alive():
            thread.join(_GLANCE)
            if progress is not None and load.schedule.start:
                progress(load.log.done, time.perf_counter() - load.schedule.start)
    except KeyboardInterrupt:
        interrupted = True
        load.cancel()
        thread.join(_PATIENCE)
    if load.broken is not None and not interrupted:
        raise load.broken
    schedule = load.schedule
    given_up = interrupted or schedule.hopeless or schedule.offsets is None
    left = 0 if given_up else schedule.limit - load.log.done
    return gather(
        plan, [load.log], schedule.start, not_started=left, interrupted=interrupted, hopeless=schedule.hopeless
    )


class _Load:
    """One load and the loop that it runs on."""

    def __init__(self, schedule: Schedule, target: LoadTarget, calls: Sequence[Any]) -> None:
        self.schedule, self.target, self.calls = schedule, target, calls
        self.log, self.broken = Log(), None  # type: tuple[Log, BaseException | None]
        self._begun: dict[asyncio.Task[Any], float] = {}  # when each worker's call began; never, between calls
        self._late: set[asyncio.Task[Any]] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._main: asyncio.Task[None] | None = None

    def run(self) -> None:
        """Run to the end on this thread."""
        try:
            asyncio.run(self._all())
        except asyncio.CancelledError:
            pass
        except BaseException as error:  # noqa: BLE001 - raised again on the calling thread
            self.broken = error

    def cancel(self) -> None:
        """Break off all calls, from another thread."""
        self.schedule.stop.set()
        if self._loop is not None and self._main is not None:
            self._loop.call_soon_threadsafe(self._main.cancel)

    async def _all(self) -> None:
        self._loop, self._main = asyncio.get_running_loop(), asyncio.current_task()
        plan = self.schedule.plan
        watch = self._loop.create_task(self._watch())
        try:
            with self.target.open() as call:
                warm, share = Log(), math.ceil(plan.warmup / plan.threads)
                await asyncio.gather(*(self._warm(call, share, warm) for _ in range(plan.threads)))
                check_warm([warm])
                self.schedule.begin(time.perf_counter())
                await asyncio.gather(*(self._work(call) for _ in range(plan.threads)))
        finally:
            watch.cancel()

    async def _watch(self) -> None:
        """Break off calls that take too long; one watch for all costs less than a timer for each."""
        timeout = self.schedule.plan.timeout
        while True:
            await asyncio.sleep(min(_WATCH, timeout / 4))
            latest = time.perf_counter() - timeout
            for worker in [worker for worker, begun in self._begun.items() if begun < latest]:
                self._late.add(worker)
                worker.cancel()

    async def _warm(self, call: Call, count: int, log: Log) -> None:
        worker = _current()
        for number in range(count):
            begun = time.perf_counter()
            error, _ = await self._one(call, number, worker, begun)
            ended = time.perf_counter()
            log.add(begun, begun, ended) if error is None else log.fail(error, begun, ended)

    async def _one(
        self, call: Call, number: int, worker: asyncio.Task[Any], begun: float
    ) -> tuple[BaseException | None, object]:
        """Make a call and return its result, or its error as the outcome, unless we are being cancelled."""
        self._begun[worker] = begun
        try:
            got = await call(self.calls[number % len(self.calls)])
        except (KeyboardInterrupt, asyncio.CancelledError) as error:
            if self.schedule.stop.is_set() or isinstance(error, KeyboardInterrupt):
                raise
            return self._in_time(worker, error), None
        except BaseException as error:  # noqa: BLE001 - whatever a target raises is a failed call
            return self._in_time(worker, error), None
        else:
            return self._in_time(worker, None) if self._late else None, got
        finally:
            self._begun[worker] = math.inf

    def _in_time(self, worker: asyncio.Task[Any], outcome: BaseException | None) -> BaseException | None:
        """Turn the outcome of a call that was broken off into a timeout."""
        if worker not in self._late:
            return outcome
        self._late.discard(worker)
        worker.uncancel()
        return CallFailed("timeout", say("load.no_answer", seconds=self.schedule.plan.timeout))

    async def _work(self, call: Call) -> None:
        schedule, now, worker = self.schedule, time.perf_counter, _current()
        while (number := schedule.next()) is not None:
            begun = now()
            due = schedule.due(number, begun)
            if due > begun:
                await _sleep_until(due)
                begun = now()
            if schedule.is_over(begun):
                return
            error, got = await self._one(call, number, worker, begun)
            ended = now()
            if error is None:
                self.log.add(due, begun, ended, got)
                schedule.note_success()
                continue
            self.log.fail(error, begun, ended)
            schedule.fail()
            await asyncio.sleep(0)  # a call that fails at once must not keep the others from their turn


def _current() -> asyncio.Task[Any]:
    task = asyncio.current_task()
    assert task is not None
    return task


async def _sleep_until(due: float) -> None:
    """Sleep to the millisecond, then let others run until the moment has come."""
    left = due - time.perf_counter()
    if left > _COARSE:
        await asyncio.sleep(left - _COARSE)
    while time.perf_counter() < due:  # noqa: ASYNC110 - there is no event but the time
        await asyncio.sleep(0)
