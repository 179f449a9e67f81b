"""Alarms that a row of windows gives: how often a quiet one rings, and which shift it finds how soon.

A window is past its target if the one-sided bound of its estimate, of error level a, lies beyond the target. An alarm
begins when r windows in a row are past it. Where the truth is exactly at the target and windows are independent of each
other, each is past it with probability a, and an alarm begins in (1 - a) a^r of them: from this, a is set so that a
budget of false alarms holds with some room. Where the truth is on the good side of the target, there are fewer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.errors import UsageError
from assay.messages import say

if TYPE_CHECKING:
    from collections.abc import Sequence

_LARGEST = 0.05  # level of a window, however generous the budget
_MARGIN = 1.5  # intervals of rare events err up to 1.15 times as often as their level: a row of two 1.3 times
_SMALLEST = (
    0.008  # at lower levels, intervals of few users are not known well enough: a longer row is asked for instead
)
_LONGEST = 12  # windows in a row
_STEPS = 200  # halvings
_POWER = 0.9


@dataclass(frozen=True)
class AlarmRule:
    """So many windows in a `run`, each past its target at a one-sided `level`.

    Then `false_alarms` are expected in `windows` windows at most.
    """

    run: int
    level: float
    false_alarms: float
    windows: float

    @property
    def confidence_level(self) -> float:
        """Of the two-sided intervals whose ends are the one-sided bounds."""
        return 1 - 2 * self.level

    @property
    def delay(self) -> int:
        """Within how many windows a shift is to be found, where nothing else is said: two rows."""
        return 2 * self.run

    @property
    def is_extreme(self) -> bool:
        """Whether the level is so low that intervals of few users may err more often: see `plan_alarms`."""
        return self.level < _SMALLEST

    @property
    def expected(self) -> float:
        """False alarms that are expected in the windows of the budget, where the truth is exactly at the target."""
        return self.windows * (1 - self.level) * self.level**self.run


def plan_alarms(windows: float, *, false_alarms: float = 1.0, run: int | None = None) -> AlarmRule:
    """The rule whose expected number of false alarms in so many windows is within a budget.

    The level is set for two thirds of the budget, as intervals are not exact. Without a `run`, it is the shortest of at
    least two windows whose level is at least .008.

    >>> rule = plan_alarms(24 * 365)
    >>> rule.run, round(rule.level, 4), round(rule.expected, 3)
    (2, 0.0088, 0.667)
    """
    if not (windows >= 1 and 0 < false_alarms < windows):
        raise UsageError(
            say("{n:g} false alarms in {windows:g} windows: expected more than none, and fewer than windows",
                n=false_alarms, windows=windows)
        )  # fmt: skip
    if run is not None and not 1 <= run <= _LONGEST:
        raise UsageError(say("{n} windows in a row: expected 1 to {most}", n=run, most=_LONGEST))
    runs = range(2, _LONGEST + 1) if run is None else (run,)
    found = [AlarmRule(one, _level(false_alarms / windows / _MARGIN, one), false_alarms, windows) for one in runs]
    return next((rule for rule in found if rule.level >= _SMALLEST), found[-1])


def _level(rate: float, run: int) -> float:
    """The level a with (1 - a) a^run = rate, at most .05."""
    low, high = 0.0, _LARGEST
    if (1 - high) * high**run <= rate:
        return high
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if (1 - middle) * middle**run < rate else (low, middle)
    return low


def find_alarms(past: Sequence[bool], run: int) -> list[tuple[int, int | None]]:
    """Where alarms begin and end: the window that completes a run, and the first after it that is not past the target.

    >>> find_alarms([True, True, True, False, True, True], 2)
    [(1, 3), (5, None)]
    """
    found: list[tuple[int, int | None]] = []
    length = 0
    for place, beyond in enumerate(past):
        if not beyond and length >= run:
            found[-1] = (found[-1][0], place)
        length = length + 1 if beyond else 0
        if length == run:
            found.append((place, None))
    return found


def chance_of_alarm(share: float, run: int, windows: int) -> float:
    """The probability that so many windows hold a run, if each is past the target with this probability.

    >>> round(chance_of_alarm(0.5, 2, 3), 3)
    0.375
    """
    lengths = [1.0] + [0.0] * run  # the probability of each length of the last run; the last state is an alarm
    for _ in range(windows):
        lengths = [
            (1 - share) * math.fsum(lengths[:run]),
            *(share * before for before in lengths[: run - 1]),
            lengths[run] + share * lengths[run - 1],
        ]
    return lengths[run]


def power_quantile(rule: AlarmRule) -> float:
    """How many standard errors the truth has to be beyond what puts an estimate past its target, to ring in time.

    Each window is then past the target so often that a row of them is found within the delay in 90 of 100 cases.
    """
    from scipy.special import ndtri

    low, high = 0.0, 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if chance_of_alarm(middle, rule.run, rule.delay) < _POWER else (low, middle)
    return float(ndtri(high))
