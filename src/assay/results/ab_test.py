"""An A/B test: what was measured in each variant, how far a treatment is from the control, and what follows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from assay.data.record import Record, Value
from assay.errors import UsageError
from assay.messages import say
from assay.results.parts import part
from assay.stats.arms import Lift
from assay.stats.intervals import Interval
from assay.stats.multiplicity import Correction
from assay.stats.trials import SampleRatio

Role = Literal["primary", "secondary", "guardrail"]
LiftOutcome = Literal["better", "worse", "inconclusive", "waiting", "holds", "broken", "open"]
TrialDecision = Literal["ship", "do_not_ship", "keep_running", "invalid"]


@dataclass(frozen=True)
class TrialRules:
    """How an A/B test decides.

    `planned` is the number of users, in all variants together, at which the test ends: before it there is no verdict,
    unless the test is `sequential`, whose intervals hold at every look and are tightest near `tuning` users. `shares`
    are those of the variants as planned, equal ones unless given. A lift above `suspicious` asks for a second look.
    Arms of fewer than `least_users` get no verdict, nor do measures that rest on fewer (those who rated, say). A test
    is invalid if more than `most_crossed` of its users were in several variants.
    """

    alpha: float = 0.05
    correction: Correction = "holm"
    sequential: bool = False
    tuning: int = 10_000
    planned: int | None = None
    shares: Mapping[str, float] = field(default_factory=dict)
    least_days: int = 7
    ratio_alpha: float = 0.001
    suspicious: float = 0.2
    least_users: int = 50
    most_crossed: float = 0.01

    def __post_init__(self) -> None:
        if not 0 < self.alpha < 0.5:  # noqa: PLR2004
            raise UsageError(say("alpha = {alpha:g}: expected a number between 0 and 0.5", alpha=self.alpha))
        if self.planned is not None and self.planned < 1:
            raise UsageError(say("planned users: expected 1 or more, not {n}", n=self.planned))
        if self.tuning < 1 or self.least_days < 0:
            raise UsageError(say("tuning and days must not be negative"))


@dataclass(frozen=True)
class Guardrail:
    """What must not get worse: by less than `margin`, of the control's value where it is `relative`."""

    measure: str
    margin: float
    relative: bool
    lower_is_better: bool


@dataclass(frozen=True)
class MeasureTest:
    """One measure of one treatment against the control.

    `adjusted` is the p corrected for its family; `always` the interval that holds at every look, of a sequential test.
    A guardrail holds where its loss is surely below `margin` (in the measure's own unit), is broken where it is surely
    above it, and is open otherwise. A measure is waiting while the test is too young for any verdict.
    """

    measure: str
    treatment: str
    role: Role
    lower_is_better: bool
    lift: Lift
    outcome: LiftOutcome
    adjusted: float | None = None
    always: Interval | None = None
    margin: float | None = None


@dataclass(frozen=True)
class TrialDay:
    """One day: the users who came in, the p of their shares, and the lift of the primary measure up to it."""

    day: str
    users: Mapping[str, int]
    ratio_pvalue: float
    lifts: Mapping[str, Interval]


@dataclass(frozen=True)
class ResponseCheck:
    """The share of requests that were rated, in the control and in a treatment; where it differs, ratings may, too.

    People who answer are not all people. If a variant makes more of the unhappy ones answer, its ratings fall although
    nobody is less happy.
    """

    measure: str
    treatment: str
    control_share: float | None
    treatment_share: float | None
    pvalue: float | None
    differs: bool


@dataclass(frozen=True)
class TrialVerdict:
    """What follows for one treatment, with every reason."""

    treatment: str
    decision: TrialDecision
    reasons: tuple[str, ...]


class Verdicts:
    """What follows from the verdicts on all treatments of a test."""

    verdicts: tuple[TrialVerdict, ...]

    @property
    def decision(self) -> TrialDecision:
        """What follows from all treatments: ship if one may be, keep running if one needs it, else the first one's."""
        found = [one.decision for one in self.verdicts]
        return next((one for one in ("ship", "keep_running") if one in found), found[0])

    def passes(self, *, strict: bool = False) -> bool:
        """Return whether nothing stops a release: with `strict`, an invalid test or a no does."""
        return not strict or self.decision in {"ship", "keep_running"}


@part("ab_test")
@dataclass(frozen=True)
class ABTest(Verdicts, Record):
    """An A/B test with its decision; users are those who were assigned, by variant."""

    control: str
    treatments: tuple[str, ...]
    rules: TrialRules
    users: Mapping[str, int]
    ratio: SampleRatio
    tests: tuple[MeasureTest, ...]
    verdicts: tuple[TrialVerdict, ...]
    days: tuple[TrialDay, ...] = ()
    full_days: int | None = None
    warnings: tuple[str, ...] = ()
    responses: tuple[ResponseCheck, ...] = ()

    def test(self, measure: str, treatment: str | None = None) -> MeasureTest:
        """Find one measure's test, of the only treatment unless it is named."""
        wanted = treatment or self.treatments[0]
        return next(one for one in self.tests if (one.measure, one.treatment) == (measure, wanted))

    @property
    def primary(self) -> str:
        """The measure that decides."""
        return next(one.measure for one in self.tests if one.role == "primary")

    def to_rows(self) -> list[dict[str, Value]]:
        """One row per treatment and measure."""
        return [
            {
                "treatment": one.treatment,
                "measure": one.measure,
                "role": one.role,
                "control_value": one.lift.control,
                "treatment_value": one.lift.treatment,
                "lift": one.lift.absolute.estimate,
                "low": one.lift.absolute.low,
                "high": one.lift.absolute.high,
                "relative": one.lift.relative.estimate,
                "relative_low": one.lift.relative.low,
                "relative_high": one.lift.relative.high,
                "pvalue": one.lift.pvalue,
                "adjusted": one.adjusted,
                "outcome": one.outcome,
            }
            for one in self.tests
        ]


@part("ab_plan")
@dataclass(frozen=True)
class ABPlan(Record):
    """How many users an A/B test needs, or which lift so many users show.

    `lift` is absolute; `relative` the same as a share of the control's `mean`. `users` are those of both arms together,
    `days` how long they take at `users_per_day`. `deviation` is that of users without the lift, `treatment_deviation`
    that of users with it.
    """

    measure: str
    mean: float
    deviation: float
    lift: float | None
    relative: float | None
    users: int | None
    power: float
    alpha: float
    tests: int
    ratio: float
    users_per_day: float | None = None
    days: int | None = None
    treatment_deviation: float | None = None

    def to_rows(self) -> list[dict[str, Value]]:
        """One row."""
        return [
            {
                "measure": self.measure, "mean": self.mean, "deviation": self.deviation,
                "treatment_deviation": self.treatment_deviation, "lift": self.lift,
                "relative": self.relative, "users": self.users, "days": self.days, "power": self.power,
                "alpha": self.alpha,
            }
        ]  # fmt: skip
