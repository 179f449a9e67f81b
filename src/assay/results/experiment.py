"""Evaluate an experiment: one row per combination with quality, time and money, and which one to choose."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from assay.data.record import Record, Value
from assay.messages import say
from assay.results.codec import UNSTORED, ScoresBehind
from assay.results.conclusion import Conclusion, Decision, HoldoutCheck, PairTest, describe_best
from assay.results.parts import part
from assay.stats.intervals import Interval

if TYPE_CHECKING:
    from assay.data.scores import Scores

Setting = str | bool | int | float | None | tuple[str | bool | int | float | None, ...]


@dataclass(frozen=True)
class StageTime:
    """What one stage takes: milliseconds of a query, tokens and money of all queries together.

    `estimated` says that tokens of some query are an estimate, `money_estimated` that its money is. `output_tokens` are
    those of the `tokens` that a model wrote; None in files of earlier versions, and where a stage does not say.
    """

    stage: str
    ms_p50: float
    ms_p95: float
    tokens: int
    money: float | None
    estimated: bool = False
    money_estimated: bool = False
    output_tokens: int | None = None


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
class QuestionCount:
    """How many questions of an application ended in one status, for one reason; each question is in one of these."""

    status: Literal["scored", "abstained", "failed"]
    reason: str
    questions: int
    example: str = ""


@dataclass(frozen=True)
class Row:
    """One combination: done with all its numbers, or failed with the reason.

    `stages_chosen` has the method and the parameters of each stage, as they were used. `timed` is False when a cache
    had a part in every query: its latency is not known, and is never counted in its favour. `cost_estimated` says that
    the money of some stage is an estimate. `outcomes` say how the questions of an application ended. `within_noise`
    says that noise does not distinguish it from another one on the front.
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
    within_noise: bool = False
    outcomes: tuple[QuestionCount, ...] = ()

    @property
    def done(self) -> bool:
        """Return whether it ran to its end."""
        return self.status == "done"

    @property
    def share_answered(self) -> float | None:
        """The share of the questions of an application that did not fail; None for a pipeline."""
        whole = sum(one.questions for one in self.outcomes)
        failed = sum(one.questions for one in self.outcomes if one.status == "failed")
        return 1 - failed / whole if whole else None

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

    def check(self, alpha: float) -> HoldoutCheck:
        """Return whether these queries confirm or deny that the winner is better than the baseline."""
        verdict = self.verdict
        if self.difference is None:
            return "none"
        if not verdict and self.pvalue is not None and self.pvalue <= alpha:  # a file of an earlier version
            verdict = "better" if (self.difference.estimate or 0.0) > 0 else "worse"
        return "confirmed" if verdict == "better" else "denied" if verdict == "worse" else "not_confirmed"


@dataclass(frozen=True)
class Reference:
    """Published figures to compare with those measured, by name and column."""

    source: str = ""
    figures: Mapping[str, Mapping[str, float | str]] = field(default_factory=dict)


@dataclass(frozen=True)
class ListAgreement:
    """How far two combinations agree, without judgments: means over queries of RBO and of the overlap of the top k.

    `unit` says what was compared: chunks where both cut documents in the same way, else the documents they are from.
    """

    first: str
    second: str
    rbo: float | None
    overlap: float | None
    k: int
    queries: int
    unit: Literal["documents", "chunks"] = "documents"


@dataclass(frozen=True)
class Refusals:
    """How one combination took the questions that no document answers: how many it refused, and how many failed.

    `right` is the share refused of those that did not fail, `answered` the first question that got an answer, `money`
    what all of them cost. `reason` says why the combination failed on all of them, if it did.
    """

    system: str
    questions: int
    refused: int
    failed: int
    right: Interval
    money: float | None = 0.0
    answered: str = ""
    reason: str = ""


@dataclass(frozen=True)
class AxisDecision:
    """Which value of one axis to take, all else the same: what is shown about the best of its combinations.

    `values` has the value of each combination on that axis.
    """

    axis: str
    values: Mapping[str, str]
    concluded: Conclusion

    @property
    def choice(self) -> str:
        """The value to take: that of the best combination where it is shown to be better than the baseline's."""
        return self.values[self.concluded.choice]


