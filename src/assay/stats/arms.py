"""A/B tests from sufficient statistics: what was measured of the users of an arm, and the lift between two arms.

Users are the unit: they were assigned to the arms, and what one user does is correlated. A measure of an arm is a
mean over its users or a ratio of two sums (clicks over impressions), and may be corrected by what the same users did
before the test (CUPED). All of it is one formula over four columns of a user, of which a plain mean needs the first.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from assay.errors import UsageError
from assay.messages import say
from assay.stats.inputs import check_share, vector
from assay.stats.intervals import Interval, proportion_interval
from assay.stats.moments import NO_SPREAD

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from assay.stats.inputs import Floats

COLUMNS = ("value", "denominator", "covariate", "covariate_denominator")
_CONSTANT = (0.0, 1.0, 0.0, 1.0)  # the value of a column that was not given

NO_USERS = "an arm has fewer than two users"
NO_CONTROL = "the control's value is not above 0"
NO_TREATMENT = "the treatment's value is not above 0"
NO_DENOMINATOR = "a denominator sums to 0"


@dataclass(frozen=True)
class Arm:
    """Users of one variant in one measure: how many, the means of the four columns, and how these vary together.

    Covariances divide by n - 1. A column that does not exist is constant: a denominator 1, a covariate 0.
    """

    n: int
    means: tuple[float, ...]
    covariances: tuple[tuple[float, ...], ...]

    @property
    def value(self) -> float | None:
        """The mean of the users' values, or the ratio of their sums."""
        return self.means[0] / self.means[1] if self.means[1] else None

    @property
    def effective_n(self) -> float:
        """How many users with equal denominators the ratio rests on: all of them where there is no denominator."""
        mean, variance = self.means[1], self.covariances[1][1] * (self.n - 1) / max(self.n, 1)
        return self.n * mean**2 / (mean**2 + variance) if mean else 0.0


def arm_of(
    values: ArrayLike,
    denominator: ArrayLike | None = None,
    *,
    covariate: ArrayLike | None = None,
    covariate_denominator: ArrayLike | None = None,
) -> Arm:
    """Summarise one arm from one value per user.

    >>> arm_of([1, 0, 2], [4, 1, 5]).value
    0.3
    """
    given = (values, denominator, covariate, covariate_denominator)
    n = len(vector(values))
    columns = [
        np.full(n, constant) if column is None else vector(column, name)
        for column, constant, name in zip(given, _CONSTANT, COLUMNS, strict=True)
    ]
    for name, column in zip(COLUMNS, columns, strict=True):
        if len(column) != n:
            raise UsageError(say("{name} has {n} users, value has {other}", name=name, n=len(column), other=n))
        if np.isnan(column).any():
            raise UsageError(say("{name}: every user needs a number", name=name))
    table = np.stack(columns)
    means = table.mean(axis=1) if n else np.zeros(len(COLUMNS))
    around = table - means[:, None]
    return _arm(n, means, around @ around.T / max(n - 1, 1))


def arm_from_sums(n: int, sums: Sequence[float | None], *, products: Sequence[Sequence[float | None]]) -> Arm:
    """Summarise one arm from sums over its users, and from sums of the products of each two columns.

    None means a column that does not exist, and its products. A product that is missing between two columns that exist
    (the covariate's with a denominator) is refused, as it cannot be inferred.
    """
    if n < 1:
        return _arm(0, np.zeros(len(COLUMNS)), np.zeros((len(COLUMNS), len(COLUMNS))))
    exists = [total is not None for total in sums]
    means = np.array(
        [stand_in if total is None else total / n for total, stand_in in zip(sums, _CONSTANT, strict=True)]
    )
    covariances = np.zeros((len(COLUMNS), len(COLUMNS)))
    for i in range(len(COLUMNS)):
        for j in range(len(COLUMNS)):
            if not (exists[i] and exists[j]):
                continue
            product = products[i][j] if products[i][j] is not None else products[j][i]
            if product is None:
                raise UsageError(say("the sum of {first} x {second} is missing", first=COLUMNS[i], second=COLUMNS[j]))
            covariances[i, j] = (product - n * means[i] * means[j]) / max(n - 1, 1)
    if (np.diag(covariances) < -1e-9 * (means**2 + 1)).any():
        raise UsageError(say("the sums do not fit together: a sum of squares is too small for its sum"))
    return _arm(n, means, covariances)


def _arm(n: int, means: Floats, covariances: Floats) -> Arm:
    return Arm(n, tuple(means.tolist()), tuple(tuple(row) for row in covariances.tolist()))


