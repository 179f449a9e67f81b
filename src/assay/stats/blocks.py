"""Random numbers by block: block 7 of a seed is the same whatever computes it, so threads change nothing."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from assay.stats.inputs import whole

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


def stream(rng: int, block: int) -> np.random.Philox:
    """Open the stream of a block: Philox is a function of key (the seed) and counter (whose last word is the block)."""
    key = np.random.SeedSequence(whole(rng, "rng", least=0)).generate_state(2, np.uint64)
    return np.random.Philox(key=key, counter=np.array([0, 0, 0, block], dtype=np.uint64))


def map_blocks(work: Callable[[int], T], count: int, threads: int | None) -> list[T]:
    """Do the work of blocks 0 ... count - 1 on so many threads (None: one per processor) and keep their order."""
    threads = min(count, (os.cpu_count() or 1) if threads is None else whole(threads, "threads", least=1))
    if threads <= 1:
        return [work(block) for block in range(count)]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(work, range(count)))
