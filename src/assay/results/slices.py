"""Systems against a baseline by kind of query: the lift in each slice, corrected for looking at several."""

from __future__ import annotations

from dataclasses import dataclass, field

from assay.data.record import Record, Value
from assay.messages import say
from assay.results.codec import UNSTORED, ScoresBehind
from assay.results.comparison import Rules, Weight
from assay.results.conclusion import Decision
from assay.results.parts import part
from assay.stats.intervals import Interval


@dataclass(frozen=True)
class SliceLift:
    """One system against the baseline on one measure, over the queries that share a value of the attribute.

    `effective_n` is the number of equally weighted, independent queries that are worth as much, and `weight` names the
    heaviest one where queries have weights. `pvalue` is the permutation test's and `adjusted` corrected for all slices
    and systems; both are None where the queries are too few for a verdict. `turned` says that the difference would be
    shown if this slice were the only one.
    """

    value: str
    system: str
    measure: str
    effective_n: float
    before: float | None
    after: float | None
    difference: Interval
    relative: Interval
    pvalue: float | None
    adjusted: float | None
    verdict: Decision
    turned: bool = False
    weight: Weight | None = None

    @property
    def n(self) -> int:
        """The number of queries."""
        return self.difference.n

    @property
    def too_few(self) -> bool:
        """Return whether there are too few queries for a verdict."""
        return self.pvalue is None


@part("slices")
@dataclass(frozen=True)
class SliceComparison(Record):
    """The lift of every system over the baseline in every slice of an attribute.

    `tests` is the number of tests that were corrected together, `lacking` the number of queries without attributes.
    `weighted` and `clustered` say why a query may count for less than one.
    """

    attribute: str
    baseline: str
    systems: tuple[str, ...]
    measures: tuple[str, ...]
    rules: Rules
    lifts: tuple[SliceLift, ...]
    tests: int
    lacking: int = 0
    weighted: bool = False
    clustered: bool = False
    scores: ScoresBehind = field(default=(), compare=False, repr=False, metadata=UNSTORED)

    def __post_init__(self) -> None:
        if any(one.system not in self.systems or one.measure not in self.measures for one in self.lifts):
            raise ValueError(say("lifts must be of systems and measures that are compared"))

    @property
    def uneven(self) -> bool:
        """Return whether a query may count for more or less than another."""
        return self.weighted or self.clustered

    def of(self, measure: str) -> tuple[SliceLift, ...]:
        """The lifts on one measure."""
        return tuple(one for one in self.lifts if one.measure == measure)

    def count(self, measure: str, verdict: Decision) -> int:
        """How many lifts on one measure have this verdict; those with too few queries have none."""
        return sum(one.verdict == verdict and not one.too_few for one in self.of(measure))

    def to_rows(self) -> list[dict[str, Value]]:
        """One row per slice, system and measure."""
        return [
            {
                "attribute": self.attribute,
                "value": one.value,
                "system": one.system,
                "baseline": self.baseline,
                "measure": one.measure,
                "queries": one.n,
                "effective": one.effective_n,
                "baseline_mean": one.before,
                "mean": one.after,
                "difference": one.difference.estimate,
                "low": one.difference.low,
                "high": one.difference.high,
                "relative": one.relative.estimate,
                "pvalue": one.pvalue,
                "adjusted": one.adjusted,
                "verdict": "" if one.too_few else one.verdict,
                "reason": "too_few" if one.too_few else one.difference.reason,
            }
            for one in self.lifts
        ]
