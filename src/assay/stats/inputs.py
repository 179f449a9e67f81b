"""Input of every statistic, checked once: floats, NaN for what is absent, nothing infinite."""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from assay.errors import InputError, UnknownName, UsageError
from assay.messages import say

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import ArrayLike

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Alternative = Literal["two-sided", "greater", "less"]

# Values closer than this, relative to the largest, count as equal: that is how far rounding can part equal numbers.
EQUAL = 1e-12
# A p-value below the smallest normal float is shown as that float: p is never 0.
SMALLEST_P = float(np.finfo(np.float64).tiny)


def table(values: ArrayLike, name: str, *, dimensions: int) -> Floats:
    """Copy to an array of floats with so many dimensions; NaN is kept, infinity is refused."""
    try:
        found = np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(say("{name} must be numbers: {error}", name=name, error=str(error))) from error
    if found.ndim != dimensions:
        raise UsageError(
            say(
                "{name} must have {expected} {expected:dimension|dimensions}, not {found}",
                name=name,
                expected=dimensions,
                found=found.ndim,
            )
        )
    if np.isinf(found).any():
        raise InputError(say("{name} must be finite", name=name), hint=say("use NaN for a value that is absent"))
    return found


def vector(values: ArrayLike, name: str = "values") -> Floats:
    """Copy to a one-dimensional array of finite floats or NaN."""
    return table(values, name, dimensions=1)


def relative_weights(weights: ArrayLike | None, n: int) -> Floats | None:
    """Weights divided by the largest one, or None for equal weights."""
    if weights is None:
        return None
    found = vector(weights, "weights")
    if len(found) != n:
        raise UsageError(
            say(
                "{values} {values:value|values} but {weights} {weights:weight|weights}: give one weight per value",
                values=n,
                weights=len(found),
            )
        )
    if np.isnan(found).any() or (found < 0).any():
        raise InputError(say("weights must be numbers, 0 or more"))
    largest = float(found.max(initial=0.0))
    if n and largest == 0:
        raise InputError(say("at least one weight must be above 0"))
    return None if np.all(found == largest) else found / largest


def cluster_codes(clusters: ArrayLike | None, n: int) -> Ints | None:
    """Number of the cluster of each value, from 0 on, or None where every value is on its own."""
    if clusters is None:
        return None
    found = np.asarray(clusters)
    if found.shape != (n,):
        raise UsageError(
            say(
                "{values} {values:value|values} but clusters of shape {shape}: name one cluster per value",
                values=n,
                shape=str(found.shape),
            )
        )
    if any(code is None or code == "" or (isinstance(code, float) and math.isnan(code)) for code in found.tolist()):
        raise InputError(say("a value without a cluster"), hint=say("give what stands alone a name of its own"))
    codes: Ints = np.unique(found.astype(str) if found.dtype == object else found, return_inverse=True)[1]
    return codes.astype(np.int64)


def paired_differences(values: ArrayLike, baseline: ArrayLike) -> Floats:
    """Subtract the baseline; what differs by rounding only (1e-12 relative) is 0, a pair with a NaN is NaN."""
    a, b = np.array(values, dtype=np.float64), np.array(baseline, dtype=np.float64)
    if a.shape != b.shape:
        shapes = {"first": str(a.shape), "second": str(b.shape)}
        raise UsageError(say("paired values must have the same shape, not {first} and {second}", **shapes))
    if np.isinf(a).any() or np.isinf(b).any():
        raise InputError(say("paired values must be finite"), hint=say("use NaN for a value that is absent"))
    found: Floats = a - b
    found[np.abs(found) <= EQUAL * np.maximum(np.abs(a), np.abs(b))] = 0.0
    return found


def check_share(value: float, name: str) -> None:
    """Refuse a confidence level, an alpha or a power that is not strictly between 0 and 1."""
    if not 0 < value < 1:
        raise UsageError(say("{name} must lie between 0 and 1, not {value}", name=name, value=value))


def check_whole(value: int, name: str, *, least: int) -> int:
    """Take a whole number of at least `least`: of resamples or threads, or a seed."""
    try:
        found = operator.index(value)
    except TypeError as error:
        raise UsageError(
            say("{name} must be a whole number, not {kind}", name=name, kind=type(value).__name__)
        ) from error
    if found < least:
        raise UsageError(say("{name} must be at least {least}, not {found}", name=name, least=least, found=found))
    return found


def check_choice(value: str, choices: Any, name: str) -> None:
    """Refuse a word that a Literal does not have."""
    known: Iterable[str] = get_args(choices)
    if value not in known:
        hint = say("expected one of {choices}", choices=list(known))
        raise UnknownName(say("value of {name}", name=name), value, known, hint=hint)
