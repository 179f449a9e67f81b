"""Closed and open loops on threads."""

from __future__ import annotations

import gc
import math
import threading
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from assay.serving.functions import Function
from assay.serving.records import Clock, LoadPlan, LoadTarget, Log, Progress, Timing, gather
from assay.serving.schedule import Schedule, check_warm

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    Call = Callable[[Any], object]
    Glance = Callable[[float], float]  # now -> when to look again

_GLANCE = 0.1  # seconds between two looks at the progress
_PATIENCE = 5.0  # seconds that an interrupted load waits for calls under way


def run(
    plan: LoadPlan,
    target: LoadTarget,
    calls: Sequence[Any],
    *,
    clock: Clock | None = None,
    progress: Progress | None = None,
) -> Timing:
    """Put a load on a target; Ctrl-C ends it and what was measured so far is kept."""
    if progress is not None:
        progress(0, 0.0)  # the warm-up may take a while
    with nullcontext() if isinstance(target, Function) else _without_old_garbage():
        if target.is_async:
            from assay.serving.tasks import run_tasks

            return run_tasks(plan, target, calls, progress=progress)
        schedule, clock = Schedule(plan), clock or Clock()
        one = plan.threads == 1
        return (_in_this_thread if one else _in_threads)(
            schedule, target, calls, clock, progress or (lambda _done, _seconds: None)
        )


@contextmanager
def _without_old_garbage() -> Iterator[None]:
    """Keep the garbage collection away from all that is there before: to go through it takes tens of milliseconds.

    They are no part of what a server or a command takes; a function of this process has such pauses in service, too.
    What the calls leave behind is still collected. What others have frozen stays as it is.
    """
    if gc.get_freeze_count():
        yield
        return
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def _in_this_thread(
    schedule: Schedule, target: LoadTarget, calls: Sequence[Any], clock: Clock, progress: Progress
) -> Timing:
    """Run one worker on the calling thread: what is bound to this thread works, and no other thread disturbs it."""
    log, warm, interrupted, plan = Log(), Log(), False, schedule.plan

    def glance(now: float) -> float:
        progress(log.done, now - schedule.start)
        return now + _GLANCE

    try:
        with target.open(clock) as call:
            _warm(call, calls, plan.warmup, clock, warm)
            check_warm([warm])
            schedule.begin(clock.now())
            _work(schedule, call, calls, clock, log, glance=glance)
    except KeyboardInterrupt:
        interrupted = True
    return _timing(schedule, [log], interrupted=interrupted)


def _in_threads(
    schedule: Schedule, target: LoadTarget, calls: Sequence[Any], clock: Clock, progress: Progress
) -> Timing:
    plan = schedule.plan
    logs, warm = [Log() for _ in range(plan.threads)], [Log() for _ in range(plan.threads)]
    share = math.ceil(plan.warmup / plan.threads)
    ready, go = threading.Semaphore(0), threading.Event()
    broken: list[BaseException] = []

    def worker(place: int) -> None:
        try:
            with target.open(clock) as call:
                _warm(call, calls, share, clock, warm[place])
                ready.release()
                go.wait()
                _work(schedule, call, calls, clock, logs[place])
        except BaseException as error:  # noqa: BLE001 - raised again on the calling thread
            broken.append(error)
            ready.release()

    threads = [threading.Thread(target=worker, args=(i,), daemon=True) for i in range(plan.threads)]
    interrupted = False
    try:
        for thread in threads:
            thread.start()
        for _ in threads:
            ready.acquire()
        _check(broken, warm)
        schedule.begin(clock.now())
        go.set()
        while alive := [thread for thread in threads if thread.is_alive()]:
            progress(sum(log.done for log in logs), clock.now() - schedule.start)
            alive[0].join(_GLANCE)
    except KeyboardInterrupt:
        interrupted = True
    finally:
        if not go.is_set() or interrupted:
            schedule.stop.set()
        go.set()
        for thread in threads:
            thread.join(_PATIENCE if interrupted else None)
    _check(broken, ())
    return _timing(schedule, logs, interrupted=interrupted)


def _check(broken: Sequence[BaseException], warm: Sequence[Log]) -> None:
    if broken:
        raise broken[0]
    check_warm(warm)


def _timing(schedule: Schedule, logs: Sequence[Log], *, interrupted: bool) -> Timing:
    done = sum(log.done for log in logs)
    given_up = interrupted or schedule.hopeless or schedule.offsets is None
    left = 0 if given_up else schedule.limit - done
    return gather(
        schedule.plan, logs, schedule.start, not_started=left, interrupted=interrupted, hopeless=schedule.hopeless
    )


def _warm(call: Call, calls: Sequence[Any], count: int, clock: Clock, log: Log) -> None:
    for number in range(count):
        begun = clock.now()
        try:
            call(calls[number % len(calls)])
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - whatever a target raises is a failed call
            log.fail(error, begun, clock.now())
        else:
            log.add(begun, begun, clock.now())


def _work(
    schedule: Schedule, call: Call, calls: Sequence[Any], clock: Clock, log: Log, *, glance: Glance | None = None
) -> None:
    """Make calls until there are none left. Only `call` is between the two readings of the clock."""
    now, sleep, size = clock.now, clock.sleep, len(calls)
    look = math.inf if glance is None else schedule.start
    while (number := schedule.next()) is not None:
        begun = now()
        due = schedule.due(number, begun)
        if due > begun:
            sleep(due - begun)
            begun = now()
        if schedule.is_over(begun):
            return
        try:
            got = call(calls[number % size])
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - whatever a target raises is a failed call
            ended = now()
            log.fail(error, begun, ended)
            schedule.fail()
        else:
            ended = now()
            log.add(due, begun, ended, got)
            schedule.note_success()
        if ended >= look and glance is not None:
            look = glance(ended)
