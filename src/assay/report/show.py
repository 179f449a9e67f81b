"""Any record as text: for a terminal, a page, a paper, a spreadsheet or a notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from assay.errors import UsageError
from assay.messages import say
from assay.report.document import write
from assay.report.views import result

if TYPE_CHECKING:
    from assay.data.record import Record
    from assay.messages import Lang
    from assay.report.blocks import Block

KINDS = ("table", "markdown", "latex", "csv", "html")
Level = Literal["line", "table", "page"]


def show(record: Record, kind: str = "table", *, level: Level = "table", lang: Lang = "en") -> str:
    """Write a record as a table for the terminal, as markdown, latex or csv, or as html for a notebook.

    `level` is how much is shown: one sentence (line), the tables (table), or those with charts and details (page).

    >>> import assay
    >>> scores = assay.evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}, ["map"], name="bm25")
    >>> "bm25" in assay.show(scores)
    True
    """
    if kind not in KINDS:
        raise UsageError(say("{kind}: expected one of {names}", kind=kind, names=KINDS))
    return write(blocks_of(record, level), "notebook" if kind == "html" else kind, lang)


def blocks_of(record: Record, level: Level = "table") -> list[Block]:
    """The blocks that show a record."""
    if level == "line":
        return [result.line(record)]
    return result.table(record) if level == "table" else result.page(record)
