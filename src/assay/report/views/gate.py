"""What a gate looks like: the outcome of every rule, then what a reader should know."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.messages import Said, say
from assay.report.blocks import Block, Heading, Lines
from assay.report.tables import Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.results.gate import Gate


def gates(found: Sequence[Gate], *, strict: bool) -> list[Block]:
    """Rules of all systems with their outcomes, then what a reader should know."""
    rows = tuple(
        (one.system, check.name, say(f"outcome.{check.outcome}"), check.message)
        for one in found
        for check in one.checks
    )
    headers = (say("column.system"), say("column.rule"), say("column.outcome"), say("column.detail"))
    undecided = any(check.outcome == "inconclusive" for one in found for check in one.checks)
    titles = [Heading(_verdict(one, strict=strict)) for one in found]
    lines = [say("gate.open_fails" if strict else "gate.open")] if undecided else []
    doubts = [say("doubt.of_one", system=one.system, text=text) for one in found for text in one.warnings]
    return [*titles, Table(headers, rows, names=4), Lines((*lines, *doubts))]


def _verdict(one: Gate, *, strict: bool) -> Said:
    outcome = "failed" if strict and one.outcome == "inconclusive" else one.outcome
    return say("gate.title", system=one.system, outcome=say(f"outcome.{outcome}"))


def view(found: Gate) -> list[Block]:
    """One gate by itself; a rule that cannot be decided lets pass."""
    return gates([found], strict=False)
