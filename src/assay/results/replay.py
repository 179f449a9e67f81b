"""What another ranking would have earned on a log, and whether the log can tell."""

from __future__ import annotations

from dataclasses import dataclass

from assay.data.record import Record, Value
from assay.errors import UsageError
from assay.messages import say
from assay.results.parts import part
from assay.stats.intervals import Interval
from assay.stats.off_policy import Estimator


@dataclass(frozen=True)
class ReplayRules:
    """When a log cannot tell.

    It takes `least_ess` effective rows, no weight above `largest` of their sum, and a mean of the weights that is not
    surely below `least_weight`: it is 1 where the log can show all that the policy does.
    """

    least_ess: float = 100.0
    largest: float = 0.05
    least_weight: float = 0.9
    confidence_level: float = 0.95

    def __post_init__(self) -> None:
        if not 0 < self.confidence_level < 1:
            raise UsageError(say("{name} must be between 0 and 1, not {value}", name="confidence_level",
                                 value=self.confidence_level))  # fmt: skip


@dataclass(frozen=True)
class PolicyEstimate:
    """One estimate of what the policy earns, by row; `item_position` is by list.

    Without overlap there is no estimate and no interval, which says why. `largest_weight` is a share of the sum.
    """

    estimator: Estimator
    estimate: float | None
    interval: Interval
    ess: float
    largest_weight: float


@part("replay")
@dataclass(frozen=True)
class Replay(Record):
    """What a policy would have earned on the rows of a log; the first estimate is the one to read.

    `logged` is what was earned, `difference` the first estimate less that. `mean_weight` is 1 where the log can
    show all that the policy does. `lists` is the number of lists, where the log says what belongs to one. `unit` is
    what is drawn at random: user, request or row.
    """

    policy: str
    estimates: tuple[PolicyEstimate, ...]
    logged: Interval
    difference: Interval
    mean_weight: Interval
    rows: int
    items: int
    lists: int | None
    unit: str
    rules: ReplayRules
    overlap: bool
    warnings: tuple[str, ...] = ()

    def estimate(self, estimator: Estimator) -> PolicyEstimate:
        """Find one estimate."""
        return next(one for one in self.estimates if one.estimator == estimator)

    @property
    def best(self) -> PolicyEstimate:
        """The estimate to read: the self-normalised one."""
        return self.estimates[0]

    def topic(self) -> str:
        """Name the policy."""
        return self.policy

    def to_rows(self) -> list[dict[str, Value]]:
        """One row per estimator."""
        return [
            {
                "policy": self.policy,
                "estimator": one.estimator,
                "estimate": one.estimate,
                "low": one.interval.low,
                "high": one.interval.high,
                "ess": one.ess,
                "largest_weight": one.largest_weight,
                "logged": self.logged.estimate,
            }
            for one in self.estimates
        ]
