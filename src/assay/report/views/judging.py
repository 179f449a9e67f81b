"""What judging by language models looks like: what became of the pairs, and what it took or would take."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

from assay.messages import Said, say, word
from assay.report.blocks import Block, Lines, Verdict
from assay.report.tables import Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.llm.progress import Progress
    from assay.results.judging import Bill, Estimate, Judging, JudgingPlan


def line(found: Judging) -> Verdict:
    """Describe the outcome of the pairs."""
    return Verdict(summary(found)[0], "" if found.complete else "warn")


def table(found: Judging) -> list[Block]:
    """How many pairs got which grade, and what that took."""
    grades = Counter(one.grade for one in found.verdicts if one.grade is not None)
    rows = tuple((f"{grade:g}", str(count)) for grade, count in sorted(grades.items()))
    return [
        Table((say("column.grade"), say("column.pairs")), rows, caption=found.judge),
        Lines(tuple(summary(found))),
    ]


def summary(found: Judging, *, resumable: bool = True) -> list[Said]:
    """Describe the outcome of the pairs and their cost; where answers are cached, how to continue."""
    failures = found.failures
    listed = [say("call.count", reason=word("call", name), n=count) for name, count in failures.items()]
    failed = sum(failures.values())
    total = len(found.verdicts)
    reasons = say("judge.reasons", reasons=listed) if listed else ""
    lines = [say("judge.done", pairs=total, scored=total - failed, failed=failed, reasons=reasons)]
    lines += [say("doubt.of_one", system=name, text=money(bill)) for name, bill in found.bills.items()]
    if found.cut:
        lines.append(say("judge.cut", n=found.cut, limit=found.max_chars))
    if failures and resumable:
        lines.append(say("judge.again"))
    return lines


def money(now: Bill | Progress) -> Said:
    """Describe what was spent."""
    if now.unpriced:
        spent = say("judge.money_unknown")
    elif now.possible_cost:
        spent = say("judge.money_maybe", cost=now.cost, possible=now.possible_cost, currency=now.currency)
    else:
        spent = say("judge.money", cost=now.cost, currency=now.currency)
    tokens = now.prompt_tokens + now.completion_tokens
    if now.estimated and not now.unpriced:
        spent = say("judge.about", money=spent)
    told = "judge.spent_estimated" if now.estimated else "judge.spent"
    return say(told, calls=now.calls, cached=now.cached, tokens=tokens, money=spent)


def plan(found: JudgingPlan, limit: float | None = None) -> list[Said]:
    """Say what each judge would take, and all of them together, and whether the money suffices."""
    estimates = list(found.estimates.values())
    lines: list[Said] = []
    for name, one in found.estimates.items():
        lines += [
            say("judge.plan", pairs=found.pairs, judges=name, calls=one.calls, cached=one.cached),
            say("judge.tokens", prompt=one.prompt_tokens, completion=one.completion_tokens),
        ]
        if len(estimates) > 1:
            lines.append(_about(one))
    if len(estimates) > 1:
        lines.append(say("judge.all", n=len(estimates), calls=sum(one.calls for one in estimates)))
    return lines + prices(estimates, limit)


def _about(one: Estimate) -> Said:
    if one.cost is None:
        return say("judge.no_price")
    return say("judge.price_open", cost=one.cost, currency=one.currency)


def prices(plans: Sequence[Estimate], limit: float | None) -> list[Said]:
    """Say what plans will cost together, and which --max-cost suffices for all of them."""
    if not plans or any(one.cost is None for one in plans):
        return [say("judge.no_price")] if plans else []
    cost, currency = math.fsum(one.cost or 0.0 for one in plans), plans[0].currency
    if any(one.enough is None for one in plans):
        return [say("judge.price_open", cost=cost, currency=currency)]
    whole = math.fsum(one.enough or 0.0 for one in plans)
    enough = math.ceil(whole * 10_000) / 10_000
    lines = [say("judge.price", cost=cost, currency=currency, enough=f"{enough:.4f}")]
    if limit is not None and whole > limit:
        lines.append(say("judge.over", limit=limit, currency=currency))
    return lines
