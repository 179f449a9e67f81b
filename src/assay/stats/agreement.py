"""Agreement of raters: confusion matrix, weighted kappa, rank correlations, alpha; bootstrap intervals on request."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from assay.errors import UsageError
from assay.messages import say
from assay.stats.bootstrap import SAME_RESAMPLES, limits_if_distinct, percentile_limits
from assay.stats.inputs import Floats, Ints, check_choice, check_share, check_whole, table, vector
from assay.stats.intervals import Interval
from assay.stats.moments import near_1

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

Weighting = Literal["quadratic", "linear", "none"]
Level = Literal["ordinal", "interval", "nominal"]

NO_PAIRS = "no pair has both values"
NO_UNITS = "no unit has two values to compare"
ONE_PAIR = "one pair alone has no order"
CONSTANT = "the values do not vary"
UNSTABLE = "more than one resample in ten has no variation"


@dataclass(frozen=True)
class Agreement:
    """An agreement coefficient over n pairs (or units); None, with the reason, where it cannot be computed.

    `interval` is there when resamples were asked for.
    """

    value: float | None
    method: str
    n: int
    interval: Interval | None = None
    reason: str = ""


@dataclass(frozen=True)
class Confusion:
    """`counts[i][j]` pairs have `values[i]` from the first rater and `values[j]` from the second."""

    values: tuple[float, ...]
    counts: tuple[tuple[int, ...], ...]
    n: int


def confusion_matrix(first: ArrayLike, second: ArrayLike) -> Confusion:
    """Count every combination of values; a pair with a NaN is left out."""
    a, b, _ = pairs(first, second, None)
    values, cells = _cells(a, b)
    counts = np.bincount(cells, minlength=len(values) ** 2).reshape(len(values), len(values))
    return Confusion(tuple(values.tolist()), tuple(map(tuple, counts.tolist())), len(a))


def kappa(
    first: ArrayLike,
    second: ArrayLike,
    *,
    weighting: Weighting = "quadratic",
    groups: ArrayLike | None = None,
    confidence_level: float = 0.95,
    n_resamples: int = 0,
    rng: int = 0,
) -> Agreement:
    """Cohen's kappa: 1 - disagreement/disagreement expected by chance (Cohen 1968).

    A pair disagrees by the square of the difference of its values, by its size, or by 1 ("none"). Values may be any
    numbers. `groups` are drawn whole for the interval. Undefined when all values of both raters are one and the same.
    """
    check_choice(weighting, Weighting, "weighting")
    a, b, labels = pairs(first, second, groups)
    values, cells = _cells(a, b)
    apart = np.abs(np.subtract.outer(near_1(values), near_1(values)))
    distance = {"quadratic": apart**2, "linear": apart, "none": np.sign(apart)}[weighting]

    def statistic(repeats: Ints) -> float | None:
        counts = np.bincount(cells, weights=repeats, minlength=distance.size).reshape(distance.shape)
        expected = float(counts.sum(axis=1) @ distance @ counts.sum(axis=0)) / counts.sum()
        return 1 - float((distance * counts).sum()) / expected if expected else None

    method = f"kappa ({weighting})" if weighting != "none" else "kappa"
    reason = NO_PAIRS if not len(a) else CONSTANT
    return with_interval(statistic, labels, method, reason, (confidence_level, n_resamples, rng))


def krippendorff_alpha(
    ratings: ArrayLike,
    *,
    level: Level = "ordinal",
    groups: ArrayLike | None = None,
    confidence_level: float = 0.95,
    n_resamples: int = 0,
    rng: int = 0,
) -> Agreement:
    """Krippendorff's alpha: 1 - observed/expected disagreement of any number of raters, values missing (2011).

    `ratings` has a row per unit and a column per rater, NaN where there is no rating; units with fewer than two ratings
    are left out. Undefined when all ratings are one and the same. `groups` name the group of each unit; the interval
    draws groups whole.
    """
    check_choice(level, Level, "level")
    rows = table(ratings, "ratings", dimensions=2)
    pairable = np.sum(~np.isnan(rows), axis=1) > 1
    values = np.unique(rows[pairable])
    values = values[~np.isnan(values)]
    counts: Floats = np.sum(rows[pairable][:, :, None] == values, axis=1, dtype=np.float64)

    def statistic(repeats: Ints) -> float | None:
        return _alpha(counts, values, repeats, level)

    reason = CONSTANT if pairable.any() else NO_UNITS
    labels = number_groups(groups, pairable)
    method = f"alpha ({level})"
    return with_interval(statistic, labels, method, reason, (confidence_level, n_resamples, rng))


def _alpha(counts: Floats, values: Floats, repeats: Ints, level: Level) -> float | None:
    """Alpha of units with so many ratings of each value, each unit counted so many times."""
    share = repeats / (counts.sum(axis=1) - 1)
    coincidences = (counts * share[:, None]).T @ counts - np.diag(share @ counts)
    margins = coincidences.sum(axis=0)
    distance = _distance(values, margins, level)
    expected = float(margins @ distance @ margins)
    if not expected:
        return None
    return 1 - float(margins.sum() - 1) * float((coincidences * distance).sum()) / expected


def _distance(values: Floats, margins: Floats, level: Level) -> Floats:
    """Squared distance of two values: 1, their difference, or how many ratings lie between them (half of their own)."""
    if level == "nominal":
        return 1 - np.eye(len(values))
    place = near_1(values) if level == "interval" else np.cumsum(margins) - margins / 2
    apart: Floats = (place[:, None] - place) ** 2
    return apart


def kendall_tau(
    first: ArrayLike,
    second: ArrayLike,
    *,
    groups: ArrayLike | None = None,
    confidence_level: float = 0.95,
    n_resamples: int = 0,
    rng: int = 0,
) -> Agreement:
    """Kendall's tau-b, which corrects for ties. Undefined when one side does not vary."""
    from scipy.stats import kendalltau

    a, b, labels = pairs(first, second, groups)

    def statistic(repeats: Ints) -> float | None:
        x, y = np.repeat(a, repeats), np.repeat(b, repeats)
        return float(kendalltau(x, y).statistic) if _both_vary(x, y) else None

    return with_interval(statistic, labels, "tau-b", _why(a), (confidence_level, n_resamples, rng))


