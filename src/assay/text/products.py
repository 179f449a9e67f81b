"""Lengths and products of vectors that come out the same on every processor.

Vectors are kept in single precision. A sum of 256 products in single precision differs in the seventh digit between
processors, because each adds in another order: a tie of two texts on one machine is a difference on the next, and a
test on ranks gives another p. Products are computed in double precision and rounded to nine digits, more than the
vectors have, so that equal stays equal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_DIGITS = 9


def unit_length(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Rows of length 1; a row of zeros stays one."""
    length = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))
    found: NDArray[np.float32] = (rows / np.maximum(length, 1e-12)[:, None]).astype(np.float32)
    return found


def cosines(one: NDArray[np.float32], other: NDArray[np.float32]) -> NDArray[np.float64]:
    """Cosine similarity of unit rows, each of one with each of the other; a row of zeros gives 0."""
    return np.clip((one.astype(np.float64) @ other.astype(np.float64).T).round(_DIGITS), -1.0, 1.0)


def products(rows: NDArray[np.float32], one: NDArray[np.float32]) -> NDArray[np.float64]:
    """The product of each row with one vector; equal rows have equal products."""
    found: NDArray[np.float64] = np.einsum("ij,j->i", rows, one, dtype=np.float64).round(_DIGITS)
    return found
