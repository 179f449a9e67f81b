"""A drill-down as data for the page's script: every document once, lists as numbers, so that many queries fit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from assay.messages import Lang, say, tell

if TYPE_CHECKING:
    from collections.abc import Mapping

    from assay.report.blocks import AnswerView, Drilldown, View

_LEVELS = 3


def pack(block: Drilldown, lang: Lang, colours: Mapping[str, int]) -> dict[str, Any]:
    """Lay out a drill-down.

    Each query numbers its own documents: "d" are their ids and "g" the numbers of their grades, -1 for none. A list of
    "l" is [document, ...] for the first system and [document, moved, ...] for others, "" where the first one lacks it.
    """
    grades: dict[float, int] = {}
    queries = [_view(view, grades, lang) for view in block.views]
    return {
        "systems": list(block.systems),
        "colours": dict(colours),
        "measures": list(block.measures),
        "texts": block.documents,
        "grades": [[f"{grade:g}", level(grade, block.top)] for grade in grades],
        "queries": queries,
        "moved": tell(say("page.moved", name=block.systems[0]), lang) if block.systems else "",
    }


def level(grade: float, top: float) -> int:
    """How strongly a grade is coloured: 0 for not relevant, the full colour for the highest grade."""
    if grade <= 0:
        return 0
    return max(1, round(_LEVELS * min(1.0, grade / top))) if top > 0 else _LEVELS


def _view(view: View, grades: dict[float, int], lang: Lang) -> dict[str, Any]:
    values = [[None if v is None else round(v, 4) for v in row] for row in view.values]
    found: dict[str, Any] = {"id": view.query_id, "v": values}
    if view.text:
        found["t"] = view.text
    if view.lists:
        known = {entry.doc_id: entry.grade for entries in view.lists for entry in entries}
        places = {doc: i for i, doc in enumerate(known)}
        found["d"] = list(known)
        found["g"] = [-1 if grade is None else grades.setdefault(grade, len(grades)) for grade in known.values()]
        found["l"] = [_list(view, place, places) for place in range(len(view.lists))]
    if view.samples:
        found["s"] = [_sample(sample, lang) for sample in view.samples]
    return found


def _list(view: View, place: int, places: dict[str, int]) -> list[Any]:
    flat: list[Any] = []
    for entry in view.lists[place]:
        flat.append(places[entry.doc_id])
        if place:
            flat.append("" if entry.moved is None else entry.moved)
    return flat


def _sample(sample: AnswerView, lang: Lang) -> dict[str, Any]:
    return {
        "q": sample.question,
        "a": [
            [part.text, "" if part.support is None else f"{part.support:.2f}", part.tone, part.context, part.evidence,
             tell(part.reason, lang)]
            for part in sample.statements
        ],
        "c": [list(context) for context in sample.contexts],
        "m": tell(sample.method, lang),
        "n": sample.system,
        "s": tell(sample.stage, lang),
        "f": sample.tone,
        "r": list(sample.references),
    }  # fmt: skip
