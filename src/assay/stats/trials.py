"""Planning and watching an A/B test: sample ratios, power, and intervals that may be looked at every day."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from assay.errors import UsageError
from assay.messages import say
from assay.stats.inputs import check_share
from assay.stats.intervals import Interval

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_MOST = 2.0**60
LEAST_TUNING = 1000  # with fewer users the sequence is too short for its asymptotics


@dataclass(frozen=True)
class SampleRatio:
    """Whether users went to the arms in the shares that were planned: chi-square, its p, and the counts expected."""

    counts: tuple[int, ...]
    expected: tuple[float, ...]
    statistic: float
    pvalue: float


def sample_ratio(counts: Sequence[int], shares: Sequence[float] | None = None) -> SampleRatio:
    """Chi-square test of the numbers of users in the arms against the planned shares (equal ones unless given).

    >>> round(sample_ratio([5000, 5300]).pvalue, 4)
    0.0031
    """
    from scipy.special import chdtrc

    planned = np.ones(len(counts)) if shares is None else np.array(shares, dtype=np.float64)
    if len(planned) != len(counts) or len(counts) < 2 or not (planned > 0).all():  # noqa: PLR2004
        raise UsageError(say("give one share above 0 for each of the {n} arms", n=len(counts)))
    seen = np.array(counts, dtype=np.float64)
    expected = planned / planned.sum() * seen.sum()
    if not seen.sum():
        return SampleRatio(tuple(counts), tuple(expected.tolist()), 0.0, 1.0)
    statistic = float(((seen - expected) ** 2 / expected).sum())
    return SampleRatio(tuple(counts), tuple(expected.tolist()), statistic, float(chdtrc(len(counts) - 1, statistic)))


# Intervals that hold at every look ------------------------------------------------------------------------------------


def confidence_sequence(
    estimate: float, standard_error: float, *, n: int, confidence_level: float = 0.95, tuning: int = 10_000
) -> Interval:
    """An interval that holds at all looks at once, however many there are (asymptotic, two-sided).

    With s2 = n SE^2 and rho = sqrt((-2 ln a + ln(1 - 2 ln a)) / tuning), the half-width is
    sqrt(s2) sqrt(2 (n rho^2 + 1) ln(sqrt(n rho^2 + 1) / a) / (n rho)^2); it is tightest near n = tuning users
    (Waudby-Smith et al. 2021).
    """
    check_share(confidence_level, "confidence_level")
    if n < 1 or tuning < LEAST_TUNING:
        raise UsageError(
            say("a confidence sequence needs at least one user and a tuning of {least:,} or more", least=LEAST_TUNING)
        )
    a = 1 - confidence_level
    rho2 = (-2 * math.log(a) + math.log(1 - 2 * math.log(a))) / tuning
    s2 = n * standard_error**2
    half = math.sqrt(s2 * 2 * (n * rho2 + 1) * math.log(math.sqrt(n * rho2 + 1) / a) / (n * n * rho2))
    return Interval(estimate, estimate - half, estimate + half, confidence_level, "confidence sequence", n)


# Power ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TrialPower:
    """A design of two arms: the lift, the deviation of a user's value, users in both arms together, and its power."""

    lift: float | None
    deviation: float
    n: int | None
    power: float
    alpha: float
    ratio: float = 1.0


def trial_power(
    lift: float,
    deviation: float,
    *,
    n: float,
    treatment_deviation: float | None = None,
    alpha: float = 0.05,
    ratio: float = 1.0,
    tails: int = 2,
) -> float:
    """Chance that Welch's t test over n users shows a true lift; `ratio` is users of the treatment per control user.

    Users of the treatment deviate as those of the control do, unless it is said how they do.
    """
    from scipy.special import nctdtr, stdtrit

    of_treatment = deviation if treatment_deviation is None else treatment_deviation
    _check(min(deviation, of_treatment), alpha, ratio)
    control, treatment = n / (1 + ratio), n * ratio / (1 + ratio)
    if control <= 1 or treatment <= 1:
        return 0.0
    errors = deviation**2 / control, of_treatment**2 / treatment
    df = sum(errors) ** 2 / (errors[0] ** 2 / (control - 1) + errors[1] ** 2 / (treatment - 1))
    away, bound = abs(lift) / math.sqrt(sum(errors)), float(stdtrit(df, 1 - alpha / tails))
    below_bound = float(nctdtr(df, away, bound))
    above = 1.0 if math.isnan(below_bound) else 1 - below_bound  # a lift so large that the distribution overflows
    below = float(nctdtr(df, away, -bound)) if tails > 1 else 0.0
    return above + (0.0 if math.isnan(below) else below)