def pool_arms(*arms: Arm) -> Arm:
    """Put the users of several arms, or of several days with other users, together."""
    n = sum(arm.n for arm in arms)
    if n == 0:
        return arms[0]
    each = np.array([arm.means for arm in arms if arm.n])
    means = sum((arm.n / n * np.array(arm.means) for arm in arms), np.zeros(len(COLUMNS)))
    means = np.clip(means, each.min(axis=0), each.max(axis=0))  # rounding must not move a column that is constant
    scatter = np.zeros((len(COLUMNS), len(COLUMNS)))
    for arm in arms:
        off = np.array(arm.means) - means
        scatter += max(arm.n - 1, 0) * np.array(arm.covariances) + arm.n * np.outer(off, off)
    return _arm(n, means, scatter / max(n - 1, 1))


@dataclass(frozen=True)
class Lift:
    """How far a treatment is above the control: absolute and relative, with intervals and the p of no difference.

    `control` and `treatment` are the values shown beside it; with a covariate they are corrected by it. `reduction` is
    the share of the variance that the covariate took away. `standard_error` is that of the absolute lift, `errors` are
    those of control and treatment.
    """

    control: float | None
    treatment: float | None
    absolute: Interval
    relative: Interval
    pvalue: float | None
    standard_error: float | None
    method: str
    n: tuple[int, int]
    errors: tuple[float, float] | None = None
    reduction: float = 0.0


@dataclass(frozen=True)
class _Estimate:
    """The value of an arm and the variance of one user's share in it."""

    value: float
    variance: float
    n: int

    @property
    def error(self) -> float:
        """Squared standard error of the value."""
        return self.variance / self.n


def lift(control: Arm, treatment: Arm, *, confidence_level: float = 0.95) -> Lift:
    """Lift of a mean or a ratio by the delta method, with Welch's degrees of freedom.

    A user's share in a ratio r = sum(y)/sum(d) is (y - r d)/mean(d), so that the users' own variation counts, not that
    of their sessions. CUPED takes theta (x - mean x) away, with theta from all users of both arms (Deng et al. 2013).
    The relative interval is that of the logarithm of the ratio of both values, taken back.
    """
    check_share(confidence_level, "confidence_level")
    n = (control.n, treatment.n)
    both = pool_arms(control, treatment)
    reason = _impossible(control, treatment)
    method = "welch" if both.covariances[1][1] == 0 else "delta"
    method += "+cuped" if both.covariances[2][2] > 0 else ""
    if reason:
        empty = Interval(None, None, None, confidence_level, method, sum(n), reason)
        return Lift(control.value, treatment.value, empty, empty, None, None, method, n)
    theta, centre = _covariate_slope(both), both.means[2] / both.means[3]
    old, new = (_estimate(arm, theta, centre) for arm in (control, treatment))
    plain = [_estimate(arm, 0.0, centre) for arm in (control, treatment)]
    before = plain[0].error + plain[1].error
    absolute, pvalue = _absolute(old, new, confidence_level, method)
    return Lift(
        old.value, new.value, absolute, _relative(old, new, confidence_level, method), pvalue,
        math.sqrt(old.error + new.error), method, n, (math.sqrt(old.error), math.sqrt(new.error)),
        reduction=1 - (old.error + new.error) / before if before and theta else 0.0,
    )  # fmt: skip


def user_deviation(arm: Arm) -> float | None:
    """Standard deviation of one user's share in the arm's value, less what its covariate explains."""
    return None if _impossible(arm) else user_deviations(arm, arm)[0]


def user_deviations(control: Arm, treatment: Arm) -> tuple[float, float]:
    """Standard deviations of one user's share in the value of each arm, as `lift` takes them."""
    both = pool_arms(control, treatment)
    theta, centre = _covariate_slope(both), both.means[2] / both.means[3]
    old, new = (_estimate(arm, theta, centre) for arm in (control, treatment))
    return math.sqrt(old.variance), math.sqrt(new.variance)


