"""What came out of an experiment: one row per combination with quality, time, money, and which one to take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from assay.data.record import Record, Value
from assay.messages import say
from assay.results.codec import UNSTORED, ScoresBehind
from assay.results.comparison import Decision
from assay.results.parts import part
from assay.stats.intervals import Interval

if TYPE_CHECKING:
    from assay.data.scores import Scores

Outcome = Literal["alone", "equal", "baseline", "better", "not_shown", "confirmed", "not_confirmed"]
Setting = str | bool | int | float | None | tuple[str | bool | int | float | None, ...]


@dataclass(frozen=True)
class StageTime:
    """What one stage takes: milliseconds of a query, tokens and money of all queries together.

    `estimated` says that tokens of some query are an estimate, `money_estimated` that its money is.
    """

    stage: str
    ms_p50: float
    ms_p95: float
    tokens: int
    money: float | None
    estimated: bool = False
    money_estimated: bool = False


@dataclass(frozen=True)
class IndexTrace:
    """What an index took: seconds and peak memory of building it, how many chunks and bytes it has."""

    build_seconds: float
    chunks: int
    bytes: int
    peak_memory_bytes: int


@dataclass(frozen=True)
class Quality:
    """A mean with its interval; the corrected p-value of its difference from the baseline's and the verdict on it.

    `method` says who judged the answers behind it.
    """

    mean: Interval
    pvalue: float | None = None
    verdict: Decision | Literal[""] = ""
    method: str = ""


@dataclass(frozen=True)
class Row:
    """One combination: done with all its numbers, or failed with the reason.

    `stages_chosen` has the method and the parameters of each stage, as they were used. `timed` is False when a cache
    had a part in every query: its latency is not known, and never speaks for it. `cost_estimated` says that the money
    of some stage is an estimate.
    """

    name: str
    status: Literal["done", "failed"]
    reason: str = ""
    description: str = ""
    axes: Mapping[str, str] = field(default_factory=dict)
    stages_chosen: Mapping[str, Mapping[str, Setting]] = field(default_factory=dict)
    quality: Mapping[str, Quality] = field(default_factory=dict)
    latency_ms: Mapping[str, float] = field(default_factory=dict)
    stages: tuple[StageTime, ...] = ()
    index: IndexTrace | None = None
    cost_per_query: float | None = None
    cost_estimated: bool = False
    pareto: bool = False
    timed: bool = True

    @property
    def done(self) -> bool:
        """Say whether it ran to its end."""
        return self.status == "done"

    def price(self, cost: Literal["latency", "money"]) -> float | None:
        """Its P95 latency in milliseconds, or its money for a query."""
        return self.latency_ms.get("p95") if cost == "latency" else self.cost_per_query


@dataclass(frozen=True)
class Holdout:
    """The winner on queries that had no part in choosing it, beside the baseline on the same queries.

    `verdict` is that of the winner against the baseline; empty in files of earlier versions.
    """

    queries: int
    chosen_on: int
    measure: str
    winner: Interval
    baseline: Interval | None
    difference: Interval | None
    pvalue: float | None
    verdict: Decision | Literal[""] = ""


@dataclass(frozen=True)
class Reference:
    """Figures that somebody published, to be read beside those that are measured: by name and column."""

    source: str = ""
    figures: Mapping[str, Mapping[str, float | str]] = field(default_factory=dict)


@part("experiment")
@dataclass(frozen=True)
class Findings(Record):
    """An experiment evaluated: combinations in the order of the grid, and the winner by the deciding measure.

    `axes` has the values that were tried of each axis, `reference` published figures, which are no part of any score.
    `alpha` is the risk of a wrong verdict. `scores` are those of the combinations that ran.
    """

    combinations: tuple[Row, ...]
    measure: str
    measures: tuple[str, ...]
    baseline: str
    winner: str
    holdout: Holdout | None = None
    axes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    reference: Reference | None = None
    alpha: float = 0.05
    scores: ScoresBehind = field(default=(), compare=False, repr=False, metadata=UNSTORED)

    def __post_init__(self) -> None:
        named = {row.name: row for row in self.combinations}
        if len(named) < len(self.combinations):
            raise ValueError(say("two combinations have the same name"))
        if self.winner and (self.winner not in named or self.measure not in named[self.winner].quality):
            raise ValueError(
                say("the winner must be one of the combinations and have a value of the measure that decides")
            )

    @property
    def systems(self) -> tuple[Scores, ...]:
        """Scores of the combinations that ran."""
        return self.scores

    @property
    def labels(self) -> dict[str, str]:
        """Descriptions of combinations, where they have some."""
        return {row.name: row.description for row in self.combinations if row.description}

    @property
    def done(self) -> tuple[Row, ...]:
        """Combinations that ran to their end."""
        return tuple(row for row in self.combinations if row.done)

    @property
    def tied(self) -> tuple[str, ...]:
        """The winner, and combinations that have the same value of the deciding measure."""
        best = self.value_of(self.row(self.winner)) if self.winner else None
        return tuple(row.name for row in self.done if best is not None and self.value_of(row) == best)

    @property
    def leaders(self) -> tuple[str, ...]:
        """Combinations with the best value of the deciding measure; none where all of several have the same."""
        return () if 1 < len(self.done) == len(self.tied) else self.tied

    @property
    def outcome(self) -> Outcome:
        """What is shown about the winner against the baseline: by held-out queries, where there are some."""
        if not self.winner or len(self.done) < 2:  # noqa: PLR2004
            return "alone"
        if len(self.tied) == len(self.done):
            return "equal"
        if self.winner == self.baseline:
            return "baseline"
        if self.holdout is not None:
            return "confirmed" if self._confirms(self.holdout) else "not_confirmed"
        return "better" if self.row(self.winner).quality[self.measure].verdict == "better" else "not_shown"

    @property
    def choice(self) -> str:
        """The combination to take: the winner where it is shown to be better than the baseline, else the baseline."""
        return self.winner if self.outcome in {"better", "confirmed"} else self.baseline

    def _confirms(self, check: Holdout) -> bool:
        if check.verdict:
            return check.verdict == "better"
        change = None if check.difference is None else check.difference.estimate
        chosen = (self.value_of(self.row(self.winner)) or 0.0) - (self.value_of(self.row(self.baseline)) or 0.0)
        return bool(check.pvalue is not None and check.pvalue <= self.alpha and change and change * chosen > 0)

    def edge(self, cost: Literal["latency", "money"]) -> tuple[Row, ...]:
        """Combinations that none beats in quality and P95 latency, or in quality and money, the cheapest first."""
        priced = [(row.price(cost), value, row) for row in self.done if (value := self.value_of(row)) is not None]
        known = [(price, value, row) for price, value, row in priced if price is not None]
        top = max((value for _, value, _ in known), default=0.0)
        best = self.value_of(self.row(self.winner)) if self.winner else top
        sign = 1.0 if best == top else -1.0  # the winner has the lowest value where lower is better
        found: list[Row] = []
        reached = float("-inf")
        for _, value, row in sorted(known, key=lambda one: (one[0], -sign * one[1])):
            if sign * value > reached:
                reached = sign * value
                found.append(row)
        return tuple(found)

    def value_of(self, row: Row) -> float | None:
        """Its mean of the deciding measure."""
        return _mean(row, self.measure)

    def models(self) -> dict[str, str]:
        """Models and embedders of the stages, as they were used."""
        found: dict[str, dict[str, None]] = {}
        for row in self.done:
            for stage, chosen in row.stages_chosen.items():
                for kind in ("model", "embedder"):
                    if chosen.get(kind):
                        found.setdefault(f"{stage} {kind}", {})[str(chosen[kind])] = None
        return {what: ", ".join(names) for what, names in found.items()}

    def row(self, name: str) -> Row:
        """Find a row by the name of its combination."""
        return next(row for row in self.combinations if row.name == name)

    def to_rows(self) -> list[dict[str, Value]]:
        """One row per combination: the means, the latency and the money."""
        return [
            {
                "system": row.name,
                "status": row.status,
                **{label: _mean(row, label) for label in self.measures},
                **{f"{name}_ms": row.latency_ms.get(name) for name in ("mean", "p50", "p95", "p99")},
                "cost_per_query": row.cost_per_query,
                "pareto": row.pareto,
            }
            for row in self.combinations
        ]


def _mean(row: Row, label: str) -> float | None:
    return row.quality[label].mean.estimate if label in row.quality else None
