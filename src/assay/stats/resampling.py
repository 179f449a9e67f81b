"""What makes resampling repeatable: neither threads nor the order of adding change a bit of what it finds.

Random numbers come by block: block 7 of a seed is the same whatever computes it. Floats are put on a grid of integers:
their sums are exact, whatever the order, the thread or the machine.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from assay.stats.inputs import Floats, Ints, check_whole

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")
_BITS = 52  # of the sums, so that a float holds them


def stream(rng: int, block: int) -> np.random.Philox:
    """Open the stream of a block: Philox is a function of key (the seed) and counter (whose last word is the block)."""
    key = np.random.SeedSequence(check_whole(rng, "rng", least=0)).generate_state(2, np.uint64)
    return np.random.Philox(key=key, counter=np.array([0, 0, 0, block], dtype=np.uint64))


def map_blocks(work: Callable[[int], T], count: int, threads: int | None) -> list[T]:
    """Do the work of blocks 0 ... count - 1 on so many threads (None: one per processor) and keep their order."""
    threads = min(count, (os.cpu_count() or 1) if threads is None else check_whole(threads, "threads", least=1))
    if threads <= 1:
        return [work(block) for block in range(count)]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(work, range(count)))


def as_integers(values: Floats, reach: Floats) -> tuple[Floats, Ints]:
    """Round along the first axis to multiples of a power of two so fine that sums just fit into a float's 53 bits.

    `reach` bounds what a row can add to a sum. Returns the integers, as floats, and the exponent of the grid. Rounding
    moves a sum by some 1e-14 of the summed `reach`, well within the 1e-12 that count as equal.
    """
    largest = np.frexp(reach.max(axis=0, initial=0.0))[1]
    width = np.frexp(np.ldexp(reach, -largest).sum(axis=0))[1]
    rounded: Floats = np.rint(np.ldexp(np.ldexp(values, -largest), _BITS - width))
    return rounded, (largest + width - _BITS).astype(np.int64)


def sum_clusters(rows: Floats, codes: Ints | None) -> Floats:
    """Add up the rows of each cluster, which is exact for integers; without clusters, the rows as they are."""
    if codes is None or not len(rows):
        return rows
    sums = np.zeros((int(codes.max()) + 1, *rows.shape[1:]))
    np.add.at(sums, codes, rows)
    return sums
