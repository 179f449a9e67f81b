"""Whether a change may pass: the outcome of every rule for one system."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from assay.data.record import Record, Value
from assay.messages import Said, say
from assay.results.codec import UNSTORED, ScoresBehind
from assay.results.parts import part
from assay.stats.intervals import Interval

Outcome = Literal["passed", "failed", "inconclusive"]


@dataclass(frozen=True)
class RuleCheck:
    """One rule's outcome, with the number it is based on; None where there is none.

    `message` says why. Of a rule against a baseline, `detectable` is the drop that so many queries catch with 80 %
    probability, `needed` how many it takes to show that a drop is below the margin, and `power` says both. `among` is
    for how many checks the level of the interval is corrected, `slice` which queries it is about, all if empty.
    """

    name: str
    measure: str
    outcome: Outcome
    value: float | None
    interval: Interval | None
    message: str
    detectable: float | None = None
    needed: int | None = None
    power: str = ""
    among: int = 1
    slice: str = ""

    def fails(self, *, strict: bool = False) -> bool:
        """Return whether the rule failed; with `strict`, one that cannot be decided fails."""
        return self.outcome == "failed" or (self.outcome == "inconclusive" and strict)


@dataclass(frozen=True)
class Baseline:
    """What a system was compared with: its name, which of several results was taken and why, and its warnings."""

    name: str
    taken: str = ""
    warnings: tuple[str, ...] = ()


@part("gates", many=True, view="gate")
@dataclass(frozen=True)
class Gate(Record):
    """Outcomes of all rules for one system, and the worst of them."""

    system: str
    outcome: Outcome
    checks: tuple[RuleCheck, ...]
    warnings: tuple[str, ...] = ()
    baselines: tuple[Baseline, ...] = ()
    scores: ScoresBehind = field(default=(), compare=False, repr=False, metadata=UNSTORED)

    @property
    def passed(self) -> bool:
        """Return whether no rule failed; one that cannot be decided lets a change pass."""
        return self.passes()

    def passes(self, *, strict: bool = False) -> bool:
        """Return whether a change may pass; with `strict`, a rule that cannot be decided holds it back."""
        return self.outcome == "passed" or (self.outcome == "inconclusive" and not strict)

    def decision(self, *, strict: bool = False) -> Outcome:
        """The outcome of all rules; with `strict`, one that cannot be decided fails."""
        return "failed" if strict and self.outcome == "inconclusive" else self.outcome

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know, each with the name of the system it is about.

        Files of earlier versions have the warnings of baselines, with their names, among those of the system.
        """
        own = (text if _is_named(text) else _name(self.system, text) for text in self.warnings)
        others = (_name(base.name, text) for base in self.baselines for text in base.warnings)
        taken = (base.taken for base in self.baselines if base.taken)
        power = (check.power for check in self.checks if check.power)
        return tuple(dict.fromkeys([*power, *taken, *own, *others]))

    def to_rows(self) -> list[dict[str, Value]]:
        """One row per rule."""
        return [self._row(check) for check in self.checks]

    def _row(self, check: RuleCheck) -> dict[str, Value]:
        found = check.interval
        return {
            "system": self.system,
            "rule": check.name,
            "outcome": check.outcome,
            "value": check.value,
            "low": None if found is None else found.low,
            "high": None if found is None else found.high,
            "confidence_level": None if found is None else found.confidence_level,
            "detectable": check.detectable,
            "needed": check.needed,
        }


def _name(system: str, text: str) -> str:
    return say("doubt.of_one", system=system, text=text)


def _is_named(text: str) -> bool:
    return isinstance(text, Said) and text.key == "doubt.of_one"
