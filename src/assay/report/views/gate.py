"""What a gate looks like: the outcome of every rule, then what a reader should know."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.messages import say
from assay.report.blocks import Block, CaseOutcome, Cases, Heading, Lines, Verdict
from assay.report.marks import tone

if TYPE_CHECKING:
    from assay.results.gate import Gate, RuleCheck


def line(found: Gate, *, strict: bool = False) -> Verdict:
    """Say whether a change may pass."""
    outcome = found.decision(strict=strict)
    return Verdict(say("gate.title", system=found.system, outcome=say(f"outcome.{outcome}")), tone(outcome))


def table(*gates: Gate, strict: bool = False) -> list[Block]:
    """Rules of all systems with their outcomes, then what a reader should know."""
    cases = tuple(_case(one.system, check, strict=strict) for one in gates for check in one.checks)
    notes = tuple((one.system, text) for one in gates for text in one.notes)
    undecided = any(check.outcome == "inconclusive" for one in gates for check in one.checks)
    lines = [say("gate.open_fails" if strict else "gate.open")] if undecided else []
    titles = [Heading(line(one, strict=strict).text) for one in gates]
    return [*titles, Cases(cases, notes), Lines((*lines, *dict.fromkeys(text for _, text in notes)))]


def _case(system: str, check: RuleCheck, *, strict: bool) -> CaseOutcome:
    failed = check.fails(strict=strict)
    result = "passed" if check.outcome == "passed" else "failed" if failed else "skipped"
    outcome = say(f"outcome.{check.outcome}")
    return CaseOutcome(system, check.name, outcome, result, check.message, tone(check.outcome))  # type: ignore[arg-type]
