"""Randomised Tukey HSD: all pairs of treatments, the family-wise error held; and the letters that show its outcome."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import permutations
from string import ascii_lowercase
from typing import TYPE_CHECKING

import numpy as np

from assay.errors import UsageError
from assay.messages import say
from assay.stats.inputs import (
    EQUAL,
    Bools,
    Floats,
    Ints,
    check_share,
    check_whole,
    cluster_codes,
    relative_weights,
    table,
)
from assay.stats.moments import exact_sum, scale_of
from assay.stats.resampling import as_integers, map_blocks, stream, sum_clusters

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

_BLOCK = 128  # resamples
_SLAB = 2048  # values of a column that are relabelled at a time: what is added up stays in the cache
_LEAST = 2
_LISTED = 8  # up to so many treatments, a table of all orders is quicker than sorting


@dataclass(frozen=True, eq=False)
class Tukey:
    """Outcome for each column c: `difference[c, i, j]` is mean i - mean j, `pvalue[c, i, j]` its family-wise p.

    `critical_difference[c]` is what a difference must exceed for p <= 1 - confidence_level; it is NaN where
    `n_resamples` is too small for any p to be that low. A column without complete rows (`n` = 0) has p = 1 and NaN for
    the rest.
    """

    mean: Floats
    difference: Floats
    pvalue: Floats
    critical_difference: Floats
    n: Ints
    confidence_level: float
    n_resamples: int
    rng: int


def randomised_tukey(
    values: ArrayLike,
    *,
    weights: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    confidence_level: float = 0.95,
    n_resamples: int = 10_000,
    rng: int = 0,
    threads: int | None = None,
) -> Tukey:
    """Compare all pairs of treatments by the largest difference that relabelled rows show (Carterette 2012).

    `values` has the axes row, treatment, column; weights belong to rows; a row in which a treatment is NaN is left out
    of that column. In each resample every row's treatments change labels at random, the same for all columns; p of a
    pair is (c + 1)/(B + 1) with c the number of resamples whose range of means reaches the pair's difference (to 1e-12
    relative). The rows of one cluster change their labels together.
    """
    check_share(confidence_level, "confidence_level")
    n_resamples, rng = check_whole(n_resamples, "n_resamples", least=1), check_whole(rng, "rng", least=0)
    cube = table(values, "values", dimensions=3)
    if cube.shape[1] < _LEAST:
        raise UsageError(
            say("Tukey's test needs at least {least} treatments, not {found}", least=_LEAST, found=cube.shape[1])
        )
    sample = _complete(cube, relative_weights(weights, len(cube)))
    reach = sample.above.max(axis=1, keepdims=True)
    integers, exponent = as_integers(sample.above, reach)
    integers = sum_clusters(integers, cluster_codes(clusters, len(cube)))
    ranges = np.sort(_ranges(integers, n_resamples, rng, threads), axis=0)
    critical = np.ldexp(_critical(ranges, 1 - confidence_level), exponent[0] + sample.scale)
    with np.errstate(invalid="ignore"):  # as above
        critical /= sample.total
    difference = sample.mean[:, :, None] - sample.mean[:, None]
    pvalue = _pvalues(integers, ranges)
    return Tukey(sample.mean, difference, pvalue, critical, sample.n, confidence_level, n_resamples, rng)


@dataclass(frozen=True)
class _Complete:
    """Rows of which every treatment is present: how far each value lies above its row's least, times the weight.

    Rows that are not complete are all 0 and so have no effect; `above` is scaled by 2^-scale.
    """

    above: Floats
    scale: Ints
    total: Floats
    n: Ints
    mean: Floats


def _complete(cube: Floats, weights: Floats | None) -> _Complete:
    complete: Bools = np.all(~np.isnan(cube), axis=1)
    if weights is not None:
        complete &= (weights > 0)[:, None]
    shares: Floats = np.where(complete, 1.0 if weights is None else weights[:, None], 0.0)
    filled = np.where(complete[:, None], cube, 0.0)
    scale = scale_of(np.abs(filled).max(axis=1))
    scaled = np.ldexp(filled, -scale)
    total = np.array([exact_sum(column) for column in shares.T])
    weighted = (scaled * shares[:, None]).transpose(2, 1, 0)
    sums = np.array([[exact_sum(treatment) for treatment in column] for column in weighted]).reshape(weighted.shape[:2])
    with np.errstate(invalid="ignore"):  # 0/0 for a column without rows is the NaN it documents
        mean: Floats = np.ldexp(sums / total[:, None], scale[:, None])
    above = (scaled - scaled.min(axis=1, keepdims=True)) * shares[:, None]
    return _Complete(above, scale, total, np.sum(complete, axis=0), mean)


def _ranges(integers: Floats, n_resamples: int, rng: int, threads: int | None) -> Floats:
    """Largest minus smallest sum of the relabelled treatments, for each resample and column."""
    n, k, m = integers.shape
    rows = max(1, _SLAB // k)

    def block(number: int) -> Floats:
        source = stream(rng, number)
        sums = np.zeros((_BLOCK, k, m))
        for start in range(0, n, rows):
            sums += _sums_by_label(integers[start : start + rows], source)
        ranges: Floats = np.ptp(sums, axis=1)
        return ranges

    return np.concatenate(map_blocks(block, -(-n_resamples // _BLOCK), threads))[:n_resamples]


def _sums_by_label(values: Floats, source: np.random.Philox) -> Floats:
    """Sums of what each label gets in each resample of a block, for each column."""
    from scipy.sparse import csr_array

    n, k, m = values.shape

    def words(*shape: int) -> NDArray[np.uint64]:
        return source.random_raw(math.prod(shape)).reshape(shape)

    orders = _pick_orders(words(_BLOCK, n), k) if k <= _LISTED else _shuffle_labels(words(_BLOCK, n, k))
    places = orders + np.arange(n, dtype=np.int32)[:, None] * np.int32(k)
    # One row of the sparse matrix adds up what one label gets in one resample.
    columns, ends = places.transpose(0, 2, 1).ravel(), np.arange(_BLOCK * k + 1) * n
    chooser = csr_array((np.ones(len(columns)), columns, ends), shape=(_BLOCK * k, n * k))
    sums: Floats = (chooser @ values.reshape(n * k, m)).reshape(_BLOCK, k, m)
    return sums


def _pick_orders(words: NDArray[np.uint64], k: int) -> NDArray[np.int32]:
    """One of all orders of k labels for each random word."""
    orders = np.array(list(permutations(range(k))), dtype=np.int32)
    chosen = ((words >> np.uint64(16)) * np.uint64(len(orders))) >> np.uint64(48)
    return np.take(orders, chosen.astype(np.intp), axis=0)


def _shuffle_labels(words: NDArray[np.uint64]) -> NDArray[np.int32]:
    """Order of the labels along the last axis: random keys whose last bits are the label, sorted."""
    k = words.shape[-1]
    label = np.uint64(2 ** (k - 1).bit_length() - 1)
    keys = (words & ~label) | np.arange(k, dtype=np.uint64)
    keys.sort(axis=-1)
    return (keys & label).astype(np.int32)


def _pvalues(integers: Floats, ranges: Floats) -> Floats:
    """Find p of every pair in every column from the sorted ranges."""
    n_resamples = len(ranges)
    sums = integers.sum(axis=0).T
    margin = EQUAL * integers.max(axis=1).sum(axis=0)
    least = np.abs(sums[:, :, None] - sums[:, None]) - margin[:, None, None]
    below = [np.searchsorted(column, wanted) for column, wanted in zip(ranges.T, least, strict=True)]
    found: Floats = (n_resamples - np.array(below).reshape(least.shape) + 1) / (n_resamples + 1)
    return found


def _critical(ranges: Floats, alpha: float) -> Floats:
    """Largest of the sorted ranges that is still not significant."""
    allowed = math.floor(alpha * (len(ranges) + 1) + 1e-9) - 1
    if allowed < 0:
        return np.full(ranges.shape[1], np.nan)
    found: Floats = ranges[len(ranges) - 1 - allowed]
    return found


def compact_letters(significant: ArrayLike, order: Sequence[int] | None = None) -> list[str]:
    """Letters of each treatment ("a", "ab", "b" ...), in the order of the matrix; "a" starts at the first of `order`.

    This is the compact letter display: two treatments share a letter exactly when `significant` is false for them.
    Letters go from a to z and on with a1 to z1, a2 ..., so a string of them can always be read back (Piepho 2004:
    insert and absorb).
    """
    matrix = np.asarray(significant, dtype=bool)
    n = len(matrix)
    if matrix.shape != (n, n) or not np.array_equal(matrix, matrix.T) or matrix.diagonal().any():
        raise UsageError(
            say("the matrix of significant differences must be square and symmetric, and false on its diagonal")
        )
    places = list(range(n)) if order is None else list(order)
    if sorted(places) != list(range(n)):
        raise UsageError(say("order must name each of the {treatments} treatments once", treatments=n))
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
