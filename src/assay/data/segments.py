"""Arithmetic over segments: flat arrays whose rows belong to groups numbered 0, 1, 2 ... in ascending order.

Every measure is written with these few functions, so that no measure loops over queries or ranks.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

_CELLS = 4_000_000

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


def count(group: Ints, size: int) -> Ints:
    """Count the rows of each of `size` groups."""
    return np.bincount(group, minlength=size)


def total(values: NDArray[Any], group: Ints, size: int) -> Floats:
    """Sum the values of each of `size` groups."""
    out: Floats = np.bincount(group, weights=values, minlength=size).astype(np.float64, copy=False)
    return out


def starts(group: Ints, size: int) -> Ints:
    """Row at which each group begins (for an empty group: where it would)."""
    return np.searchsorted(group, np.arange(size))


def changes(values: NDArray[Any]) -> Bools:
    """Mark the values that differ from the one before; the first does."""
    found = np.ones(len(values), dtype=bool)
    found[1:] = values[1:] != values[:-1]
    return found


def ordinals(group: Ints) -> Ints:
    """Number the rows of each group 1, 2, 3 ... (rows of a group must be adjacent)."""
    rows = np.arange(len(group))
    return rows - np.maximum.accumulate(np.where(changes(group), rows, 0)) + 1


def order(group: Ints, *keys: NDArray[Any]) -> Ints:
    """Numbers of the rows by rising group (0, 1, 2 ...), then by the first key, and so on; equal ones as they are."""
    # The last sort decides; integers of 16 bits are sorted in a fraction of the time.
    last = group.astype(np.uint16) if group.max(initial=0) < 1 << 16 else group
    found = np.arange(len(group))
    for key in (*reversed(keys), last):
        found = found[np.argsort(key[found], kind="stable")]
    return found


def tally(mask: Bools, group: Ints) -> Ints:
    """Count the marked rows of each group up to and including each row (rows of a group must be adjacent)."""
    if not len(mask):
        return np.zeros(0, dtype=np.int64)
    sums = np.cumsum(mask, dtype=np.int64)
    first = np.flatnonzero(changes(group))
    before = sums[first] - mask[first]
    return sums - np.repeat(before, np.diff(np.append(first, len(group))))


def running(values: NDArray[Any], group: Ints, *, product: bool = False) -> Floats:
    """Sum (or multiply) the values of each group up to and including each row (rows of a group must be adjacent).

    Groups are laid out as the rows of a matrix and accumulated there, longest first and a few million cells at a
    time. One cumulative sum over all groups would be shorter, but it carries the rounding of every earlier group.
    """
    out = np.empty(len(values), dtype=np.float64)
    if not len(values):
        return out
    accumulate = np.multiply.accumulate if product else np.add.accumulate
    first = np.flatnonzero(changes(group))
    length = np.diff(np.append(first, len(group)))
    longest = np.argsort(-length, kind="stable")
    done = 0
    while done < len(longest):
        width = int(length[longest[done]])
        block = longest[done : done + max(1, _CELLS // width)]
        column = np.arange(width)
        inside = column < length[block][:, None]
        cells = (first[block][:, None] + column)[inside]
        matrix = np.zeros(inside.shape)
        matrix[inside] = values[cells]
        out[cells] = accumulate(matrix, axis=1)[inside]
        done += len(block)
    return out


def ratio(numerator: NDArray[Any], denominator: NDArray[Any], empty: float = 0.0) -> Floats:
    """Divide, with `empty` where the denominator is 0."""
    numerator, denominator = np.asarray(numerator, dtype=np.float64), np.asarray(denominator, dtype=np.float64)
    out: Floats = np.full(np.broadcast(numerator, denominator).shape, empty)
    np.divide(numerator, denominator, out=out, where=denominator != 0)
    return out
