"""What a plan of judging looks like."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.report.blocks import Block, Lines
from assay.report.tables import Table
from assay.report.views.judging import plan

if TYPE_CHECKING:
    from assay.results.judging import JudgingPlan


def view(found: JudgingPlan) -> list[Block]:
    """One row per judge, and the same in words."""
    rows = found.to_rows()
    cells = tuple(tuple("" if value is None else f"{value}" for value in row.values()) for row in rows)
    return [Table(tuple(rows[0]) if rows else (), cells), Lines(tuple(plan(found)))]
