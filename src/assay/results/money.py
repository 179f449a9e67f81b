"""Money: what methods cost, and whether better results pay for them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Literal, cast

from assay.data.protocol import Target
from assay.data.record import Record, Value
from assay.errors import UnknownName, UsageError
from assay.messages import say
from assay.results.codec import UNSTORED
from assay.results.comparison import Comparison
from assay.results.parts import part


@dataclass(frozen=True)
class StageCost:
    """Money for one stage of a method; `tokens` are those of a query, `estimated` where no server reported them.

    `output_tokens` are those of them that a model wrote, where that is known.
    """

    stage: str
    per_query: float | None
    per_day: float | None
    basis: str = ""
    tokens: float | None = None
    estimated: bool = False
    money_estimated: bool = False
    output_tokens: float | None = None


@dataclass(frozen=True)
class MethodCost:
    """Money for one method; None where it is not known, which is not the same as 0.

    A method of several `stages` (embedding, reranking, generation) costs their sum; `estimated` says that the money of
    some of them is an estimate.
    """

    method: str
    per_query: float | None
    per_day: float | None
    basis: str = ""
    price: float | None = None
    tokens: float | None = None
    machines: int | None = None
    always_on_per_day: float | None = None
    price_per_search: float | None = None
    stages: tuple[StageCost, ...] = ()
    estimated: bool = False


@part("cost", view="money")
@dataclass(frozen=True)
class Costs(Record):
    """Methods side by side, the first of them no reranking at all; `goal` is what a million tokens should cost.

    Those of an experiment are its whole systems, as measured over `queries` queries, with 0 documents a query, and
    `baseline` is the one that the others were compared with.
    """

    currency: str
    documents_per_query: float
    queries_per_day: float
    costs: tuple[MethodCost, ...]
    warnings: tuple[str, ...] = ()
    goal: Target | None = None
    queries: int | None = None
    baseline: str = ""

    @property
    def has_stages(self) -> bool:
        """Return whether some method is the sum of its stages."""
        return any(one.stages for one in self.costs)

    @property
    def methods(self) -> tuple[MethodCost, ...]:
        """The methods themselves, without the row of doing nothing."""
        return self.costs if self.queries is not None else self.costs[1:]

    def of(self, method: str) -> MethodCost:
        """Find a method's cost."""
        for found in self.costs:
            if found.method == method:
                return found
        raise UnknownName(say("method"), method, [found.method for found in self.costs])

    def to_rows(self) -> list[dict[str, Value]]:
        """One row per stage of a method that has some, and one per method: its total."""
        return [row for one in self.costs for row in (*map(partial(self._stage, one), one.stages), self._row(one))]

    def _row(self, one: MethodCost) -> dict[str, Value]:
        return {
            "method": str(one.method),
            "price": one.price,
            "tokens": one.tokens,
            "per_query": one.per_query,
            "per_day": one.per_day,
            "always_on_per_day": one.always_on_per_day,
            "currency": self.currency,
            **({"stage": "", "estimated": one.estimated} if self.has_stages else {}),
        }

    def _stage(self, one: MethodCost, stage: StageCost) -> dict[str, Value]:
        return {
            **self._row(MethodCost(one.method, stage.per_query, stage.per_day, tokens=stage.tokens)),
            "stage": str(stage.stage),
            "estimated": stage.money_estimated,
        }


@dataclass(frozen=True)
class Band:
    """A value with the ends that come from the interval of the gain, where it has one."""

    value: float | None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Gain:
    """A relative gain in quality and where it comes from; `comparison` is the one behind it, if it is at hand.

    That of an A/B test was measured on `users`, not on queries.
    """

    relative: Band
    before: float | None = None
    after: float | None = None
    confidence_level: float | None = None
    system: str = ""
    baseline: str = ""
    measure: str = ""
    queries: int = 0
    verdict: str = ""
    users: int = 0
    comparison: Comparison = field(default=cast("Comparison", None), compare=False, repr=False, metadata=UNSTORED)

    @classmethod
    def between(cls, before: float, after: float) -> Gain:
        """Take the gain from quality before and after."""
        if not before > 0:
            raise UsageError(
                say("the quality before is {before!r}: a relative gain needs a number above 0", before=before)
            )
        return cls(Band(after / before - 1), before, after)


