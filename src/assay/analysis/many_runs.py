"""Several runs at once: while one is read, another is measured."""

from __future__ import annotations

import os
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from concurrent.futures import Future

    from assay.data.judgments import Judgments

Item = TypeVar("Item")
Found = TypeVar("Found")
_MOST = 4  # threads: beyond that, they wait for each other


def map_runs(function: Callable[[Item], Found], runs: Iterable[Item], judgments: Judgments) -> Iterator[Found]:
    """What a function makes of each run, in their order; few are in work at a time, so that memory does not grow."""
    _ = judgments.pool.hashes, judgments.pool.spans  # made once, before there are threads
    threads = min(_MOST, os.cpu_count() or 1)
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
