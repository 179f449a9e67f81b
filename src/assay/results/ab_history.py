"""Releases that were compared offline and then tested online: how far the one predicted the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from assay.data.record import Record, Value
from assay.results.parts import part
from assay.stats.agreement import Agreement
from assay.stats.intervals import Interval

Prediction = Literal["right", "wrong", "open"]


@dataclass(frozen=True)
class Release:
    """One system before and after shipping.

    `offline` is its difference from the baseline in a comparison, `online` its relative lift in an A/B test. Both are
    positive where the system is better, also for measures of which less is better. The prediction is right or wrong
    where both sides are decided, and open where one of them is not.
    """

    name: str
    offline_measure: str
    offline: Interval
    offline_verdict: str
    online_measure: str
    online: Interval
    online_outcome: str
    prediction: Prediction


@part("ab_history")
@dataclass(frozen=True)
class ABHistory(Record):
    """Releases with what the comparison predicted and what the A/B test found.

    `same_way` is the share of releases whose estimates point the same way, decided or not; `order` is how far the
    releases are ordered alike by both. Below `enough` releases neither says much.
    """

    releases: tuple[Release, ...]
    same_way: Interval
    order: Agreement
    enough: int = 10

    def count(self, prediction: Prediction) -> int:
        """The number of predictions of a kind."""
        return sum(one.prediction == prediction for one in self.releases)

    @property
    def too_few(self) -> bool:
        """Return whether there are too few releases to rely on."""
        return len(self.releases) < self.enough

    def to_rows(self) -> list[dict[str, Value]]:
        """One row per release."""
        return [
            {
                "release": one.name,
                "offline_measure": one.offline_measure,
                "difference": one.offline.estimate,
                "difference_low": one.offline.low,
                "difference_high": one.offline.high,
                "verdict": one.offline_verdict,
                "online_measure": one.online_measure,
                "relative_lift": one.online.estimate,
                "relative_low": one.online.low,
                "relative_high": one.online.high,
                "outcome": one.online_outcome,
                "prediction": one.prediction,
            }
            for one in self.releases
        ]