@part("experiment")
@dataclass(frozen=True)
class Findings(Record):
    """An experiment evaluated: combinations in the order of the grid, and the winner by the deciding measure.

    `winner` is the one to take: that with the best mean, the first of equals, and none where all have the same.
    `concluded` says what is shown about it. `axes` has the values that were tried of each axis, `reference`
    published figures, which are not part of any score. Without judgments there is no measure, no quality and no winner;
    `agreements` say how far the combinations agree. `alpha` is the risk of a wrong verdict. `scores` are those of
    the combinations that ran. `decisions` say which value of each axis to take, where several axes were tried.
    `query_kinds` counts the queries by kind (real, model, known_items, unknown), where that is known. `refusals` are
    about questions that no document answers, which have a part in nothing else.
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
    concluded: Conclusion | None = None
    agreements: tuple[ListAgreement, ...] = ()
    decisions: tuple[AxisDecision, ...] = ()
    query_kinds: Mapping[str, int] = field(default_factory=dict)
    refusals: tuple[Refusals, ...] = ()
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
    def judged(self) -> bool:
        """Return whether anything was scored: without judgments there is no deciding measure."""
        return bool(self.measure)

    @property
    def labels(self) -> dict[str, str]:
        """Descriptions of combinations, where they have some."""
        return {row.name: row.description for row in self.combinations if row.description}

    @property
    def done(self) -> tuple[Row, ...]:
        """Combinations that ran to their end."""
        return tuple(row for row in self.combinations if row.done)

    @property
    def conclusion(self) -> Conclusion:
        """Who is best and what is shown about it; files of earlier versions have the verdicts only."""
        if self.concluded is not None:
            return self.concluded
        lower = bool(self.winner) and any(self._value(row.name) > self._value(self.winner) for row in self.done)
        means = {row.name: self.value_of(row) for row in self.done}
        plain = describe_best(self.measure, means, lower=lower, baseline=self.baseline)
        if len(plain.best) != 1 or plain.best[0] == self.baseline or len(means) == 1:
            return plain
        check = "none" if self.holdout is None else self.holdout.check(self.alpha)
        return replace(plain, against_baseline=self._test(plain.best[0]), holdout=check)

    def _value(self, name: str) -> float:
        return self.value_of(self.row(name)) or 0.0

    def _test(self, name: str) -> PairTest | None:
        quality = self.row(name).quality[self.measure]
        if not quality.verdict or quality.pvalue is None:
            return None
        mean, change = quality.mean, self._value(name) - self._value(self.baseline)
        difference = Interval(change, None, None, mean.confidence_level, mean.method, mean.n)
        return PairTest(name, self.baseline, difference, quality.pvalue, quality.pvalue, quality.verdict)

    @property
    def choice(self) -> str:
        """The combination to take: the best one where it is shown to be better than the baseline, else the baseline."""
        return replace(self.conclusion, baseline=self.baseline).choice

    @property
    def of_known_items(self) -> bool:
        """Return whether all queries are known items."""
        return set(self.query_kinds) == {"known_items"}

    @property
    def stamp(self) -> str:
        """What queries that nobody asked are fit for, where all are of one kind; nothing where people asked some."""
        stamps = {"known_items": "questions.stamp", "model": "questions.stamp_model"}
        kind, *others = self.query_kinds or [""]
        return say(stamps[kind]) if kind in stamps and not others else ""

    def edge(self, cost: Literal["latency", "money"]) -> tuple[Row, ...]:
        """Combinations of the front that none of them beats in quality and this cost, the cheapest first."""
        sign = -1.0 if self.conclusion.lower else 1.0
        front = [row for row in self.done if row.pareto]
        priced = [(row.price(cost), value, row) for row in front if (value := self.value_of(row)) is not None]
        known = [(price, sign * value, row) for price, value, row in priced if price is not None]
        found: list[Row] = []
        reached = float("-inf")
        for _, value, row in sorted(known, key=lambda one: (one[0], -one[1])):
            if value > reached:
                reached = value
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
        """One row per combination: the means, latency and money, and right refusals where there are some."""
        refused = {one.system: one.right.estimate for one in self.refusals}
        return [
            {
                "system": row.name,
                "status": row.status,
                **{label: _mean(row, label) for label in self.measures},
                **{f"{name}_ms": row.latency_ms.get(name) for name in ("mean", "p50", "p95", "p99")},
                "cost_per_query": row.cost_per_query,
                **({"pareto": row.pareto} if self.judged else {}),
                **({"refused_share": refused.get(row.name)} if refused else {}),
            }
            for row in self.combinations
        ]


def _mean(row: Row, label: str) -> float | None:
    return row.quality[label].mean.estimate if label in row.quality else None