def raise_arm(arm: Arm, lift: float, *, counts: bool = False) -> Arm:
    """The users of an arm as they are expected to be where their values are `lift` higher, relative to what they are.

    Every user's value is taken to change by the same factor f, and what it varies with (denominators, covariates) to
    stay: its variance changes by f^2. Counts are numbers of events that become more or less frequent by f and are as
    independent of each other as before: E[y (y - 1)] changes by f^2 and E[y] by f. This is exact for Poisson and
    binomial numbers with a chance of their own for every user, and makes p (1 - p) of a share. Counts that vary less
    than independent events would, and are no shares, are taken as values; where f is not above 0 the spread stays.
    """
    f, by = 1 + lift, np.array([1 + lift, 1.0, 1.0, 1.0])
    if f <= 0:
        return _arm(arm.n, np.array(arm.means) * by, np.array(arm.covariances))
    scaled = _arm(arm.n, np.array(arm.means) * by, np.array(arm.covariances) * np.outer(by, by))
    if not counts or _is_regular(arm):
        return scaled
    spread = np.array(scaled.covariances)
    spread[0, 0] -= (f * f - f) * arm.means[0] * arm.n / max(arm.n - 1, 1)
    thinned = _arm(arm.n, np.array(scaled.means), spread)
    return thinned if user_deviation(thinned) else scaled


_REGULAR = 0.9  # of the variance of independent events: less is not a matter of chance in any table of users


def _is_regular(arm: Arm) -> bool:
    """Say whether numbers of events vary less than independent events do, given the covariate, and are not 0 or 1.

    Independent events are Poisson numbers, or of a ratio below 1 binomial ones.
    """
    mean, below, *_ = arm.means
    variance, ratio = arm.covariances[0][0] * (arm.n - 1) / max(arm.n, 1), arm.covariances[1][1] > 0
    pairs = variance + mean**2 - mean  # E[y (y - 1)]
    if not ratio and pairs <= 1e-9 * mean:
        return False
    independent = mean * (1 - mean / below) if ratio and mean < below else mean
    return (user_deviation(arm) or 0.0) ** 2 * below**2 < _REGULAR * independent


def _impossible(*arms: Arm) -> str:
    if any(arm.n < 2 for arm in arms):  # noqa: PLR2004
        return NO_USERS
    return NO_DENOMINATOR if any(arm.means[1] <= 0 or arm.means[3] <= 0 for arm in arms) else ""


def _gradients(arm: Arm) -> tuple[Floats, Floats]:
    """How the arm's ratio, and that of its covariate, change with the four means."""
    value, below, covariate, covariate_below = arm.means
    own = np.array([1 / below, -value / below**2, 0.0, 0.0])
    other = np.array([0.0, 0.0, 1 / covariate_below, -covariate / covariate_below**2])
    return own, other


def _covariate_slope(both: Arm) -> float:
    """The theta of CUPED: covariance of the measure with the covariate over the variance of the covariate."""
    own, other = _gradients(both)
    covariances = np.array(both.covariances)
    variance = float(other @ covariances @ other)
    return float(own @ covariances @ other) / variance if variance > 0 else 0.0


def _estimate(arm: Arm, theta: float, centre: float) -> _Estimate:
    own, other = _gradients(arm)
    direction = own - theta * other
    value = arm.means[0] / arm.means[1] - theta * (arm.means[2] / arm.means[3] - centre)
    variance = float(direction @ np.array(arm.covariances) @ direction)
    return _Estimate(value, max(variance, 0.0), arm.n)  # rounding may leave less than nothing of it


def _welch(old: float, new: float, n: tuple[int, int]) -> float:
    """Satterthwaite's degrees of freedom of the sum of two squared standard errors."""
    return (old + new) ** 2 / (old**2 / (n[0] - 1) + new**2 / (n[1] - 1))


def _absolute(old: _Estimate, new: _Estimate, level: float, method: str) -> tuple[Interval, float | None]:
    from scipy.special import stdtr, stdtrit

    difference, squared, n = new.value - old.value, old.error + new.error, old.n + new.n
    if squared <= 0:
        return Interval(difference, None, None, level, method, n, NO_SPREAD), None
    error, df = math.sqrt(squared), _welch(old.error, new.error, (old.n, new.n))
    half = float(stdtrit(df, 0.5 + level / 2)) * error
    p = 2 * float(stdtr(df, -abs(difference) / error))
    return Interval(difference, difference - half, difference + half, level, method, n), p


_WIDEST = 300.0  # of the logarithm of a ratio: wider intervals have ends that no number holds


