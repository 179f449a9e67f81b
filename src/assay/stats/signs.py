"""Tests of signs and ranks: sign test, Wilcoxon's signed ranks (neither tests the mean) and McNemar's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from assay.errors import UsageError
from assay.messages import say
from assay.stats.inputs import SMALLEST_P, Alternative, check_choice, vector

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

NOT_THE_MEAN = "does not test the mean: with skewed differences it can call equal means different"


@dataclass(frozen=True)
class SignTest:
    """Outcome of a sign or signed-rank test over the `n` differences that are not 0; `warning` says what it is not."""

    statistic: float
    pvalue: float
    alternative: Alternative
    n: int
    warning: str


@dataclass(frozen=True)
class McNemar:
    """Outcome of McNemar's test: `statistic` is chi-square, or the smaller of the two counts if `exact`."""

    statistic: float
    pvalue: float
    exact: bool
    n: int


def sign_test(differences: ArrayLike, *, alternative: Alternative = "two-sided") -> SignTest:
    """Exact binomial test of positive against negative differences; 0 and NaN are left out."""
    check_choice(alternative, Alternative, "alternative")
    x = vector(differences, "differences")
    above, below = int(np.sum(x > 0)), int(np.sum(x < 0))
    fewer = {"two-sided": min(above, below), "greater": below, "less": above}[alternative]
    tails = 2 if alternative == "two-sided" else 1
    p = min(1.0, tails * _at_most(fewer, above + below))
    return SignTest(float(above), p, alternative, above + below, f"the sign test {NOT_THE_MEAN}")


def wilcoxon(differences: ArrayLike, *, alternative: Alternative = "two-sided") -> SignTest:
    """Signed-rank test; 0 and NaN are left out; exact without ties up to 50 differences, else normal, as SciPy does."""
    from scipy.stats import wilcoxon as signed_rank

    check_choice(alternative, Alternative, "alternative")
    x = vector(differences, "differences")
    x = x[~np.isnan(x) & (x != 0)]
    warning = f"Wilcoxon's test {NOT_THE_MEAN}"
    if not len(x):
        return SignTest(0.0, 1.0, alternative, 0, warning)
    found = signed_rank(x, alternative=alternative)
    return SignTest(float(found.statistic), max(float(found.pvalue), SMALLEST_P), alternative, len(x), warning)


def mcnemar(first_only: int, second_only: int, *, exact: bool = True, correction: bool = True) -> McNemar:
    """Compare two yes/no outcomes of the same units by those that differ: yes-no and no-yes counts.

    Exact binomial, or chi-square (|b - c| - 1)^2/(b + c) with the continuity correction, never below 0.
    """
    from scipy.special import chdtrc

    if first_only < 0 or second_only < 0:
        raise UsageError(
            say(
                "counts must be 0 or more, not {first_only} and {second_only}",
                first_only=first_only,
                second_only=second_only,
            )
        )
    n, fewer = first_only + second_only, min(first_only, second_only)
    if exact:
        return McNemar(float(fewer), min(1.0, 2 * _at_most(fewer, n)), exact, n)
    away = max(abs(first_only - second_only) - int(correction), 0)
    statistic = away**2 / n if n else 0.0
    return McNemar(statistic, max(float(chdtrc(1, statistic)), SMALLEST_P), exact, n)


def _at_most(k: int, n: int) -> float:
    """Probability of at most k heads in n throws of a fair coin."""
    from scipy.special import bdtr

    return max(float(bdtr(k, n, 0.5)), SMALLEST_P) if n else 1.0
