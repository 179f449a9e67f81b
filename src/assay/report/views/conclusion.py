"""Sentences about the best of several systems, the same on a terminal, on a page and in its headline."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.messages import Said, say, some
from assay.report.blocks import Verdict
from assay.report.intervals import describe_interval
from assay.report.marks import tone
from assay.report.numbers import pvalue

if TYPE_CHECKING:
    from assay.results.conclusion import Conclusion, PairTest

_NAMES = 4  # names of systems in a sentence


def line(found: Conclusion) -> Verdict:
    """All that is shown about the best one, in one line."""
    said = [sentence(found), against_baseline(found), on_holdout(found)]
    first, *more = [one for one in said if one is not None]
    for one in more:
        first = say("text.then", first=first, second=one)
    return Verdict(first, tone(found.strength if found.state not in {"nothing", "alone", "equal"} else ""))


def sentence(found: Conclusion) -> Said:
    """Name the best one, and whether that is shown."""
    end = "low" if found.lower else "high"
    key = found.state if found.state in {"nothing", "alone", "equal", "tie", "shown"} else f"{found.state}_{end}"
    if found.state == "not_shown" and not set(found.second) & set(found.rivals):
        key = f"not_shown_to_some_{end}"
    test = found.against_second
    others = [name for name in found.rivals if name not in found.second[:1]]
    return say(
        f"conclusion.{key}",
        measure=found.measure,
        n=found.candidates,
        system=found.best[0] if found.best else "",
        systems=list(found.best),
        value=found.value or 0.0,
        second=found.second[0] if found.second else "",
        other=found.second_value or 0.0,
        test="" if test is None else describe_test(test),
        rivals=some(found.rivals, _NAMES),
        also=say("conclusion.also", names=some(others, _NAMES)) if others else "",
    )


def describe_test(test: PairTest) -> Said:
    """Show the p of a test, and what a correction made of it."""
    values = {"p": pvalue(test.pvalue), "adjusted": pvalue(test.adjusted), "n": test.tests}
    if test.too_few:
        return say("conclusion.too_few")
    if test.decision == "equivalent":
        return say("conclusion.equivalent")
    if test.fails_by_tail:
        return say("conclusion.test_unseen", **values)
    key = "turned" if test.turned else "corrected" if test.tests > 1 else "alone"
    return say(f"conclusion.test_{key}", correction=say(f"correction.{test.correction}"), **values)


def against_baseline(found: Conclusion) -> Said | None:
    """Say what is shown about the best one and the baseline; nothing where that is said already."""
    test = found.against_baseline
    if test is None or len(found.best) != 1 or found.second[:1] == (found.baseline,):
        return None
    which = "named" if found.baseline_named else "default"
    return say(
        f"conclusion.baseline_{test.decision}",
        baseline=say(f"conclusion.baseline_{which}", name=found.baseline),
        by=test.difference.estimate or 0.0,
        interval=describe_interval(test.difference, signed=True),
        test=describe_test(test),
    )


def on_holdout(found: Conclusion) -> Said | None:
    """Say whether held-out queries confirm the choice."""
    if found.holdout == "none":
        return None
    return say(f"conclusion.holdout_{found.holdout}", baseline=found.baseline)
