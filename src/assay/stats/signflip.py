"""Sign-flip permutation tests of many columns of differences at once, exact or Monte Carlo, and maxT over them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from assay.stats.inputs import (
    EQUAL,
    Alternative,
    Bools,
    Floats,
    Ints,
    check_choice,
    check_whole,
    cluster_codes,
    relative_weights,
    table,
)
from assay.stats.moments import exact_sum, scale_of
from assay.stats.resampling import as_integers, map_blocks, stream, sum_clusters

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

EXACT_UP_TO = 30
_BLOCK = 1024  # resamples; a multiple of 64, so that a block's signs are whole words
# Products of groups x rows x columns; up to 2^18 multiplications OpenBLAS does not call for other threads.
_GROUP, _ROWS, _COLUMNS, _PRODUCT = 32, 256, 128, 2**18


@dataclass(frozen=True, eq=False)
class SignFlip:
    """One entry per column: mean difference, p, p adjusted for all columns (maxT), pairs, and whether p is exact.

    A column without pairs or without a difference has p = 1 (and, without pairs, the mean NaN).
    """

    estimate: Floats
    pvalue: Floats
    adjusted: Floats
    n: Ints
    exact: Bools
    alternative: Alternative
    n_resamples: int
    rng: int


def sign_flip(
    differences: ArrayLike,
    *,
    weights: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    alternative: Alternative = "two-sided",
    n_resamples: int = 10_000,
    rng: int = 0,
    threads: int | None = None,
) -> SignFlip:
    """Test for each column whether its differences are as likely to have the other sign.

    `differences` has a row per unit and a column per comparison; NaN is an absent pair; weights belong to rows. The
    statistic is the (weighted) mean. A column with at most 30 differences other than 0 is tested exactly, p = c/2^n;
    else p = (c + 1)/(B + 1) over B = `n_resamples` random assignments of signs, the same ones for all columns.

    `adjusted` is step-down maxT (Westfall & Young 1993) over the same assignments, or over all 2^n where these are no
    more than B. Columns are compared by sum/sqrt(sum of squares), which rises with Student's t and, unlike it, is
    finite. Sums are exact and compared to 1e-12 relative: the result does not depend on threads, machines or other
    columns.

    The rows of one cluster change their signs together: what is flipped is the (weighted) sum of each cluster.
    """
    check_choice(alternative, Alternative, "alternative")
    n_resamples, rng = check_whole(n_resamples, "n_resamples", least=1), check_whole(rng, "rng", least=0)
    values = table(differences, "differences", dimensions=2)
    n, estimate, weighted = _weighted(values, relative_weights(weights, len(values)))
    codes = cluster_codes(clusters, len(values))
    observed = _observe(sum_clusters(as_integers(weighted, np.abs(weighted))[0], codes), alternative)
    exact = np.sum(observed.values != 0, axis=0) <= EXACT_UP_TO
    pvalue, adjusted = np.ones(len(n)), np.zeros(len(n))
    if len(n) > 1 or not exact.all():
        pvalue, adjusted = _resample(observed, n_resamples, rng, threads)
    for column in np.flatnonzero(exact):
        pvalue[column] = exact_pvalue(observed.values[:, column], observed.least[column], alternative)
    adjusted = np.maximum(adjusted, pvalue)  # an exact p and a random one can cross
    return SignFlip(estimate, pvalue, adjusted, n, exact, alternative, n_resamples, rng)


def _weighted(values: Floats, weights: Floats | None) -> tuple[Ints, Floats, Floats]:
    """Pairs and mean of each column, and the differences, brought near 1, times their weights, 0 where absent."""
    present = ~np.isnan(values)
    if weights is not None:
        present &= (weights > 0)[:, None]
    shares = present * (1.0 if weights is None else weights[:, None])
    filled = np.where(present, values, 0.0)
    scale = scale_of(filled)
    weighted = np.ldexp(filled, -scale) * shares
    totals = [(exact_sum(a), exact_sum(b)) for a, b in zip(weighted.T, shares.T, strict=True)]
    means = np.ldexp([a / b if b else math.nan for a, b in totals], scale)
    return np.sum(present, axis=0), means, weighted


@dataclass(frozen=True)
class _Observed:
    """Differences as integers, and what a resampled sum must reach to count as at least as extreme.

    `least` is for sums of single columns, `least_scaled` for sums times `scale`, which maxT compares across columns.
    """

    values: Floats
    total: Floats
    least: Floats
    scale: Floats
    least_scaled: Floats
    order: Ints
    alternative: Alternative


def _observe(values: Floats, alternative: Alternative) -> _Observed:
    total = values.sum(axis=0)
    statistic = _toward(total, alternative)
    reach = statistic - EQUAL * np.abs(values).sum(axis=0)
    norm = np.sqrt((values**2).sum(axis=0))
    scale = np.divide(1.0, norm, out=np.zeros_like(norm), where=norm > 0)
    order = np.argsort(statistic * scale, kind="stable")
    return _Observed(values, total, np.ceil(reach), scale, reach * scale, order, alternative)


def _toward(sums: Floats, alternative: Alternative) -> Floats:
    return np.abs(sums) if alternative == "two-sided" else sums if alternative == "greater" else -sums


def _resample(observed: _Observed, n_resamples: int, rng: int, threads: int | None) -> tuple[Floats, Floats]:
    """Find p and maxT p of every column, over random assignments or, where there are few enough, over all of them."""
    active = np.flatnonzero((observed.values != 0).any(axis=1))
    everything = len(active) < n_resamples.bit_length()  # 2^active <= n_resamples
    rows = active if everything else np.arange(len(observed.values))
    assignments = 2 ** len(active) if everything else n_resamples
    values = observed.values[rows]

    def block(number: int) -> tuple[Ints, Ints]:
        size = min(_BLOCK, assignments - number * _BLOCK)
        flips = _all_flips(number, len(rows)) if everything else _random_flips(rng, number, len(rows))
        return _count(observed, _sums_of_flips(values, flips)[:size])

    counts = map_blocks(block, -(-assignments // _BLOCK), threads)
    single, joint = np.sum(counts, axis=0)
    own = 0 if everything else 1  # random assignments do not include the observed one
    adjusted = np.empty(len(observed.total))
    # From the largest statistic down, no p may be smaller than one before it.
    adjusted[observed.order[::-1]] = np.maximum.accumulate((joint[::-1] + own) / (assignments + own))
    return (single + own) / (assignments + own), adjusted


def _random_flips(rng: int, block: int, rows: int) -> NDArray[np.uint8]:
    """Random bits, packed: a row for each row of data, a bit for each resample of the block."""
    words = stream(rng, block).random_raw(rows * _BLOCK // 64)
    return words.astype("<u8").view(np.uint8).reshape(rows, _BLOCK // 8)


def _all_flips(block: int, rows: int) -> NDArray[np.uint8]:
    """Bits of the assignments numbered from block * _BLOCK on, packed as the random ones are."""
    numbers = np.arange(block * _BLOCK, (block + 1) * _BLOCK)
    return np.packbits((numbers >> np.arange(rows)[:, None]) & 1, axis=1)


def _sums_of_flips(values: Floats, flips: NDArray[np.uint8]) -> Floats:
    """Sums of what changes sign in each resample of a block, for each column: matrix products, one slab at a time.

    Products of this size stay on the calling thread, where larger ones wait for the other threads of the library.
    """
    m = values.shape[1]
    if m > _COLUMNS:
        parts = np.array_split(values, -(-m // _COLUMNS), axis=1)
        return np.concatenate([_sums_of_flips(part, flips) for part in parts], axis=1)
    rows = min(_ROWS, _PRODUCT // (_GROUP * max(m, 1)))
    sums = np.zeros((_BLOCK // _GROUP, _GROUP, m))
    product, slab = np.empty_like(sums), np.empty((rows, _BLOCK))
    for start in range(0, len(values), rows):
        part = values[start : start + rows]
        bits = slab[: len(part)]
        bits[:] = np.unpackbits(flips[start : start + rows], axis=1)
        np.matmul(bits.reshape(len(part), -1, _GROUP).transpose(1, 2, 0), part, out=product)
        sums += product
    return sums.reshape(_BLOCK, m)


def _count(observed: _Observed, flipped: Floats) -> tuple[Ints, Ints]:
    """How many resamples reach the observed statistic of each column, and of each suffix of the order (maxT)."""
    reached = _toward(observed.total - 2 * flipped, observed.alternative)
    single = np.sum(reached >= observed.least, axis=0)
    largest = np.maximum.accumulate((reached * observed.scale)[:, observed.order], axis=1)
    return single, np.sum(largest >= observed.least_scaled[observed.order], axis=0)


def exact_pvalue(values: Floats, least: float, alternative: Alternative) -> float:
    """Share of all sign assignments whose sum reaches `least`, by meeting in the middle (Pagano & Tritchler 1983).

    The sums of one half of the values are sorted; for each sum of the other half a search finds how many do.
    """
    nonzero = np.abs(values[values != 0])
    if alternative == "two-sided" and least <= 0:
        return 1.0
    half = len(nonzero) // 2
    left, right = np.sort(_sums_over_signs(nonzero[:half])), np.sort(_sums_over_signs(nonzero[half:]))
    count = len(left) * len(right) - int(np.searchsorted(left, least - right).sum())
    tails = 2 if alternative == "two-sided" else 1
    return float(tails * count / 2 ** len(nonzero))


def _sums_over_signs(values: Floats) -> Floats:
    sums = np.zeros(1)
    for value in values:
        sums = np.concatenate([sums - value, sums + value])
    return sums
