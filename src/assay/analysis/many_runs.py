"""Several runs at once: each core has a process of its own where this one can be copied, else threads take turns."""

from __future__ import annotations

import os
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from concurrent.futures import Future

    from assay.data.judgments import Judgments

Item = TypeVar("Item")
Found = TypeVar("Found")
FEW = 8  # runs: not worth processes of their own
_MOST = 4  # threads: beyond that, they wait for each other
_TASKS = Path("/proc/self/task")  # the threads of this process, whoever started them; Linux alone lists them


def map_runs(
    function: Callable[[Item], Found], runs: Sequence[Item], judgments: Judgments, shared: Sequence[object] = ()
) -> Iterator[Found]:
    """What a function makes of each run, in their order; few are in work at a time, so that memory does not grow.

    What is found refers to the judgments and to what is `shared` as they are here, however it was found.
    """
    _ = judgments.pool.hashes, judgments.pool.spans  # made once, before there are threads or processes
    cores = os.cpu_count() or 1
    if len(runs) > FEW and cores > 1 and _can_copy():
        from assay.analysis.processes import map_in_processes

        return map_in_processes(function, runs, cores, (judgments, *shared))
    return _map_in_threads(function, runs, min(_MOST, cores))


def _can_copy() -> bool:
    """Return whether this process has a single thread: a copy has only the one that copies, and no locks of others."""
    try:
        return sum(1 for _ in _TASKS.iterdir()) == 1
    except OSError:
        return False


def _map_in_threads(function: Callable[[Item], Found], runs: Sequence[Item], threads: int) -> Iterator[Found]:
    from concurrent.futures import ThreadPoolExecutor

    waiting: deque[Future[Found]] = deque()
    with ThreadPoolExecutor(max_workers=threads) as workers:
        try:
            for run in runs:
                waiting.append(workers.submit(function, run))
                if len(waiting) > threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for one in waiting:
                one.cancel()
