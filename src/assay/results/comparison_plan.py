"""How many queries a comparison needs to show a difference, or which difference so many queries show."""

from __future__ import annotations

from dataclasses import dataclass

from assay.data.record import Record, Value
from assay.results.parts import part


@dataclass(frozen=True)
class PlannedContrast:
    """The plan for one system against the baseline on one measure; both names are empty where numbers were given.

    `deviation` is the standard deviation of the differences of queries, which there are `queries` of now. `needed` is
    how many it takes to detect the difference that was asked for, `detectable` which difference so many as were asked
    for (or as there are) detect. What cannot be said is None, with the reason.
    """

    system: str
    measure: str
    deviation: float
    queries: int | None
    needed: int | None
    detectable: float | None
    reason: str = ""

    @property
    def enough(self) -> bool:
        """Return whether the queries that there are suffice."""
        return self.queries is not None and self.needed is not None and self.needed <= self.queries


@part("comparison_plan")
@dataclass(frozen=True)
class ComparisonPlan(Record):
    """What a comparison can show with a given probability, at the level of the first of the tests made together.

    `difference` is the one to be detected and `n` the number of queries, where they were asked for.
    """

    difference: float | None
    n: int | None
    baseline: str
    contrasts: tuple[PlannedContrast, ...]
    tests: int
    alpha: float
    power: float

    @property
    def level(self) -> float:
        """The level at which the first of the tests is made."""
        return self.alpha / self.tests

    def to_rows(self) -> list[dict[str, Value]]:
        """One row per system and measure."""
        return [
            {
                "system": one.system,
                "measure": one.measure,
                "deviation": one.deviation,
                "queries": one.queries,
                "needed": one.needed,
                "detectable": one.detectable,
            }
            for one in self.contrasts
        ]
