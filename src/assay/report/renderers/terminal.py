"""Blocks as lines of a terminal: tables with aligned columns, sentences broken where they are too long."""

from __future__ import annotations

import sys
from functools import partial
from shutil import get_terminal_size
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

_LEAST = 40  # columns of a sentence


def write(blocks: Sequence[Block], lang: Lang = "en", *, stamp: str = "", columns: int | None = None, **_: str) -> str:
    """Write a document, its sentences no wider than `columns`, as wide as is read with ease unless given.

    On a terminal they are no wider than it is, and the columns of a table that is wider follow below each other. What
    goes into a file or another program is always the same.
    """
    room = get_terminal_size().columns if sys.stdout.isatty() else None
    fit = columns or min(COLUMNS, max(_LEAST, room or COLUMNS))
    return write_all(blocks, partial(_block, lang=lang, columns=fit, room=room), stamp)


def _block(block: Simple, lang: Lang, columns: int, room: int | None) -> str:
    if isinstance(block, Table):
        return table(block.translate(lang), room)
    if isinstance(block, Heading):
        text = clean(tell(block.text, lang))
        return f"{text}\n{'=' * width(text)}\n"
    if isinstance(block, Verdict):
        return "".join(f"{line}\n" for line in wrap(clean(tell(block.text, lang)), columns=columns))
    mark = "- " if block.listed else ""
    told = [mark + clean(tell(line, lang)) for line in block.lines]
    return "".join(f"{line}\n" for text in told for line in wrap(text, "  " if mark else "", columns))


def table(given: Table, room: int | None = None) -> str:
    """Align columns with two spaces between them, under a rule; marks have a column of their own.

    In less `room` than that takes, columns that do not fit follow in further tables that begin with the names.
    """
    body = [[plain(cell) for cell in row] for row in given.rows]
    marks = [max((width(clean(row[i].mark)) for row in body), default=0) for i in range(len(given.headers))]
    marked = [[_with_mark(cell, mark) for cell, mark in zip(row, marks, strict=True)] for row in body]
    rows = [[clean(header) for header in given.headers], *marked]
    widths = [max(width(row[i]) for row in rows) for i in range(len(given.headers))]
    head = [clean(given.caption)] if given.caption else []
    parts = ["\n".join(_align(given, rows, widths, shown)) for shown in _fit(widths, given.names, room)]
    return "\n".join([*head, "\n\n".join(parts)]) + "\n"


def _align(given: Table, rows: Sequence[Sequence[str]], widths: Sequence[int], shown: Sequence[int]) -> list[str]:
    """The lines of some columns, with the rule under their headers."""
    lines = []
    for row in rows:
        gaps = [" " * (widths[i] - width(row[i])) for i in shown]
        cells = [row[i] + gap if given.is_text(i) else gap + row[i] for i, gap in zip(shown, gaps, strict=True)]
        lines.append("  ".join(cells).rstrip())
    return [lines[0], "  ".join("-" * widths[i] for i in shown), *lines[1:]]


def _fit(widths: Sequence[int], names: int, room: int | None) -> list[list[int]]:
    """Which columns stand beside each other: all, or as many as fit, each time behind those with names."""
    whole = list(range(len(widths)))
    if room is None or sum(widths) + 2 * (len(widths) - 1) <= room:
        return [whole]
    first = whole[:names]
    parts: list[list[int]] = []
    left = 0
    for i in whole[names:]:
        left -= widths[i] + 2
        if not parts or (left < 0 and len(parts[-1]) > names):
            parts.append([*first])
            left = room - sum(widths[j] + 2 for j in first) - widths[i]
        parts[-1].append(i)
    return parts or [whole]


def _with_mark(cell: Cell, size: int) -> str:
    mark = clean(cell.mark)
    return clean(cell.text) + (" " + mark + " " * (size - width(mark)) if size else "")