@dataclass(frozen=True)
class NetAt:
    """Net money a day at a volume."""

    queries_per_day: float
    net_per_day: float
    low: float | None = None
    high: float | None = None


@part("roi", view="money")
@dataclass(frozen=True)
class Roi(Record):
    """Return on investment: (more revenue - more cost) / more cost, and where it turns.

    `net` is money a day. `roi` is empty where the comparison does not show that quality changed: a percentage without
    evidence would be meaningless. `break_even_queries_per_day` is None when no volume pays and 0 when every volume
    does; `break_even_price` is the extra cost of a query that would just be earned, None when nothing is earned.
    `tokens` is how many of them the method reads for a query, where it is paid by tokens.
    """

    gain: Gain
    queries_per_day: float
    revenue_per_query: float
    cost_per_query: float | None
    fixed_per_day: float
    elasticity: float
    revenue: Band
    cost: float | None
    net: Band
    roi: Band
    break_even_queries_per_day: Band
    break_even_price: Band
    break_even_gain: float | None
    curve: tuple[NetAt, ...]
    outcome: Literal["pays", "loses", "open", "no_interval", "no_cost"]
    method: str = ""
    currency: str = "USD"
    tokens: float | None = None

    @property
    def decision(self) -> Literal["pays", "loses", "open"]:
        """Whether the whole interval of the net is above 0 and that is shown, the same below 0, or neither."""
        band = self.roi if self.net.low is None else self.net  # files of earlier versions may lack the net
        low, high = band.low, band.high
        if low is None or high is None or low == high:  # of width 0 in files of earlier versions
            return "open"
        if self.unseen:
            return "open"
        return "pays" if low > 0 and self.outcome == "pays" else "loses" if high < 0 else "open"

    @property
    def change_is_shown(self) -> bool:
        """Return whether quality is shown to change: a comparison says so, or the gain was given as it is."""
        gain = self.gain
        if gain.verdict or not gain.measure:
            return gain.verdict in {"better", "worse", ""}
        low, high = gain.relative.low, gain.relative.high  # files of earlier versions have no verdict
        return low is not None and high is not None and (low > 0 or high < 0)

    @property
    def roi_if_shown(self) -> Band:
        """The return in per cent, where the gain it rests on is shown; files of earlier versions have one always."""
        return self.roi if self.change_is_shown else Band(None)

    @property
    def unproven(self) -> bool:
        """Return whether it would pay over the whole interval, had the comparison shown a gain."""
        return self._is_open_above and self.gain.verdict != "better"

    @property
    def unseen(self) -> Literal["", "losses", "gains"]:
        """What the queries may have missed where the interval alone would say that it pays, or that it loses."""
        if self._is_open_above and self.gain.verdict == "better":
            return "losses"
        return "gains" if self.outcome == "open" and self.net.high is not None and self.net.high < 0 else ""

    @property
    def _is_open_above(self) -> bool:
        return self.outcome == "open" and self.net.low is not None and self.net.low > 0

    @property
    def break_even_price_per_million(self) -> float | None:
        """What a million tokens may cost for the method to break even, where it is paid by tokens."""
        price = self.break_even_price.value
        return price / self.tokens * 1e6 if self.tokens and price is not None else None

    def topic(self) -> str:
        """What is paid for."""
        return self.method

    def to_rows(self) -> list[dict[str, Value]]:
        """One row per number, with the ends that the interval of the gain gives it."""
        bands = {
            "net_per_day": self.net,
            "gain": self.gain.relative,
            "revenue_per_day": self.revenue,
            "cost_per_day": Band(self.cost),
            "roi": self.roi_if_shown,
            "break_even_queries_per_day": self.break_even_queries_per_day,
            "break_even_price": self.break_even_price,
            "break_even_gain": Band(self.break_even_gain),
        }
        return [
            {"quantity": name, "value": band.value, "low": band.low, "high": band.high} for name, band in bands.items()
        ]
