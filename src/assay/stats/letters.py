"""Compact letter display: treatments that share a letter are not significantly different."""

from __future__ import annotations

from string import ascii_lowercase
from typing import TYPE_CHECKING

import numpy as np

from assay.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike


def compact_letters(significant: ArrayLike, order: Sequence[int] | None = None) -> list[str]:
    """Letters of each treatment ("a", "ab", "b" ...), in the order of the matrix; "a" starts at the first of `order`.

    Two treatments share a letter exactly when `significant` is false for them. Letters go from a to z and on with a1 to
    z1, a2 ..., so a string of them can always be read back (Piepho 2004: insert and absorb).
    """
    matrix = np.asarray(significant, dtype=bool)
    n = len(matrix)
    if matrix.shape != (n, n) or not np.array_equal(matrix, matrix.T) or matrix.diagonal().any():
        raise UsageError("the matrix of significant differences must be square and symmetric, false on its diagonal")
    places = list(range(n)) if order is None else list(order)
    if sorted(places) != list(range(n)):
        raise UsageError(f"order must name each of the {n} treatments once")
    ranked = matrix[np.ix_(places, places)]
    groups = sorted(sorted(group) for group in _groups(ranked))
    found = [""] * n
    for number, group in enumerate(groups):
        for place in group:
            found[places[place]] += letter(number)
    return found


def letter(number: int) -> str:
    """Name the letter: 0 is a, 25 z, 26 a1, 51 z1, 52 a2."""
    turn, place = divmod(number, len(ascii_lowercase))
    return ascii_lowercase[place] + (str(turn) if turn else "")


def _groups(significant: np.ndarray[tuple[int, int], np.dtype[np.bool_]]) -> set[frozenset[int]]:
    """Largest sets without a significant pair: start with one set of all, part every pair, drop subsets."""
    groups = {frozenset(range(len(significant)))} if len(significant) else set()
    for i, j in np.argwhere(np.triu(significant)).tolist():
        split = {group for group in groups if i in group and j in group}
        parts = {group - {one} for group in split for one in (i, j)}
        kept = groups - split
        # A part can only lie within another part or within a group that was kept.
        groups = kept | {
            part
            for part in parts
            if not any(part < other for other in parts) and not any(part <= other for other in kept)
        }
    return groups