def _relative(old: _Estimate, new: _Estimate, level: float, method: str) -> Interval:
    from scipy.special import stdtrit

    n = old.n + new.n
    if old.value <= 0 or new.value <= 0:
        ratio = new.value / old.value - 1 if old.value > 0 else None
        return Interval(ratio, None, None, level, method, n, NO_CONTROL if ratio is None else NO_TREATMENT)
    ratio = new.value / old.value
    shares = old.error / old.value**2, new.error / new.value**2
    if sum(shares) <= 0:
        return Interval(ratio - 1, None, None, level, method, n, NO_SPREAD)
    wide = float(stdtrit(_welch(*shares, (old.n, new.n)), 0.5 + level / 2)) * math.sqrt(sum(shares))
    factor = math.exp(min(wide, _WIDEST))
    return Interval(ratio - 1, ratio / factor - 1, ratio * factor - 1, level, method, n)


def excess(found: Lift, factor: float = 1.0) -> tuple[float, float, float] | None:
    """How far the treatment is above `factor` times the control: the estimate, its standard error, Welch's df.

    It is what a margin relative to the control is tested with: the control's own error counts, too. None where there is
    no spread to estimate it from.
    """
    if found.control is None or found.treatment is None or found.errors is None:
        return None
    old, new = (factor * found.errors[0]) ** 2, found.errors[1] ** 2
    if old + new <= 0:
        return None
    return found.treatment - factor * found.control, math.sqrt(old + new), _welch(old, new, found.n)


def share_excess(found: Lift, factor: float = 1.0, *, confidence_level: float = 0.95) -> Interval:
    """How far a share of the treatment is above `factor` times that of the control, by Wilson's limits of both.

    Both limits are put together as Newcombe does (MOVER), so that it holds for shares near 0 and 1.
    """
    assert found.control is not None and found.treatment is not None
    (n, m), level = found.n, confidence_level
    old, new = (
        proportion_interval(round(share * of), of, confidence_level=level)
        for share, of in ((found.control, n), (found.treatment, m))
    )
    assert old.low is not None and old.high is not None and new.low is not None and new.high is not None
    p, q = found.control, found.treatment
    d = q - factor * p
    low = d - math.hypot(q - new.low, factor * (old.high - p))
    high = d + math.hypot(new.high - q, factor * (p - old.low))
    return Interval(d, low, high, level, "newcombe", n + m)


def share_lift(control: tuple[int, int], treatment: tuple[int, int], *, confidence_level: float = 0.95) -> Lift:
    """Lift of a share of users from (successes, users): Newcombe's interval and the z test of equal shares.

    Newcombe's (1998, method 10) puts Wilson's intervals of both shares together, so it holds for shares near 0 and 1.
    The relative interval is that of the logarithm of the ratio of the shares.
    """
    from scipy.special import ndtr

    check_share(confidence_level, "confidence_level")
    (a, n), (b, m) = control, treatment
    if not n or not m:
        empty = Interval(None, None, None, confidence_level, "newcombe", n + m, NO_USERS)
        return Lift(None, None, empty, empty, None, None, "newcombe", (n, m))
    old, new = (proportion_interval(k, of, confidence_level=confidence_level) for k, of in (control, treatment))
    p, q, d = a / n, b / m, b / m - a / n
    assert old.low is not None and old.high is not None and new.low is not None and new.high is not None
    absolute = Interval(
        d, d - math.hypot(q - new.low, old.high - p), d + math.hypot(new.high - q, p - old.low),
        confidence_level, "newcombe", n + m,
    )  # fmt: skip
    together = (a + b) / (n + m)
    spread = together * (1 - together) * (1 / n + 1 / m)
    pvalue = 2 * float(ndtr(-abs(d) / math.sqrt(spread))) if spread > 0 else None
    errors = math.sqrt(p * (1 - p) / n), math.sqrt(q * (1 - q) / m)
    relative = _relative_share(a, n, b, m, confidence_level)
    return Lift(p, q, absolute, relative, pvalue, math.hypot(*errors), "newcombe", (n, m), errors)


def _relative_share(a: int, n: int, b: int, m: int, level: float) -> Interval:
    """Interval of the ratio of two shares by the variance of its logarithm (Katz et al. 1978)."""
    from scipy.special import ndtri

    if not a or not b:
        ratio = (b / m) / (a / n) - 1 if a else None
        return Interval(ratio, None, None, level, "log", n + m, NO_TREATMENT if a else NO_CONTROL)
    ratio = (b / m) / (a / n)
    squared = 1 / a - 1 / n + 1 / b - 1 / m
    if squared <= 0:
        return Interval(ratio - 1, None, None, level, "log", n + m, NO_SPREAD)
    factor = math.exp(float(ndtri(0.5 + level / 2)) * math.sqrt(squared))
    return Interval(ratio - 1, ratio / factor - 1, ratio * factor - 1, level, "log", n + m)
