"""What the systems of an experiment cost, stage by stage: as measured, or as batch jobs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from assay.errors import UsageError
from assay.messages import Said, say
from assay.results.money import Costs, MethodCost, StageCost

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import date

    from assay.llm.prices import PriceTable
    from assay.results.experiment import Findings, Row, Setting, StageTime


def cost_of_experiment(
    findings: Findings, queries_per_day: float, batch: PriceTable | None = None, day: date | None = None
) -> Costs:
    """Add up the cost of every stage of each system per query; with a price list, as batch jobs."""
    if not 0 < queries_per_day < math.inf:
        raise UsageError(say("{name} must be above 0, not {value!r}", name="queries_per_day", value=queries_per_day))
    counts = {row.name: _count(findings, row) for row in findings.done if row.stages}
    if not counts:
        raise UsageError(say("no system of the experiment ran to its end, so nothing was measured"))
    rows = tuple(
        sum_stages(
            row.name,
            tuple(_stage(stage, row, counts[row.name], queries_per_day, batch=batch, day=day) for stage in row.stages),
            queries_per_day,
        )
        for row in findings.done
        if row.name in counts
    )
    return Costs("USD", 0.0, queries_per_day, rows, queries=max(counts.values()))


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
    stage: StageTime, row: Row, queries: int, queries_per_day: float, *, batch: PriceTable | None, day: date | None
) -> StageCost:
    chosen = row.stages_chosen.get(stage.stage, {})
    money = None if stage.money is None else stage.money / queries
    model = str(chosen.get("model") or chosen.get("embedder") or chosen.get("method") or "")
    basis = say("cost.as_measured", model=model) if money is not None else say("cost.lacks_model", model=model)
    if money and batch is not None:
        money, basis = _as_batch(money, basis, chosen, batch, day)
    return StageCost(
        stage.stage, money, _times(money, queries_per_day), basis, stage.tokens / queries, stage.estimated,
        stage.money_estimated,
    )  # fmt: skip


def _as_batch(
    money: float, basis: Said, chosen: Mapping[str, Setting], prices: PriceTable, day: date | None
) -> tuple[float | None, Said]:
    """The cost of the same calls as a batch job, which reduces all prices of a model by the same factor."""
    from assay.llm.hosts import Address

    model, url = str(chosen.get("model") or ""), str(chosen.get("url") or "")
    found = [prices.price(Address.of(url), model, day=day)] if url else list(prices.prices_of(model, day=day))
    shares = {None if row is None else row.batch for row in found}
    share = next(iter(shares)) if len(shares) == 1 else None
    if share is None:
        return None, say("cost.lacks_batch", model=model)
    return money * share, say("cost.batch", basis=basis)


def _times(money: float | None, queries: float) -> float | None:
    return None if money is None else money * queries
