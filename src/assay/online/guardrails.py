"""Guardrails of an A/B test: what must not get worse, and whether it is shown not to."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from assay.errors import UsageError
from assay.messages import say
from assay.results.ab_test import Guardrail
from assay.stats.arms import excess, share_excess
from assay.stats.trials import confidence_sequence

if TYPE_CHECKING:
    from assay.results.ab_test import LiftOutcome, MeasureTest, TrialRules
    from assay.stats.arms import Lift

_SIGN = re.compile(r"<=|>=")
_MARGIN = re.compile(r"(?P<margin>[+-]?\d{1,30}(?:\.\d{1,30})?)\s*(?P<unit>%?)")


def read_guardrail(text: str) -> Guardrail:
    """Read a guardrail: `NAME<=+5%` for what should stay low, `NAME>=-2%` for what should stay high.

    >>> read_guardrail("latency_ms<=+5%")
    Guardrail(measure='latency_ms', margin=0.05, relative=True, lower_is_better=True)
    """
    sign = _SIGN.search(text)
    measure = text[: sign.start()].strip() if sign else ""
    found = _MARGIN.fullmatch(text[sign.end() :].strip()) if sign and measure else None
    margin = float(found["margin"]) if found else 0.0
    lower = sign is not None and sign[0] == "<="
    if found is None or (margin < 0 if lower else margin > 0) or not margin:
        raise UsageError(
            say(
                "guardrail {text!r}: write NAME<=+5% for what must not rise by more, NAME>=-2% for what must not fall "
                "by more (without %, in the unit of the measure)",
                text=text[:60],
            )
        )
    share = bool(found["unit"])
    return Guardrail(measure, abs(margin) / (100 if share else 1), share, lower)


def check_guardrail(test: MeasureTest, rule: Guardrail, rules: TrialRules) -> MeasureTest:
    """Test on both sides, each at alpha, whether the loss is below or above its margin.

    A margin that is a share of the control's value means nothing where that value is not clear of 0.
    """
    sign, found = 1.0 if rule.lower_is_better else -1.0, test.lift
    margin = None if found.control is None else rule.margin * (abs(found.control) if rule.relative else 1.0)
    ends = _ends_beyond(found, 1 + sign * rule.margin if rule.relative else 1.0, rules)
    if ends is None or margin is None or (rule.relative and not _is_clear(found)):
        return replace(test, outcome="open", margin=margin)
    spare = 0.0 if rule.relative else rule.margin
    low, high = (end - spare for end in (ends if sign > 0 else (-ends[1], -ends[0])))  # of the loss beyond the margin
    outcome: LiftOutcome = "holds" if high < 0 else "broken" if low > 0 else "open"
    return replace(test, outcome=outcome, margin=margin)


def _ends_beyond(found: Lift, factor: float, rules: TrialRules) -> tuple[float, float] | None:
    """The interval of treatment - factor x control whose ends are each exceeded with probability alpha."""
    from scipy.special import stdtrit

    level = 1 - 2 * rules.alpha
    estimate = excess(found, factor)
    if rules.sequential:
        if estimate is None:
            return None
        always = confidence_sequence(
            estimate[0], estimate[1], n=sum(found.n), confidence_level=level, tuning=rules.tuning
        )
        assert always.low is not None and always.high is not None
        return always.low, always.high
    if found.method == "newcombe" and found.control is not None:
        share = share_excess(found, factor, confidence_level=level)
        assert share.low is not None and share.high is not None
        return share.low, share.high
    if estimate is None:
        return None
    half = float(stdtrit(estimate[2], 1 - rules.alpha)) * estimate[1]
    return estimate[0] - half, estimate[0] + half


def _is_clear(found: Lift) -> bool:
    """Say whether the control's value is above 0 by three standard errors."""
    return found.control is not None and found.errors is not None and found.control > 3 * found.errors[0]
