"""How far the judges of a panel agree: with each other, with themselves, with people, and on which system is better."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from assay.data.record import Record, Value
from assay.results.parts import part
from assay.stats.agreement import Agreement
from assay.stats.intervals import Interval


@dataclass(frozen=True)
class PanelJudge:
    """One judge: how many of its answers are grades, how steady it is, how far it agrees, and what it takes.

    `repeated` pairs have two grades of it or more; `flips` is the share of them whose grades are not all the same,
    `apart` how often two of its grades of one pair differ. `people` and `bias` (judge - people) are over the pairs with
    a label. `tokens` and `cost` are what all its answers take when none is in the cache.
    """

    judge: str
    asked: int
    graded: int
    failures: Mapping[str, int]
    pairs: int
    repeated: int
    flips: Interval
    apart: Interval
    people: Agreement | None
    bias: Interval | None
    tokens: int | None
    cost: float | None
    currency: str


@dataclass(frozen=True)
class JudgePair:
    """How far two judges agree on the pairs that both graded: quadratic kappa, and the share of equal grades."""

    first: str
    second: str
    pairs: int
    kappa: Agreement
    exact: float | None


@dataclass(frozen=True)
class PanelCalibration:
    """Grades on the scale of people's labels: constant + sum of weights times the judges' grades, cross-fitted.

    `errors` are root mean squared errors on the labelled pairs, of every judge and of the calibrated grades, each pair
    predicted by a model that has not seen the labels of its query. `mean` is the mean grade that people would give to
    all pairs, for labels of pairs or queries drawn at random; `plain` is that of the judges as they are.
    """

    labels: int
    queries: int
    folds: int
    constant: float
    weights: Mapping[str, float]
    errors: Mapping[str, float]
    error: float
    mean: Interval
    plain: float


@dataclass(frozen=True)
class SystemBand:
    """A system's mean of a measure under the grades of the panel and of each judge; `low` and `high` over judges."""

    system: str
    measure: str
    panel: float | None
    judges: Mapping[str, float | None]

    @property
    def low(self) -> float | None:
        """The lowest mean under any judge."""
        return min((value for value in self.judges.values() if value is not None), default=None)

    @property
    def high(self) -> float | None:
        """The highest mean under any judge."""
        return max((value for value in self.judges.values() if value is not None), default=None)


@dataclass(frozen=True)
class Swap:
    """Two systems whose order depends on the judge: the difference of their means at least and at most, who differs.

    The first one has the higher mean under the panel's grades.
    """

    measure: str
    first: str
    second: str
    low: float
    high: float
    against: tuple[str, ...]


@part("panel")
@dataclass(frozen=True)
class Panel(Record):
    """A panel of judges on pairs of queries and documents.

    `graded` pairs have a grade of the panel, `by_all` of them one of every judge; of `tied` ones the grade was chosen
    by rule. `alpha` is over all judges, `people` is the agreement of the panel's grades with labels. Agreement is that
    of each judge's own grade, its repeats combined as those of the panel are. Intervals draw whole queries.
    """

    judge: str
    combine: str
    repeats: int
    pairs: int
    queries: int
    graded: int
    by_all: int
    tied: int
    judges: tuple[PanelJudge, ...]
    agreements: tuple[JudgePair, ...]
    alpha: Agreement
    labels: int
    people: Agreement | None
    calibration: PanelCalibration | None
    systems: tuple[SystemBand, ...]
    swaps: tuple[Swap, ...]
    warnings: tuple[str, ...]

    @property
    def measures(self) -> tuple[str, ...]:
        """The measures of the systems."""
        return tuple(dict.fromkeys(one.measure for one in self.systems))

    @property
    def pairs_of_systems(self) -> int:
        """How many pairs of systems have an order that could differ."""
        systems = len({one.system for one in self.systems})
        return systems * (systems - 1) // 2

    def swaps_of(self, measure: str) -> tuple[Swap, ...]:
        """The systems whose order by a measure depends on the judge."""
        return tuple(one for one in self.swaps if one.measure == measure)

    def models(self) -> dict[str, str]:
        """The judges."""
        return {"judge": self.judge}

    def topic(self) -> str:
        """The judges."""
        return self.judge

    def to_rows(self) -> list[dict[str, Value]]:
        """One row per judge."""
        return [
            {
                "judge": one.judge,
                "asked": one.asked,
                "graded": one.graded,
                "flips": one.flips.estimate,
                "flips_low": one.flips.low,
                "flips_high": one.flips.high,
                "apart": one.apart.estimate,
                "kappa_people": None if one.people is None else one.people.value,
                "bias": None if one.bias is None else one.bias.estimate,
                "tokens": one.tokens,
                "cost": one.cost,
                "currency": one.currency,
            }
            for one in self.judges
        ]
