"""Whether a change may pass: the outcome of every rule for one system."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from assay.data.record import Record, Value
from assay.results.codec import UNSTORED, ScoresBehind
from assay.results.parts import part
from assay.stats.intervals import Interval

Outcome = Literal["passed", "failed", "inconclusive"]


@dataclass(frozen=True)
class RuleCheck:
    """One rule's outcome, with the number it stands on; None where there is none."""

    name: str
    measure: str
    outcome: Outcome
    value: float | None
    interval: Interval | None
    message: str

    def fails(self, *, strict: bool = False) -> bool:
        """Say whether the rule failed; with `strict`, one that cannot be decided fails."""
        return self.outcome == "failed" or (self.outcome == "inconclusive" and strict)


@part("gates", many=True, view="gate")
@dataclass(frozen=True)
class Gate(Record):
    """Outcomes of all rules for one system, and the worst of them."""

    system: str
    outcome: Outcome
    checks: tuple[RuleCheck, ...]
    warnings: tuple[str, ...] = ()
    scores: ScoresBehind = field(default=(), compare=False, repr=False, metadata=UNSTORED)

    @property
    def passed(self) -> bool:
        """Say whether no rule failed; one that cannot be decided lets a change pass."""
        return self.passes()

    def passes(self, *, strict: bool = False) -> bool:
        """Say whether a change may pass; with `strict`, a rule that cannot be decided holds it back."""
        return self.outcome == "passed" or (self.outcome == "inconclusive" and not strict)

    def decision(self, *, strict: bool = False) -> Outcome:
        """The outcome of all rules; with `strict`, one that cannot be decided fails."""
        return "failed" if strict and self.outcome == "inconclusive" else self.outcome

    def to_rows(self) -> list[dict[str, Value]]:
        """One row per rule."""
        return [
            {"system": self.system, "rule": check.name, "outcome": check.outcome, "value": check.value}
            for check in self.checks
        ]
