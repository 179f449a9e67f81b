"""What an explanation of a value looks like."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.messages import say
from assay.report.blocks import Block, Lines, Verdict
from assay.report.numbers import number
from assay.report.tables import Table

if TYPE_CHECKING:
    from assay.results.explanation import Explanation


def line(found: Explanation) -> Verdict:
    """The value of the query."""
    key = "explain.line" if found.value is not None else "explain.undefined"
    return Verdict(say(key, query=found.query_id, measure=found.measure, value=number(found.value)))


def table(found: Explanation) -> list[Block]:
    """The list with one column per step, and the steps from there to the value."""
    return [
        Lines((say("explain.title", query=found.query_id, measure=found.measure, protocol=found.protocol),)),
        Table(found.columns, found.rows, names=2),
        Lines(found.steps),
    ]