def spearman(
    first: ArrayLike,
    second: ArrayLike,
    *,
    groups: ArrayLike | None = None,
    confidence_level: float = 0.95,
    n_resamples: int = 0,
    rng: int = 0,
) -> Agreement:
    """Spearman's rho: Pearson's correlation of ranks, tied values sharing their mean rank."""
    from scipy.stats import rankdata

    a, b, labels = pairs(first, second, groups)

    def statistic(repeats: Ints) -> float | None:
        x, y = np.repeat(a, repeats), np.repeat(b, repeats)
        return float(np.corrcoef(rankdata(x), rankdata(y))[0, 1]) if _both_vary(x, y) else None

    return with_interval(statistic, labels, "spearman", _why(a), (confidence_level, n_resamples, rng))


def pairs(first: ArrayLike, second: ArrayLike, groups: ArrayLike | None) -> tuple[Floats, Floats, Ints]:
    """Pairs that have both values, and the number of the group that each belongs to (its own, without groups)."""
    a, b = vector(first, "first"), vector(second, "second")
    if len(a) != len(b):
        raise UsageError(
            say("paired values must have the same length, not {first} and {second}", first=len(a), second=len(b))
        )
    present = ~(np.isnan(a) | np.isnan(b))
    return a[present], b[present], number_groups(groups, present)


def number_groups(groups: ArrayLike | None, present: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Ints:
    """Number the groups of the rows that are present from 0 on; without groups each row is one."""
    if groups is None:
        return np.arange(int(present.sum()))
    labels = np.asarray(groups)
    if labels.shape != present.shape:
        raise UsageError(
            say(
                "{rows} {rows:row|rows} but {groups} {groups:group|groups}: give one group per row",
                rows=len(present),
                groups=labels.size,
            )
        )
    return np.unique(labels[present], return_inverse=True)[1].astype(np.int64)


def with_interval(
    statistic: Callable[[Ints], float | None],
    groups: Ints,
    method: str,
    reason: str,
    resampling: tuple[float, int, int],
) -> Agreement:
    """Value of the statistic, and its percentile interval over resampled groups if resamples are asked for."""
    confidence_level, n_resamples, rng = resampling
    check_share(confidence_level, "confidence_level")
    n, n_resamples, seed = (
        len(groups),
        check_whole(n_resamples, "n_resamples", least=0),
        check_whole(rng, "rng", least=0),
    )
    value = statistic(np.ones(n, dtype=np.int64)) if n else None
    if value is None:
        return Agreement(None, method, n, None, reason)
    if not n_resamples:
        return Agreement(value, method, n)
    limits = percentile_limits(statistic, groups, confidence_level=confidence_level, n_resamples=n_resamples, rng=seed)
    low, high = (limits and limits_if_distinct(*limits)) or (None, None)
    why = UNSTABLE if limits is None else SAME_RESAMPLES if low is None else ""
    return Agreement(value, method, n, Interval(value, low, high, confidence_level, "percentile", n, why))


def _cells(a: Floats, b: Floats) -> tuple[Floats, Ints]:
    """All values that occur, in order, and the cell of each pair in the matrix over them."""
    values, places = np.unique(np.concatenate([a, b]), return_inverse=True)
    return values, places[: len(a)] * len(values) + places[len(a) :]


def _both_vary(a: Floats, b: Floats) -> bool:
    return bool(np.ptp(a) > 0 and np.ptp(b) > 0)


def _why(a: Floats) -> str:
    return NO_PAIRS if not len(a) else ONE_PAIR if len(a) == 1 else CONSTANT
