"""A drill-down as data for the page's script: every document once, lists as numbers, so that many queries fit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from assay.messages import Lang, say, tell

if TYPE_CHECKING:
    from assay.report.blocks import Drilldown, Sample, View

_LEVELS = 3


def packed(block: Drilldown, lang: Lang) -> dict[str, Any]:
    """Lay out a drill-down.

    `docs` and `texts` are numbered documents; a list is [document, moved, ...] with "" for a document that the first
    system lacks, and just [document, ...] for the first system itself; grades are {document: number of a grade}.
    """
    docs: dict[str, int] = {}
    grades: dict[float, int] = {}
    queries = [_view(view, docs, grades, lang) for view in block.views]
    return {
        "systems": list(block.systems),
        "measures": list(block.measures),
        "docs": list(docs),
        "texts": {str(docs[doc]): text for doc, text in block.documents.items() if doc in docs},
        "grades": [[f"{grade:g}", level(grade, block.top)] for grade in grades],
        "queries": queries,
        "moved": tell(say("page.moved", name=block.systems[0]), lang) if block.systems else "",
    }


def level(grade: float, top: float) -> int:
    """How strongly a grade is coloured: 0 for not relevant, the full colour for the highest grade."""
    if grade <= 0:
        return 0
    return max(1, round(_LEVELS * min(1.0, grade / top))) if top > 0 else _LEVELS


def _view(view: View, docs: dict[str, int], grades: dict[float, int], lang: Lang) -> dict[str, Any]:
    values = [[None if v is None else round(v, 4) for v in row] for row in view.values]
    found: dict[str, Any] = {"id": view.query_id, "v": values}
    if view.text:
        found["t"] = view.text
    if view.lists:
        found["l"] = [_list(view, place, docs) for place in range(len(view.lists))]
        found["g"] = _grades(view, docs, grades)
    if view.samples:
        found["s"] = [_sample(sample, lang) for sample in view.samples]
    return found


def _list(view: View, place: int, docs: dict[str, int]) -> list[Any]:
    flat: list[Any] = []
    for entry in view.lists[place]:
        flat.append(docs.setdefault(entry.doc_id, len(docs)))
        if place:
            flat.append("" if entry.moved is None else entry.moved)
    return flat


def _grades(view: View, docs: dict[str, int], grades: dict[float, int]) -> dict[str, int]:
    return {
        str(docs[entry.doc_id]): grades.setdefault(entry.grade, len(grades))
        for entries in view.lists
        for entry in entries
        if entry.grade is not None
    }


def _sample(sample: Sample, lang: Lang) -> dict[str, Any]:
    return {
        "q": sample.question,
        "a": [
            [part.text, "" if part.support is None else f"{part.support:.2f}", part.tone, part.context, part.evidence,
             part.reason]
            for part in sample.statements
        ],
        "c": [list(context) for context in sample.contexts],
        "m": sample.method,
        "s": tell(sample.stage, lang),
    }  # fmt: skip
