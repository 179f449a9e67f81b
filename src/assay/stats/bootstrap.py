"""Resampling with replacement: of rows for means, of groups for any statistic; BCa and percentile limits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from assay.stats.inputs import EQUAL, Floats, Ints, check_whole
from assay.stats.resampling import map_blocks, stream

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

SAME_RESAMPLES = "every resample gives the same value"

_BLOCK = 256
_CELLS = 2_000_000
_TURNED = 1e-12
# Resamples without any variation have no agreement to speak of; more than one in ten of them, and limits mean nothing.
_DEFINED = 0.9


def resample_means(
    columns: Floats, shares: Floats | None, *, n_resamples: int, rng: int, threads: int | None = None
) -> Floats:
    """Means of the columns in each resample of rows; a row is drawn together with its weight."""
    n_resamples = check_whole(n_resamples, "n_resamples", least=1)
    n, m = columns.shape
    if n == 0:
        return np.full((n_resamples, m), np.nan)
    size = max(1, min(_BLOCK, _CELLS // n))
    weighted = columns if shares is None else columns * shares[:, None]

    def block(number: int) -> Floats:
        repeats = draw(rng, number, n, size).astype(np.float64)
        total = float(n) if shares is None else (repeats @ shares)[:, None]
        means: Floats = (repeats @ weighted) / total
        return means

    found = map_blocks(block, -(-n_resamples // size), threads)
    return np.concatenate(found)[:n_resamples]


def draw(rng: int, block: int, n: int, size: int) -> Ints:
    """How often each of n items is drawn, in each of `size` resamples of n."""
    generator = np.random.Generator(stream(rng, block))
    picked = generator.integers(n, size=(size, n)) + n * np.arange(size)[:, None]
    return np.bincount(picked.ravel(), minlength=size * n).reshape(size, n)


def bca(drawn: Floats, estimate: float, left_out: Floats, confidence_level: float) -> tuple[float, float]:
    """Limits by Efron's bias-corrected and accelerated percentiles; `left_out` are the jackknife's values."""
    from scipy.special import ndtr, ndtri

    # Never 0 or 1, where the correction would be infinite.
    share = (np.sum(drawn < estimate) + np.sum(drawn <= estimate)) / (2 * len(drawn))
    bias = float(ndtri(np.clip(share, 0.5 / len(drawn), 1 - 0.5 / len(drawn))))
    away = left_out.mean() - left_out
    away /= np.abs(away).max()
    acceleration = float(np.sum(away**3) / (6 * np.sum(away**2) ** 1.5))
    tail = (1 - confidence_level) / 2
    z = bias + ndtri(np.array([tail, 1 - tail]))
    # A strong skew and a high level can turn the denominator; its limit is the end of the distribution.
    low, high = np.quantile(drawn, ndtr(bias + z / np.maximum(1 - acceleration * z, _TURNED)))
    return float(low), float(high)


def limits_if_distinct(low: float, high: float) -> tuple[float, float] | None:
    """Two limits, or None where they are one and the same: resamples without variation do not limit anything."""
    return (low, high) if high - low > EQUAL * max(abs(low), abs(high)) else None


def percentile_limits(
    statistic: Callable[[Ints], float | None],
    groups: NDArray[np.int64],
    *,
    confidence_level: float,
    n_resamples: int,
    rng: int,
) -> tuple[float, float] | None:
    """Limits of a statistic of repeated observations when whole groups are drawn; None if it is too often undefined.

    `groups` numbers the group of each observation from 0 on; the statistic gets how often each observation counts.
    """
    n_resamples = check_whole(n_resamples, "n_resamples", least=1)
    n = int(groups.max()) + 1
    size = max(1, min(_BLOCK, _CELLS // n))
    found: list[float | None] = []
    for number in range(-(-n_resamples // size)):
        repeats = draw(rng, number, n, size)
        found += [statistic(row[groups]) for row in repeats[: n_resamples - len(found)]]
    values = np.array([value for value in found if value is not None])
    if len(values) < _DEFINED * n_resamples:
        return None
    tail = (1 - confidence_level) / 2
    low, high = np.quantile(values, [tail, 1 - tail])
    return float(low), float(high)
