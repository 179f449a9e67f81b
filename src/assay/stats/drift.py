"""How far counts of kinds moved away from those of a baseline: the population stability index, with its interval."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from assay.stats.inputs import check_share
from assay.stats.intervals import Interval
from assay.stats.moments import NO_VALUES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import ArrayLike

    from assay.stats.inputs import Floats

_ADDED = 0.5  # to every count: a kind that was not seen is rare, not impossible
_LEAST = 0.001  # share of a kind: a smaller one would make the index a matter of how large the baseline is


def stability_interval(
    counts: ArrayLike, baseline: ArrayLike, *, effective: float | None = None, confidence_level: float = 0.95
) -> Interval:
    """Population stability index of counts against a baseline: sum((p - q) ln(p/q)), with an interval.

    The baseline is taken as it is. The index of a sample of n is too large by about (k - 1)/n for k kinds, which is
    taken off. Its variance is that of the delta method plus 2 (k - 1)/n^2, which counts where nothing moved and the
    former vanishes. `effective` is the number of independent values that the counts are worth.

    >>> stability_interval([500, 500], [500, 500]).estimate
    0.0
    """
    from scipy.special import ndtri

    check_share(confidence_level, "confidence_level")
    seen, before = np.asarray(counts, dtype=np.float64), np.asarray(baseline, dtype=np.float64)
    if not seen.sum() or not before.sum() or len(seen) < 2:  # noqa: PLR2004
        return Interval(None, None, None, confidence_level, "delta", int(seen.sum()), NO_VALUES)
    n = float(seen.sum()) if effective is None else effective
    p, q = _shares(seen), _shares(before)
    index = math.fsum((p - q) * np.log(p / q))
    slope = np.log(p / q) + 1 - q / p
    freedom = len(p) - 1
    variance = (math.fsum(p * slope**2) - math.fsum(p * slope) ** 2) / n + 2 * freedom / n**2
    estimate = max(index - freedom / n, 0.0)
    reach = float(ndtri(0.5 + confidence_level / 2)) * math.sqrt(variance)
    low, high = max(index - freedom / n - reach, 0.0), max(index - freedom / n, 0.0) + reach
    return Interval(estimate, low, high, confidence_level, "delta", round(n))


def _shares(counts: Floats) -> Floats:
    kept = np.maximum((counts + _ADDED) / (counts + _ADDED).sum(), _LEAST)
    found: Floats = kept / kept.sum()
    return found


def group_numbers(baseline: Mapping[int, int], others: Iterable[int] = (), *, groups: int = 10) -> list[set[int]]:
    """Put neighbouring bins of numbers together until each group holds its share of a baseline.

    >>> group_numbers({1: 5, 2: 5, 3: 10}, groups=2)
    [{1, 2}, {3}]
    """
    least, found, held = sum(baseline.values()) / groups, [set[int]()], 0.0
    for number in sorted({*baseline, *others}):
        if held >= least:
            found.append(set())
            held = 0
        found[-1].add(number)
        held += baseline.get(number, 0)
    if len(found) > 1 and held < least / 2:
        found[-2:] = [found[-2] | found[-1]]
    return found


def group_names(baseline: Mapping[str, int], others: Iterable[str] = (), *, groups: int = 10) -> list[set[str]]:
    """Every frequent kind of a baseline by itself, and one group of all others, which may be new.

    >>> group_names({"a": 50, "b": 49, "c": 1}, ["d"])[:2], sorted(group_names({"a": 50, "b": 49, "c": 1}, ["d"])[2])
    ([{'a'}, {'b'}], ['c', 'd'])
    """
    least = sum(baseline.values()) / (2 * groups)
    frequent = sorted(kind for kind, n in baseline.items() if n >= least)
    return [*({kind} for kind in frequent), {*baseline, *others} - {*frequent}]
