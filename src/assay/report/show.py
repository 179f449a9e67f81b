"""Any record as text: for a terminal, a page, a paper, a spreadsheet or a notebook."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from assay.data.scores import Scores
from assay.errors import UsageError
from assay.report.blocks import Lines
from assay.report.document import write
from assay.report.notebook import fragment
from assay.results.parts import known_parts
from assay.results.result import Result

if TYPE_CHECKING:
    from assay.data.record import Record
    from assay.messages import Lang
    from assay.report.blocks import Block

KINDS = ("table", "markdown", "latex", "csv", "html")


def show(record: Record, kind: str = "table", *, lang: Lang = "en") -> str:
    """Write a record as a table for the terminal, as markdown, latex or csv, or as html for a notebook.

    >>> import assay
    >>> scores = assay.evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}, ["map"], name="bm25")
    >>> "bm25" in assay.show(scores)
    True
    """
    if kind not in KINDS:
        raise UsageError(f"{kind}: expected one of {', '.join(KINDS)}")
    blocks = blocks_of(record)
    return fragment(blocks, lang) if kind == "html" else write(blocks, kind, lang)  # type: ignore[arg-type]


def blocks_of(record: Record) -> list[Block]:
    """The blocks that show a record: by the view that is called as its part of a result."""
    if isinstance(record, Result):
        return _whole(record)
    if isinstance(record, Scores):
        return _view("scores", record)
    shape = next((one for one in known_parts().values() if isinstance(record, one.record)), None)
    if shape is None:
        raise UsageError(f"there is no view of {type(record).__name__}")
    return _view(shape.view, record)


def _view(name: str, record: Record) -> list[Block]:
    found: list[Block] = importlib.import_module(f"assay.report.views.{name}").view(record)
    return found


def _whole(result: Result) -> list[Block]:
    """Everything that a result holds: its parts, or its scores where there is no part that shows them."""
    listed = [one if isinstance(one, tuple) else (one,) for one in result.parts.values()]
    blocks = [block for records in listed for record in records for block in blocks_of(record)]
    if not blocks and result.systems:
        document = importlib.import_module("assay.report.views.scores").document
        return list(document(result.systems))
    return blocks or [Lines(result.warnings)]
