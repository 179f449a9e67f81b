"""Planning an A/B test: users and days for a lift, or the lift that so many users show."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from assay.errors import UsageError
from assay.messages import say
from assay.online.trial_reading import read_trial
from assay.results.ab_test import ABPlan
from assay.stats.arms import Arm, pool_arms, raise_arm, user_deviation, user_deviations
from assay.stats.trials import share_power, smallest_lift, smallest_size, trial_power


def plan_ab_test(
    users: Any = None,
    measure: str | None = None,
    *,
    mean: float | None = None,
    deviation: float | None = None,
    lift: float | None = None,
    absolute: float | None = None,
    size: int | None = None,
    power: float = 0.8,
    alpha: float = 0.05,
    tests: int = 1,
    ratio: float = 1.0,
    users_per_day: float | None = None,
    cuped: bool = True,
) -> ABPlan:
    """Say how many users, in both arms together, show a lift, or which lift `size` users show.

    The mean and the deviation of a measure between users come from one row per user of last month, or are given; a
    share needs its mean alone. `lift` is relative (0.05 for 5%), `absolute` in the measure's unit. With `tests`
    measures or treatments in one family, alpha is divided by their number. `ratio` is the users of the treatment for
    each of the control.

    >>> import assay
    >>> assay.plan_ab_test(mean=0.2, lift=0.1, users_per_day=1000).users
    13019
    """
    known = _look_at(users, measure, mean, deviation, cuped=cuped)
    if (lift is not None) + (absolute is not None) + (size is not None) != 1:
        raise UsageError(say("give one of these: a lift to be shown, or a number of users"))
    level = alpha / _at_least_one(tests)
    if size is not None:
        wanted, needed = known.lift_shown(size, power, level, ratio), size
    else:
        wanted = absolute if absolute is not None else (lift or 0.0) * known.mean
        needed = known.users_needed(wanted, power, level, ratio)  # type: ignore[assignment]
    return ABPlan(
        measure=known.name,
        mean=known.mean,
        deviation=known.deviation,
        lift=wanted,
        relative=wanted / known.mean if wanted is not None and known.mean else None,
        users=needed,
        power=power,
        alpha=level,
        tests=tests,
        ratio=ratio,
        users_per_day=users_per_day,
        days=_days(needed, users_per_day),
        treatment_deviation=None if wanted is None else known.deviations(wanted)[1],
    )


def _at_least_one(tests: int) -> int:
    if tests < 1:
        raise UsageError(say("the number of tests must be 1 or more, not {n}", n=tests))
    return tests


@dataclass(frozen=True)
class _Known:
    """What is known of a measure: its users before any lift, and whether their values are shares or counts.

    Ratios that cannot be above 1 are `limited`.
    """

    name: str
    arm: Arm
    share: bool
    counts: bool
    limited: bool = False

    @property
    def mean(self) -> float:
        assert self.arm.value is not None
        return self.arm.value

    @property
    def deviation(self) -> float:
        return self.deviations(0.0)[0]

    def deviations(self, lift: float) -> tuple[float, float]:
        """How far users of both arms are from their means under a true lift, by `raise_arm`."""
        relative = lift / self.mean if self.mean > 0 else -1.0
        if self.limited and self.mean + lift > 1:
            raise UsageError(
                say("{measure} cannot be above 1, and a lift of {lift:g} makes {new:g} of {mean:g}",
                    measure=self.name, lift=lift, new=self.mean + lift, mean=self.mean)
            )  # fmt: skip
        return user_deviations(self.arm, raise_arm(self.arm, relative, counts=self.counts))

    def power(self, lift: float, n: float, level: float, ratio: float) -> float:
        """Chance that the analysis of n users shows a lift."""
        old, new = self.deviations(lift)
        if self.share:
            return share_power(self.mean, lift, n=n, alpha=level, ratio=ratio)
        return trial_power(lift, old, n=n, treatment_deviation=new, alpha=level, ratio=ratio)

    def users_needed(self, lift: float, power: float, level: float, ratio: float) -> int | None:
        return smallest_size(lift, lambda n: self.power(lift, n, level, ratio), power)

    def lift_shown(self, n: int, power: float, level: float, ratio: float) -> float | None:
        largest = 1 - self.mean if self.limited else math.inf
        return smallest_lift(self.deviation, lambda lift: self.power(lift, n, level, ratio), power, largest=largest)


def _look_at(users: Any, measure: str | None, mean: float | None, deviation: float | None, *, cuped: bool) -> _Known:
    if users is not None:
        data = read_trial(users, [measure] if measure else (), cuped=cuped, one_variant=True)
        name = data.measures[0]
        arm, share = pool_arms(*data.arms(name).values()), name in data.shares
        if not user_deviation(arm):
            raise UsageError(say("{measure} does not vary between users: nothing can be planned from it", measure=name))
        return _Known(name, arm, share, share or name in data.counts, share or name in data.limited)
    if mean is None:
        raise UsageError(say("give the mean of the measure, or a file with one row per user"))
    share = deviation is None
    if deviation is None:
        if not 0 < mean < 1:
            raise UsageError(
                say("give the deviation of the measure between users too: {mean:g} is not a share", mean=mean)
            )
        deviation = math.sqrt(mean * (1 - mean))
    if deviation <= 0:
        raise UsageError(say("the deviation of users and the ratio of the arms must be above 0"))
    return _Known(measure or say("the measure"), _arm_about(mean, deviation), share, share, share)


_MANY = 10**9  # users of whom mean and deviation are known


def _arm_about(mean: float, deviation: float) -> Arm:
    still = (0.0, 0.0, 0.0, 0.0)
    return Arm(_MANY, (mean, 1.0, 0.0, 1.0), ((deviation**2, 0.0, 0.0, 0.0), still, still, still))


def _days(users: int | None, per_day: float | None) -> int | None:
    if users is None or per_day is None:
        return None
    if per_day <= 0:
        raise UsageError(say("users per day must be above 0, not {n:g}", n=per_day))
    return math.ceil(users / per_day)
