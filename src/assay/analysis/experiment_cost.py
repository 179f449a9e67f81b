"""What the systems of an experiment cost, stage by stage: as measured, or as batch jobs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.errors import UsageError
from assay.messages import Said, say
from assay.results.money import Costs, MethodCost, StageCost

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import date

    from assay.llm.prices import Price, PriceTable
    from assay.results.experiment import Findings, Row, Setting, StageTime


def cost_of_experiment(
    findings: Findings,
    queries_per_day: float,
    prices: PriceTable | None = None,
    day: date | None = None,
    *,
    batch: bool = False,
) -> Costs:
    """Add up the cost of every stage of each system per query, as measured.

    With a price list, what the input and output tokens of a stage cost at its prices where it names the model; with
    `batch`, what the same calls would cost as batch jobs.
    """
    if not 0 < queries_per_day < math.inf:
        raise UsageError(say("{name} must be above 0, not {value!r}", name="queries_per_day", value=queries_per_day))
    counts = {row.name: _count(findings, row) for row in findings.done if row.stages}
    if not counts:
        raise UsageError(say("no system of the experiment ran to its end, so nothing was measured"))
    rows = tuple(
        sum_stages(
            row.name,
            tuple(
                _stage(stage, row, counts[row.name], queries_per_day, _Prices(prices, day, batch=batch))
                for stage in row.stages
            ),
            queries_per_day,
        )
        for row in findings.done
        if row.name in counts
    )
    return Costs("USD", 0.0, queries_per_day, rows, queries=max(counts.values()), baseline=findings.baseline)


@dataclass(frozen=True)
class _Prices:
    """The price list to use on a day, if there is one."""

    table: PriceTable | None
    day: date | None
    batch: bool = False

    def of(self, chosen: Mapping[str, Setting]) -> list[Price | None]:
        """The prices of a stage's model, one for each vendor that has it; of its server, where it names one."""
        from assay.llm.hosts import Address

        assert self.table is not None
        model, url = str(chosen.get("model") or ""), str(chosen.get("url") or "")
        if url:
            return [self.table.price(Address.of(url), model, day=self.day)]
        return list(self.table.prices_of(model, day=self.day))


def sum_stages(name: str, stages: tuple[StageCost, ...], queries: float) -> MethodCost:
    """Add up stages; where the cost of one of them is not known, neither is that of the whole."""
    known = [stage.per_query for stage in stages if stage.per_query is not None]
    whole = math.fsum(known) if len(known) == len(stages) else None
    basis = say("cost.sum", n=len(stages)) if whole is not None else say("cost.lacks_stage")
    guessed = any(stage.money_estimated for stage in stages)
    return MethodCost(name, whole, _times(whole, queries), basis, stages=stages, estimated=guessed)


def _count(findings: Findings, row: Row) -> int:
    """The number of queries that a system answered, from its costs, else from its scores."""
    money = [stage.money for stage in row.stages]
    if row.cost_per_query and None not in money:
        return round(math.fsum(one or 0.0 for one in money) / row.cost_per_query)
    scores = next((one for one in findings.systems if one.name == row.name), None)
    if scores is not None:
        return len(scores.query_ids)
    return max((one.mean.n for one in row.quality.values()), default=0) or 1


def _stage(
    stage: StageTime, row: Row, queries: int, queries_per_day: float, prices: _Prices
) -> StageCost:  # fmt: skip
    chosen = row.stages_chosen.get(stage.stage, {})
    money = None if stage.money is None else stage.money / queries
    model = str(chosen.get("model") or chosen.get("embedder") or chosen.get("method") or "")
    basis = say("cost.as_measured", model=model) if money is not None else say("cost.lacks_model", model=model)
    written = None if stage.output_tokens is None else stage.output_tokens / queries
    if prices.table is not None and prices.batch and money:
        money, basis = _as_batch(money, basis, chosen, prices)
    elif prices.table is not None and not prices.batch and written is not None:
        money, basis = _by_tokens(stage.tokens / queries - written, written, chosen, prices) or (money, basis)
    return StageCost(
        stage.stage, money, _times(money, queries_per_day), basis, stage.tokens / queries, stage.estimated,
        stage.money_estimated, written,
    )  # fmt: skip


def _by_tokens(
    read: float, written: float, chosen: Mapping[str, Setting], prices: _Prices
) -> tuple[float, Said] | None:  # fmt: skip
    """The money of a query at the list's prices of input and output; None where they are not known."""
    tiers = {None if row is None else row.tier(read) for row in prices.of(chosen)} if chosen.get("model") else set()
    tier = next(iter(tiers)) if len(tiers) == 1 else None
    if tier is None:
        return None
    basis = say("cost.by_list", model=str(chosen["model"]), input=tier.input, output=tier.output)
    return (read * tier.input + written * tier.output) / 1e6, basis


def _as_batch(
    money: float, basis: Said, chosen: Mapping[str, Setting], prices: _Prices
) -> tuple[float | None, Said]:  # fmt: skip
    """The cost of the same calls as a batch job, which reduces all prices of a model by the same factor."""
    shares = {None if row is None else row.batch for row in prices.of(chosen)}
    share = next(iter(shares)) if len(shares) == 1 else None
    if share is None:
        return None, say("cost.lacks_batch", model=str(chosen.get("model") or ""))
    return money * share, say("cost.batch", basis=basis)


def _times(money: float | None, queries: float) -> float | None:
    return None if money is None else money * queries
