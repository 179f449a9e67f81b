"""Many tests at once: p-values adjusted by Bonferroni, Holm and Benjamini-Hochberg."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from assay.errors import InputError
from assay.messages import say
from assay.stats.inputs import Floats, check_choice, check_share, check_whole, vector

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

Correction = Literal["none", "bonferroni", "holm", "benjamini-hochberg"]


def adjust(pvalues: ArrayLike, method: Correction) -> Floats:
    """Adjust p-values by the method's name; "none" returns them as they are."""
    check_choice(method, Correction, "correction")
    if method == "none":
        return _check(pvalues)
    return {"bonferroni": bonferroni, "holm": holm, "benjamini-hochberg": benjamini_hochberg}[method](pvalues)


def correct_level(alpha: float, tests: int, *, method: Correction = "holm") -> float:
    """Level that the smallest p of so many tests must reach: alpha/tests, without a correction alpha.

    It is the first step of Holm's method and of Benjamini and Hochberg's, and what a test must be planned for that may
    turn out to be the only one with an effect.
    """
    check_share(alpha, "alpha")
    check_choice(method, Correction, "correction")
    return alpha if method == "none" else alpha / check_whole(tests, "tests", least=1)


def bonferroni(pvalues: ArrayLike) -> Floats:
    """Multiply p by the number of tests, which controls the family-wise error. NaN stays NaN and is not counted."""
    p = _check(pvalues)
    adjusted: Floats = np.minimum(p * np.sum(~np.isnan(p)), 1.0)
    return adjusted


def holm(pvalues: ArrayLike) -> Floats:
    """Step-down Bonferroni (Holm 1979): the same guarantee, never larger. NaN stays NaN and is not counted."""
    p = _check(pvalues)
    order = _order(p)
    left = np.arange(len(order), 0, -1)
    p[order] = np.minimum(np.maximum.accumulate(p[order] * left), 1.0)
    return p


def benjamini_hochberg(pvalues: ArrayLike) -> Floats:
    """Step-up adjustment for the false discovery rate (Benjamini & Hochberg 1995). NaN stays NaN and is not counted."""
    p = _check(pvalues)
    order = _order(p)[::-1]
    count = len(order)
    rank = np.arange(count, 0, -1)
    p[order] = np.minimum(np.minimum.accumulate(p[order] * count / rank), 1.0)
    return p


def _check(pvalues: ArrayLike) -> Floats:
    p = vector(pvalues, "p-values")
    if ((p < 0) | (p > 1)).any():
        raise InputError(say("p-values must lie between 0 and 1"))
    return p


def _order(p: Floats) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    """Places of the p-values that are not NaN, the smallest first."""
    return np.argsort(p, kind="stable")[: int(np.sum(~np.isnan(p)))]
