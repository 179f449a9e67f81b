"""Power of the paired t test: what a sample of this size can show, and how large one must be."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.errors import UsageError
from assay.messages import say
from assay.stats.inputs import Alternative, check_choice, check_share
from assay.stats.moments import moments

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

TOO_FEW = "a t test needs at least two values"
NO_DEVIATION = "the differences do not vary"
OTHER_SIDE = "there is no difference on the side of the alternative"
TOO_MANY = "no sample of a reasonable size shows so small a difference"

_LEAST_N = 2
_MOST_N = 2**40


@dataclass(frozen=True)
class Power:
    """One design: difference, standard deviation of the differences, number of pairs, and the power it has.

    What cannot be computed is None, with the reason. `n` may be an effective number of pairs. With a `design_effect`,
    n pairs are worth n/design_effect independent ones of equal weight (Kish 1965).
    """

    difference: float | None
    deviation: float
    n: float | None
    power: float | None
    alpha: float
    alternative: Alternative
    reason: str = ""
    design_effect: float = 1.0


@dataclass(frozen=True)
class Design:
    """Figures of a sample of differences for planning others like it.

    `deviation` is that of single differences, `design_effect` how many times larger weights and clusters make the
    variance of their mean than n independent ones of equal weight would have, and `effective_n` = n/design_effect.
    """

    n: int
    deviation: float | None
    design_effect: float = 1.0
    effective_n: float = 0.0
    reason: str = ""


def design(differences: ArrayLike, *, weights: ArrayLike | None = None, clusters: ArrayLike | None = None) -> Design:
    """Find deviation and design effect of a sample: SE^2 n/deviation^2, with the standard error of `moments`."""
    single, of = moments(differences, weights), moments(differences, weights, clusters=clusters)
    if not single.deviation or not of.standard_error:
        return Design(of.n, single.deviation, effective_n=of.effective_n, reason=of.reason or single.reason)
    effect = of.n * (of.standard_error / single.deviation) ** 2
    return Design(of.n, single.deviation, effect, of.n / effect)


def paired_power(
    difference: float,
    deviation: float,
    *,
    n: float,
    alpha: float = 0.05,
    alternative: Alternative = "two-sided",
    design_effect: float = 1.0,
) -> Power:
    """Probability that a paired t test over n pairs is significant when the true mean difference is `difference`."""
    _check(deviation, alpha, alternative, design_effect)
    reason = _lacks(n / design_effect, deviation)
    power = None
    if not reason:
        power = _power(_toward(difference, alternative) / deviation, n / design_effect, alpha, _tails(alternative))
    return Power(difference, deviation, n, power, alpha, alternative, reason, design_effect)


def detectable_difference(
    deviation: float,
    n: float,
    *,
    power: float = 0.8,
    alpha: float = 0.05,
    alternative: Alternative = "two-sided",
    design_effect: float = 1.0,
) -> Power:
    """Smallest true difference that a paired t test over n pairs finds with this power (80% by default).

    It is positive, for "less" negative.
    """
    from scipy.optimize import brentq

    _check(deviation, alpha, alternative, design_effect)
    _check_power(power, alpha)
    reason = _lacks(n / design_effect, deviation)
    if reason:
        return Power(None, deviation, n, power, alpha, alternative, reason, design_effect)

    def lacking(effect: float) -> float:
        return _power(effect, n / design_effect, alpha, _tails(alternative)) - power

    most = 1.0
    while lacking(most) < 0:
        most *= 2
    effect = float(brentq(lacking, 0.0, most, xtol=1e-15, rtol=1e-14))
    found = math.copysign(effect, _toward(1.0, alternative)) * deviation
    return Power(found, deviation, n, power, alpha, alternative, design_effect=design_effect)


def sample_size(
    difference: float,
    deviation: float,
    *,
    power: float = 0.8,
    alpha: float = 0.05,
    alternative: Alternative = "two-sided",
    design_effect: float = 1.0,
) -> Power:
    """Smallest number of pairs with which a paired t test finds this difference with at least this power."""
    _check(deviation, alpha, alternative, design_effect)
    _check_power(power, alpha)
    effect = _toward(difference, alternative)

    def enough(n: int) -> bool:
        worth = n / design_effect
        return worth >= _LEAST_N and _power(effect / deviation, worth, alpha, _tails(alternative)) >= power

    reason = NO_DEVIATION if deviation == 0 else OTHER_SIDE if effect <= 0 else "" if enough(_MOST_N) else TOO_MANY
    n = None if reason else _smallest(enough)
    return Power(difference, deviation, n, power, alpha, alternative, reason, design_effect)


def _smallest(enough: Callable[[int], bool]) -> int:
    """Smallest n from 2 on that is enough, when every larger one is."""
    most = _LEAST_N
    while not enough(most):
        most *= 2
    least = most // 2  # not enough, or below 2
    while most - least > 1:
        middle = (least + most) // 2
        least, most = (least, middle) if enough(middle) else (middle, most)
    return most


def _power(effect: float, n: float, alpha: float, tails: int) -> float:
    """Chance that t, noncentral by effect * sqrt(n), leaves the central range on the side (or sides) tested."""
    from scipy.special import stdtrit

    df, away = n - 1, effect * math.sqrt(n)
    critical = float(stdtrit(df, 1 - alpha / tails))
    return sum(_upper_tail(critical, df, side * away) for side in (1, -1)[:tails])


def _upper_tail(critical: float, df: float, noncentrality: float) -> float:
    """Upper tail of the noncentral t distribution; far out, where the library has no number, it is 0 or 1."""
    from scipy.special import nctdtr

    below = float(nctdtr(df, noncentrality, critical))
    return float(noncentrality > 0) if math.isnan(below) else 1 - below


def _toward(difference: float, alternative: Alternative) -> float:
    """How far the difference lies on the side that is tested."""
    return {"two-sided": abs(difference), "greater": difference, "less": -difference}[alternative]


def _tails(alternative: Alternative) -> int:
    return 2 if alternative == "two-sided" else 1


def _lacks(n: float, deviation: float) -> str:
    return TOO_FEW if n < _LEAST_N else NO_DEVIATION if deviation == 0 else ""


def _check(deviation: float, alpha: float, alternative: Alternative, design_effect: float) -> None:
    check_choice(alternative, Alternative, "alternative")
    check_share(alpha, "alpha")
    if not 0 < design_effect < math.inf:
        raise UsageError(say("the design effect must be a number above 0, not {effect}", effect=design_effect))
    if not 0 <= deviation < math.inf:
        raise UsageError(
            say("the standard deviation must be a number, 0 or more, not {deviation}", deviation=deviation)
        )


def _check_power(power: float, alpha: float) -> None:
    check_share(power, "power")
    if power <= alpha:
        raise UsageError(
            say(
                "power must be above alpha = {alpha}, not {power}: with no difference at all it is alpha already",
                alpha=alpha,
                power=power,
            )
        )
