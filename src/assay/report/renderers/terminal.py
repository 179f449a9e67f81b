"""Blocks as lines of a terminal: tables with aligned columns, sentences broken where they are too long."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from assay.errors import clean
from assay.messages import tell
from assay.report.blocks import Heading, Verdict
from assay.report.simple import Simple, write_all
from assay.report.tables import COLUMNS, Cell, Table, plain, width, wrap

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.messages import Lang
    from assay.report.blocks import Block


def write(blocks: Sequence[Block], lang: Lang = "en", *, stamp: str = "", columns: int = COLUMNS, **_: str) -> str:
    """Write a document, its sentences no wider than `columns`."""
    return write_all(blocks, partial(_block, lang=lang, columns=columns), stamp)


def _block(block: Simple, lang: Lang, columns: int) -> str:
    if isinstance(block, Table):
        return table(block.translate(lang))
    if isinstance(block, Heading):
        text = clean(tell(block.text, lang))
        return f"{text}\n{'=' * width(text)}\n"
    if isinstance(block, Verdict):
        return "".join(f"{line}\n" for line in wrap(clean(tell(block.text, lang)), columns=columns))
    mark = "- " if block.listed else ""
    told = [mark + clean(tell(line, lang)) for line in block.lines]
    return "".join(f"{line}\n" for text in told for line in wrap(text, "  " if mark else "", columns))


def table(given: Table) -> str:
    """Align columns with two spaces between them, under a rule; marks have a column of their own."""
    body = [[plain(cell) for cell in row] for row in given.rows]
    marks = [max((width(clean(row[i].mark)) for row in body), default=0) for i in range(len(given.headers))]
    marked = [[_with_mark(cell, mark) for cell, mark in zip(row, marks, strict=True)] for row in body]
    rows = [[clean(header) for header in given.headers], *marked]
    widths = [max(width(row[i]) for row in rows) for i in range(len(given.headers))]
    lines = []
    for row in rows:
        cells = [
            cell + " " * (size - width(cell)) if given.is_text(i) else " " * (size - width(cell)) + cell
            for i, (cell, size) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    rule = "  ".join("-" * size for size in widths)
    head = [clean(given.caption)] if given.caption else []
    return "\n".join([*head, lines[0], rule, *lines[1:]]) + "\n"


def _with_mark(cell: Cell, size: int) -> str:
    mark = clean(cell.mark)
    return clean(cell.text) + (" " + mark + " " * (size - width(mark)) if size else "")
