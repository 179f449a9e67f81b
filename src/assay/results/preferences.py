"""Which of several systems' answers are preferred, by people or by a model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from assay.data.record import Record, Value
from assay.results.conclusion import Decision
from assay.results.parts import part
from assay.stats.intervals import Interval


@dataclass(frozen=True)
class PreferencePair:
    """Two systems: how often the first was preferred, and whether that is shown.

    `wins`, `ties` and `losses` are counts of preferences, one for each question and rater; `inconsistent` of the ties
    are preferences for the same place in both orders. `rate` is the mean over questions of the share that the first one
    wins, a tie counting half; `pvalue` is corrected for the number of pairs in `adjusted`.
    """

    first: str
    second: str
    questions: int
    wins: int
    ties: int
    losses: int
    inconsistent: int
    rate: Interval
    pvalue: float | None
    adjusted: float | None
    decision: Decision


@dataclass(frozen=True)
class Strength:
    """A system's log strength by the model of Bradley and Terry: all add up to 0."""

    system: str
    strength: Interval


@part("preferences")
@dataclass(frozen=True)
class Preferences(Record):
    """Preferences between systems' answers to the same questions.

    `answers` were read, `replaced` of them by a later one of the same rater. `left` is how often the answer on the left
    was preferred, of those that were not ties: one half if places do not matter. `both_orders` preferences were given
    in both orders, `by_place` of them for the same place each time. Of `fitting`, "" says that strengths have
    intervals, "one_sided" that a system never lost, "apart" that comparisons do not link all systems.
    """

    questions: int
    raters: int
    answers: int
    replaced: int
    pairs: tuple[PreferencePair, ...]
    left: Interval
    both_orders: int
    by_place: int
    strengths: tuple[Strength, ...]
    fitting: Literal["", "one_sided", "apart"] = ""

    @property
    def systems(self) -> tuple[str, ...]:
        """All systems, each once."""
        return tuple(dict.fromkeys(name for one in self.pairs for name in (one.first, one.second)))

    @property
    def place_matters(self) -> bool:
        """Return whether it is shown that the place of an answer has a part in the preference."""
        return self.left.excludes(0.5)

    def to_rows(self) -> list[dict[str, Value]]:
        """One row per pair of systems."""
        return [
            {
                "first": one.first,
                "second": one.second,
                "questions": one.questions,
                "wins": one.wins,
                "ties": one.ties,
                "losses": one.losses,
                "inconsistent": one.inconsistent,
                "rate": one.rate.estimate,
                "low": one.rate.low,
                "high": one.rate.high,
                "p": one.adjusted,
                "decision": one.decision,
            }
            for one in self.pairs
        ]
