"""Interleaved lists and what clicks on them say: which of the systems people prefer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from assay.data.record import Record, Value
from assay.lazy import public
from assay.results.ab_test import LiftOutcome, TrialRules, TrialVerdict, Verdicts
from assay.results.parts import part
from assay.stats.intervals import Interval
from assay.stats.trials import SampleRatio

if TYPE_CHECKING:
    import os


@dataclass(frozen=True)
class Preference:
    """How often people preferred one system to the control.

    A request is won by the system whose documents have more clicks; `preference` is the share of wins among requests
    that either of the two won, with its interval by user, and one half where people prefer neither. Ties are requests
    with as many clicks on both, most of them with none. `adjusted` is the p corrected over the systems; `always` the
    interval that holds at every look, of a sequential test. `users` are those with a request that either won.
    """

    treatment: str
    preference: Interval
    pvalue: float | None
    wins: int
    ties: int
    losses: int
    users: int
    outcome: LiftOutcome
    adjusted: float | None = None
    always: Interval | None = None


@part("interleaving")
@dataclass(frozen=True)
class InterleavingTest(Verdicts, Record):
    """A test by interleaving with its decision.

    `methods` counts the requests of each method. `contested` is the share of places whose document belongs to a team:
    clicks elsewhere say nothing. `ratio` checks whether each team came first as often as the others, among the lists
    that differ. `enough_contested` is the share below which a test takes very long. `unit` is what is drawn at random:
    users, or sessions or requests where the log has none.
    """

    control: str
    treatments: tuple[str, ...]
    rules: TrialRules
    tests: tuple[Preference, ...]
    verdicts: tuple[TrialVerdict, ...]
    methods: Mapping[str, int]
    requests: int
    users: int
    contested: float
    ratio: SampleRatio
    unit: str = "user"
    full_days: int | None = None
    enough_contested: float = 0.3
    warnings: tuple[str, ...] = ()

    def test(self, treatment: str | None = None) -> Preference:
        """Find the preference for one system, the only one unless it is named."""
        wanted = treatment or self.treatments[0]
        return next(one for one in self.tests if one.treatment == wanted)

    def to_rows(self) -> list[dict[str, Value]]:
        """One row per system."""
        return [
            {
                "treatment": one.treatment,
                "control": self.control,
                "outcome": one.outcome,
                "preference": one.preference.estimate,
                "low": one.preference.low,
                "high": one.preference.high,
                "pvalue": one.pvalue,
                "adjusted": one.adjusted,
                "wins": one.wins,
                "ties": one.ties,
                "losses": one.losses,
                "contested": self.contested,
            }
            for one in self.tests
        ]


@dataclass(frozen=True)
class ServedList:
    """A list to serve for a query; `number` tells apart the lists of one query, of which each user gets one."""

    query_id: str
    number: int
    documents: tuple[str, ...]
    teams: tuple[str | None, ...]
    propensities: tuple[float, ...] | None = None


@part("interleaved_lists")
@dataclass(frozen=True)
class InterleavedLists(Record):
    """Interleaved lists of runs, to be served and logged.

    `contested` is the share of places with a team. `random_share` is the share of points that the first system of a
    balanced interleaving would get from clicks at random, one half in all other methods. `left_out` counts queries that
    not every run has.
    """

    method: str
    systems: tuple[str, ...]
    k: int
    per_query: int
    seed: int
    queries: int
    contested: float
    random_share: float = 0.5
    left_out: int = 0
    lists: tuple[ServedList, ...] = field(default=(), repr=False)
    enough_contested: float = 0.3
    warnings: tuple[str, ...] = ()

    def to_records(self) -> list[dict[str, Any]]:
        """One record per list, with the fields that a UBI query logs as they are."""
        return [
            {
                "query_id": one.query_id,
                "list": one.number,
                "query_response_hit_ids": list(one.documents),
                "query_attributes": {"interleaving": self._log(one)},
            }
            for one in self.lists
        ]

    def _log(self, one: ServedList) -> dict[str, Any]:
        found: dict[str, Any] = {"method": self.method, "teams": dict(zip(one.documents, one.teams, strict=True))}
        if one.propensities is not None:
            found["propensities"] = dict(zip(one.documents, one.propensities, strict=True))
        return found

    def save(self, place: str | os.PathLike[str]) -> None:
        """Write the lists (.jsonl), or a result file with everything (.json)."""
        if str(place).endswith(".json"):
            super().save(place)
        else:
            public("write_lists")(self, place)

    def to_rows(self) -> list[dict[str, Value]]:
        """One row per place of a list."""
        return [
            {
                "query_id": one.query_id,
                "list": one.number,
                "position": place,
                "doc_id": doc,
                "team": team,
                "propensity": None if one.propensities is None else one.propensities[place - 1],
            }
            for one in self.lists
            for place, (doc, team) in enumerate(zip(one.documents, one.teams, strict=True), 1)
        ]
