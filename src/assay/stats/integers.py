"""Floats on a grid of integers: sums are exact, so no order of adding, thread or machine changes a bit of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from assay.stats.inputs import Floats, Ints

_BITS = 52


def as_integers(values: Floats, reach: Floats) -> tuple[Floats, Ints]:
    """Round along the first axis to multiples of a power of two so fine that sums just fit into a float's 53 bits.

    `reach` bounds what a row can add to a sum. Returns the integers, as floats, and the exponent of the grid. Rounding
    moves a sum by some 1e-14 of the summed `reach`, well within the 1e-12 that count as equal.
    """
    largest = np.frexp(reach.max(axis=0, initial=0.0))[1]
    width = np.frexp(np.ldexp(reach, -largest).sum(axis=0))[1]
    rounded: Floats = np.rint(np.ldexp(np.ldexp(values, -largest), _BITS - width))
    return rounded, (largest + width - _BITS).astype(np.int64)
