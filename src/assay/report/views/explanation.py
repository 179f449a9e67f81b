"""What an explanation of a value looks like."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.report.blocks import Block, Lines
from assay.report.tables import Table

if TYPE_CHECKING:
    from assay.results.explanation import Explanation


def view(found: Explanation) -> list[Block]:
    """The list with one column per step, and the steps from there to the value."""
    return [
        Lines((f"query {found.query_id}, {found.measure}, protocol {found.protocol}",)),
        Table(found.columns, found.rows, names=2),
        Lines(found.steps),
    ]
