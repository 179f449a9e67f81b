"""Blocks as Markdown: pipe tables, lists, headings."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from assay.errors import clean
from assay.messages import tell
from assay.report.blocks import Heading, Lines, Verdict
from assay.report.simple import Simple, write_all
from assay.report.tables import Cell, Table, plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.messages import Lang
    from assay.report.blocks import Block


def write(blocks: Sequence[Block], lang: Lang = "en", *, stamp: str = "", note: str = "", **_: str) -> str:
    """Write a document; a note is a line below."""
    more = [Lines((note,))] if note else []
    return write_all([*blocks, *more], partial(_block, lang=lang), stamp)


def _block(block: Simple, lang: Lang) -> str:
    if isinstance(block, Table):
        return table(block.translate(lang))
    if isinstance(block, Heading):
        return f"## {clean(tell(block.text, lang))}\n"
    if isinstance(block, Verdict):
        return f"> **{clean(tell(block.text, lang))}**\n"
    told = [clean(tell(line, lang)) for line in block.lines]
    mark, end = ("- ", "") if block.listed else ("", "  ")
    return "".join(f"{mark}{line}{end if i < len(told) - 1 else ''}\n" for i, line in enumerate(told))


def table(given: Table) -> str:
    """Write a pipe table."""

    def cell(one: str | Cell) -> str:
        found = plain(one)
        text = clean(found.text).replace("|", r"\|")
        return (f"**{text}**" if found.strong and text else text) + (f" {clean(found.mark)}" if found.mark else "")

    def line(cells: Sequence[str | Cell]) -> str:
        return "| " + " | ".join(map(cell, cells)) + " |"

    marks = "|" + "|".join("---" if given.is_text(i) else "---:" for i in range(len(given.headers))) + "|"
    head = [f"**{clean(given.caption)}**", ""] if given.caption else []
    return "\n".join([*head, line(given.headers), marks, *map(line, given.rows)]) + "\n"
