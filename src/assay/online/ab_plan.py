"""Planning an A/B test: users and days for a lift, or the lift that so many users show."""

from __future__ import annotations

import math
from typing import Any

from assay.errors import UsageError
from assay.messages import say
from assay.online.trial_reading import read_trial
from assay.results.ab_test import ABPlan
from assay.stats.arms import pool_arms, user_deviation
from assay.stats.trials import lift_shown, users_needed


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
    12561
    """
    found, spread, named = _measure(users, measure, mean, deviation, cuped=cuped)
    if (lift is not None) + (absolute is not None) + (size is not None) != 1:
        raise UsageError(say("give one of these: a lift to be shown, or a number of users"))
    level = alpha / _at_least_one(tests)
    if size is not None:
        shown = lift_shown(spread, size, power=power, alpha=level, ratio=ratio).lift
        wanted, needed = shown, size
    else:
        wanted = absolute if absolute is not None else (lift or 0.0) * found
        needed = users_needed(wanted, spread, power=power, alpha=level, ratio=ratio).n  # type: ignore[assignment]
    return ABPlan(
        measure=named,
        mean=found,
        deviation=spread,
        lift=wanted,
        relative=wanted / found if wanted is not None and found else None,
        users=needed,
        power=power,
        alpha=level,
        tests=tests,
        ratio=ratio,
        users_per_day=users_per_day,
        days=_days(needed, users_per_day),
    )


def _at_least_one(tests: int) -> int:
    if tests < 1:
        raise UsageError(say("the number of tests must be 1 or more, not {n}", n=tests))
    return tests


def _measure(
    users: Any, measure: str | None, mean: float | None, deviation: float | None, *, cuped: bool
) -> tuple[float, float, str]:
    """The mean of a measure, how far users are from it, and its name."""
    if users is not None:
        data = read_trial(users, [measure] if measure else (), cuped=cuped, one_variant=True)
        name = data.measures[0]
        arm = pool_arms(*data.arms(name).values())
        value, spread = arm.value, user_deviation(arm)
        if value is None or not spread:
            raise UsageError(say("{measure} does not vary between users: nothing can be planned from it", measure=name))
        return value, spread, name
    if mean is None:
        raise UsageError(say("give the mean of the measure, or a file with one row per user"))
    if deviation is None:
        if not 0 < mean < 1:
            raise UsageError(
                say("give the deviation of the measure between users too: {mean:g} is not a share", mean=mean)
            )
        deviation = math.sqrt(mean * (1 - mean))
    return mean, deviation, measure or say("the measure")


def _days(users: int | None, per_day: float | None) -> int | None:
    if users is None or per_day is None:
        return None
    if per_day <= 0:
        raise UsageError(say("users per day must be above 0, not {n:g}", n=per_day))
    return math.ceil(users / per_day)
