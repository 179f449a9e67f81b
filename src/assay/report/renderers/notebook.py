"""Blocks as a piece of HTML that a notebook shows between other output: plain tables, no script, no style sheet."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from assay.errors import clean
from assay.messages import tell
from assay.report.blocks import Heading, Verdict
from assay.report.simple import Simple, simplify_all
from assay.report.tables import Table, plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.messages import Lang
    from assay.report.blocks import Block


def write(blocks: Sequence[Block], lang: Lang = "en", *, stamp: str = "", **_: str) -> str:
    """Write blocks as HTML; every text is escaped."""
    parts = [_part(simple, lang) for simple in simplify_all(blocks, stamp)]
    return "<div>\n" + "\n".join(part for part in parts if part) + "\n</div>"


def _part(block: Simple, lang: Lang) -> str:
    if isinstance(block, Heading):
        return f"<h4>{_text(block.text, lang)}</h4>"
    if isinstance(block, Verdict):
        return f"<p><strong>{_text(block.text, lang)}</strong></p>"
    if isinstance(block, Table):
        return _table(block, lang)
    if not block.lines:
        return ""
    if block.listed:
        return "<ul>" + "".join(f"<li>{_text(line, lang)}</li>" for line in block.lines) + "</ul>"
    return "<p>" + "<br>".join(_text(line, lang) for line in block.lines) + "</p>"


def _table(table: Table, lang: Lang) -> str:
    left = {*range(table.names), *table.texts}
    caption = f"<caption>{_text(table.caption, lang)}</caption>" if table.caption else ""
    head = "".join(f"<th{_alignment(i, left)}>{_text(cell, lang)}</th>" for i, cell in enumerate(table.headers))
    rows = "".join(
        "<tr>" + "".join(f"<td{_alignment(i, left)}>{_cell(cell, lang)}</td>" for i, cell in enumerate(row)) + "</tr>\n"
        for row in table.rows
    )
    return f"<table>{caption}\n<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table>"


def _alignment(place: int, left: set[int]) -> str:
    return f' style="text-align: {"left" if place in left else "right"}"'


def _cell(given: object, lang: Lang) -> str:
    cell = plain(given)  # type: ignore[arg-type]
    text = _text(cell.text, lang) + (f"<sup>{_text(cell.mark, lang)}</sup>" if cell.mark else "")
    return f"<strong>{text}</strong>" if cell.strong else text


def _text(text: str, lang: Lang) -> str:
    return escape(clean(tell(text, lang)))
