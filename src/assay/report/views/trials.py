"""What is said of the treatments of a test, in users or by interleaving: the decision on each, with its reasons."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.messages import say
from assay.report.blocks import Lines, Verdict
from assay.report.marks import tone

if TYPE_CHECKING:
    from assay.report.blocks import Block
    from assay.results.ab_test import TrialVerdict, Verdicts


def trial_line(found: Verdicts) -> Verdict:
    """The decision on every treatment in one line."""
    first, *more = [_sentence(one) for one in found.verdicts]
    text = first.text
    for one in more:
        text = say("text.then", first=text, second=one.text)
    mixed = any(one.tone != first.tone for one in more)
    return Verdict(text, "" if mixed else tone(found.decision))


def trial_decisions(found: Verdicts) -> list[Block]:
    """The decision on every treatment, each with its reasons."""
    return [block for one in found.verdicts for block in (_sentence(one), Lines(one.reasons, listed=True))]


def _sentence(one: TrialVerdict) -> Verdict:
    return Verdict(say(f"ab.{one.decision}", treatment=one.treatment), tone(one.decision))