def share_power(share: float, lift: float, *, n: float, alpha: float = 0.05, ratio: float = 1.0) -> float:
    """Chance that n users show a true lift of a share of users, by the z test of equal shares and Newcombe's interval.

    Both must show it, as in the analysis. Each does where the difference that is seen is large enough, which is taken
    at the true shares; the difference itself varies with the variance of each share (Fleiss, Levin & Paik 2003).
    """
    from scipy.special import ndtr, ndtri

    check_share(alpha, "alpha")
    new = share + lift
    if not (0 < share < 1 and 0 <= new <= 1 and ratio > 0):
        raise UsageError(say("shares of users lie between 0 and 1, not {old:g} and {new:g}", old=share, new=new))
    control, treatment = n / (1 + ratio), n * ratio / (1 + ratio)
    z, low, high = float(ndtri(1 - alpha / 2)), min(share, new), max(share, new)
    of_low, of_high = (control, treatment) if lift > 0 else (treatment, control)
    both = (share + ratio * new) / (1 + ratio)
    needed = max(
        z * math.sqrt(both * (1 - both) * (1 / control + 1 / treatment)),
        math.hypot(high - _wilson(high, of_high, -z), _wilson(low, of_low, z) - low),
    )
    error = math.sqrt(share * (1 - share) / control + new * (1 - new) / treatment)
    return float(ndtr((abs(lift) - needed) / error) + ndtr((-abs(lift) - needed) / error))


def _wilson(share: float, n: float, z: float) -> float:
    """The end of Wilson's interval of a share, the lower one for a negative z."""
    return (share + z * z / (2 * n) + z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))) / (1 + z * z / n)


def users_needed(
    lift: float, deviation: float, *, power: float = 0.8, alpha: float = 0.05, ratio: float = 1.0, tails: int = 2
) -> TrialPower:
    """The smallest number of users, in both arms together, that shows a true lift with this power."""
    _check(deviation, alpha, ratio)

    def power_of(n: float) -> float:
        return trial_power(lift, deviation, n=n, alpha=alpha, ratio=ratio, tails=tails)

    return TrialPower(lift, deviation, smallest_size(lift, power_of, power), power, alpha, ratio)


def lift_shown(
    deviation: float, n: int, *, power: float = 0.8, alpha: float = 0.05, ratio: float = 1.0, tails: int = 2
) -> TrialPower:
    """The smallest true lift that so many users, in both arms together, show with this power."""
    _check(deviation, alpha, ratio)

    def power_of(lift: float) -> float:
        return trial_power(lift, deviation, n=n, alpha=alpha, ratio=ratio, tails=tails)

    return TrialPower(smallest_lift(deviation, power_of, power), deviation, n, power, alpha, ratio)


def smallest_size(lift: float, power_of: Callable[[float], float], power: float) -> int | None:
    """The smallest number of users with this power; None where no number has it."""
    if not lift:
        raise UsageError(say("a lift of 0 cannot be shown by any number of users"))
    if power_of(_MOST) < power:
        return None
    most = 4.0
    while power_of(most) < power:
        most *= 2
    least = most / 2
    while most - least > 1:
        middle = (least + most) // 2
        least, most = (least, middle) if power_of(middle) >= power else (middle, most)
    return int(most)


def smallest_lift(
    deviation: float, power_of: Callable[[float], float], power: float, *, largest: float = math.inf
) -> float | None:
    """The smallest lift with this power; None where none has it, as far as lifts go."""
    from scipy.optimize import brentq

    most = min(deviation, largest)
    while power_of(most) < power:
        if most >= min(1e12 * deviation, largest):
            return None
        most = min(2 * most, largest)
    return float(brentq(lambda lift: power_of(lift) - power, 0.0, most, xtol=1e-15, rtol=1e-13))


def _check(deviation: float, alpha: float, ratio: float) -> None:
    check_share(alpha, "alpha")
    if deviation <= 0 or ratio <= 0:
        raise UsageError(say("the deviation of users and the ratio of the arms must be above 0"))
