"""The first table of blocks as CSV."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.report.simple import simplify_all
from assay.report.tables import Cell, Table, plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.messages import Lang
    from assay.report.blocks import Block

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")


def write(blocks: Sequence[Block], lang: Lang = "en", *, stamp: str = "", **_: str) -> str:
    """Write the first table; a `stamp`, which must not be overlooked, is its last column."""
    first = next(block for block in simplify_all(blocks) if isinstance(block, Table))
    return table((first.add_stamp(stamp) if stamp else first).translate(lang))


def table(given: Table) -> str:
    """Write CSV; a text that a spreadsheet would run as a formula gets an apostrophe in front.

    A column whose cells carry marks is followed by a column of them.
    """
    body = [[plain(cell) for cell in row] for row in given.rows]
    marked = [any(row[i].mark for row in body) for i in range(len(given.headers))]
    lines = []
    heads = [Cell(header, f"{header} marks") for header in given.headers]
    for row in (heads, *body):
        cells = [(cell.text, cell.mark) if more else (cell.text,) for cell, more in zip(row, marked, strict=True)]
        lines.append(",".join(_quote(_guard_formula(text)) for pair in cells for text in pair))
    return "\n".join(lines) + "\n"


def _quote(cell: str) -> str:
    """Quote what would end a cell; the csv module leaves a bare carriage return, which some readers take for a row."""
    return '"' + cell.replace('"', '""') + '"' if any(char in cell for char in ',"\r\n') else cell


def _guard_formula(cell: str) -> str:
    if not cell.startswith(_FORMULA):
        return cell
    try:
        float(cell)
    except ValueError:
        return "'" + cell
    return cell
