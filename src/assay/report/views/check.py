"""What a check of the input looks like."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.errors import clean
from assay.report.tables import Table

if TYPE_CHECKING:
    from assay.report.blocks import Block
    from assay.results.check import Finding, InputCheck


def lines(found: InputCheck) -> str:
    """Every finding as a line of its own that names its file, as compilers write them, and how many there are."""
    number = len(found.findings)
    end = f"{number} finding{'s' * (number != 1)}" if number else "nothing found"
    return "\n".join([*(line for one in found.findings for line in _lines(one)), end]) + "\n"


def _lines(one: Finding) -> list[str]:
    head = f"{clean(one.where)}: {one.level}: {one.kind}: {one.count:,} {one.message}"
    return [head, *([f"    for example: {clean('; '.join(one.examples))}"] if one.examples else [])]


def view(found: InputCheck) -> list[Block]:
    """Every finding as a row of one table."""
    rows = tuple(tuple(str(value) for value in row.values()) for row in found.to_rows())
    return [Table(("file", "level", "kind", "count", "message", "examples"), rows, names=6)]
