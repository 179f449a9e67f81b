"""Blocks as plain values for the template of pages: every text in its language, every number as it is shown."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import cached_property, singledispatchmethod
from typing import TYPE_CHECKING, Any

from assay.messages import Lang, Said, say, tell
from assay.report import charts
from assay.report.blocks import (
    Block,
    Cases,
    Cast,
    Chart,
    Decision,
    Drilldown,
    Facts,
    Fold,
    Heading,
    Lines,
    Outline,
    Section,
    Verdict,
)
from assay.report.design.colours import assign_colours
from assay.report.renderers.drilldown import pack
from assay.report.renderers.tips import tips
from assay.report.simple import table_of
from assay.report.svg import inline
from assay.report.tables import Cell, Table, plain

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from assay.report.tables import Facet

ROWS = 50  # of a table on one page; longer tables carry their rows as data
_WIDE = 6  # more columns than this are set in small type
_NARROW = {"scatter", "density"}
_SYSTEMS = frozenset({"column.system", "column.variant", "column.other_system"})
_UNSAFE = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def data(value: object) -> str:
    """Write values as JSON that cannot end the script element around it."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return "".join(_UNSAFE.get(char, char) for char in text) if any(c in text for c in _UNSAFE) else text


@dataclass(frozen=True)
class Setting:
    """What a page is set in: its language, who it is about, and the type of texts that need no escaping."""

    lang: Lang
    cast: Cast
    markup: Any

    @cached_property
    def colours(self) -> Mapping[str, int]:
        """The colours of systems."""
        return assign_colours(self.cast.systems)

    def blocks(self, blocks: Sequence[Block]) -> list[dict[str, Any]]:
        """Consecutive charts are placed side by side; blocks without content are left out."""
        found: list[dict[str, Any]] = []
        for block in blocks:
            if isinstance(block, Cast) or (isinstance(block, Lines) and not block.lines):
                continue
            made = self.block(block)
            if made["kind"] == "charts" and found and found[-1]["kind"] == "charts":
                found[-1]["charts"] += made["charts"]
            else:
                found.append(made)
        return found

    @singledispatchmethod
    def block(self, block: Block) -> dict[str, Any]:
        """One block."""
        raise TypeError(type(block).__name__)

    @block.register
    def _section(self, block: Section) -> dict[str, Any]:
        inner = self.blocks(block.blocks)
        return {"kind": "section", "key": block.key, "title": self._tell(block.title), "blocks": inner}

    @block.register
    def _fold(self, block: Fold) -> dict[str, Any]:
        return {"kind": "fold", "title": self._tell(block.title), "blocks": self.blocks(block.blocks)}

    @block.register
    def _heading(self, block: Heading) -> dict[str, Any]:
        return {"kind": "heading", "text": self._tell(block.text)}

    @block.register
    def _verdict(self, block: Verdict) -> dict[str, Any]:
        return {"kind": "verdict", "text": self._tell(block.text), "tone": block.tone}

    @block.register
    def _lines(self, block: Lines) -> dict[str, Any]:
        return {"kind": "lines", "listed": block.listed, "lines": [self._tell(line) for line in block.lines]}

    @block.register
    def _facts(self, block: Facts) -> dict[str, Any]:
        return {"kind": "facts", "items_": [tuple(map(self._tell, item)) for item in block.items]}

    @block.register
    def _grid(self, block: Table) -> dict[str, Any]:
        return {"kind": "table", **self._table(block)}

    @block.register
    def _cases(self, block: Cases) -> dict[str, Any]:
        return self._grid(table_of(block))

    @block.register
    def _drilldown(self, block: Drilldown) -> dict[str, Any]:
        return {"kind": "drill", "data": self.markup(data(pack(block, self.lang, self.colours)))}

    @block.register
    def _outline(self, block: Outline) -> dict[str, Any]:
        found = [
            (self._tell(one.title), self._tell(one.verdict.text), one.verdict.tone, one.to) for one in block.findings
        ]
        return {"kind": "outline", "findings": found}

    def _tell(self, text: str) -> str:
        return tell(text, self.lang)

    @block.register
    def _decision(self, block: Decision) -> dict[str, Any]:
        figure = block.figure
        drawn = block.chart if block.chart is not None and not block.chart.is_flat else None
        return {
            "kind": "decision", "text": self._tell(block.text), "tone": block.tone,
            "why": [self._tell(line) for line in block.why],
            "figure": None if figure is None else tuple(map(self._tell, (figure.name, figure.value, figure.interval))),
            "chart": None if drawn is None else self._chart(drawn),
            "steps": [(self._tell(step.text), step.to) for step in block.steps],
        }  # fmt: skip

    @block.register
    def _chart_or_table(self, chart: Chart) -> dict[str, Any]:
        """A picture, or the numbers alone where a picture would show nothing."""
        if not chart.is_flat:
            return {"kind": "charts", "charts": [self._chart(chart)]}
        return {"kind": "table", **self._table(replace(chart.table, caption=chart.title))}

    def _chart(self, chart: Chart) -> dict[str, Any]:
        told = tips(chart, self.lang)
        return {
            "title": self._tell(chart.title),
            "svg": self.markup(inline(charts.svg(chart, self.lang, cast=self.cast))),
            "table": self._table(chart.table),
            "narrow": chart.kind in _NARROW,
            "tips": self.markup(data(told)),
        }

    def _table(self, given: Table) -> dict[str, Any]:
        table = given.translate(self.lang)
        rows = _align_marks([[plain(cell) for cell in row] for row in table.rows])
        long = len(rows) > 2 * ROWS
        named = [i for i, header in enumerate(given.headers) if isinstance(header, Said) and header.key in _SYSTEMS]
        shown = [
            [self._cell(cell, in_systems=i in named) for i, cell in enumerate(row)]
            for row in (rows[:ROWS] if long else rows)
        ]
        facets = [self._facet(facet) for facet in given.facets]
        return {
            "caption": table.caption,
            "label": table.caption or ", ".join(table.headers),
            "headers": [(header, self.colours.get(header, 0)) for header in table.headers],
            "is_text": [table.is_text(i) for i in range(len(table.headers))],
            "texts": " ".join(str(i) for i in range(len(table.headers)) if table.is_text(i)),
            "wide": len(table.headers) > _WIDE,
            "rows": shown,
            "data": self.markup(data([[_pack(cell) for cell in row] for row in rows])) if long else "",
            "more": self._tell(say("page.more_rows", n=len(rows) - ROWS)) if long else "",
            "facets": self.markup(data(facets)) if facets else "",
        }

    def _cell(self, cell: Cell, *, in_systems: bool) -> dict[str, Any]:
        colour = self.colours.get(cell.text, 0) if in_systems else 0
        return {"cell": cell, "colour": colour, "role": self._role(cell.text) if colour else ""}

    def _role(self, name: str) -> str:
        return "baseline" if name == self.cast.baseline else "best" if name == self.cast.best else ""

    def _facet(self, facet: Facet) -> dict[str, Any]:
        """A facet with its kinds as numbers."""
        kinds = {kind: place for place, kind in enumerate(dict.fromkeys(facet.kinds))}
        return {
            "key": facet.key,
            "title": self._tell(facet.title),
            "choices": [
                [one.code, self._tell(one.label), [kinds[kind] for kind in one.kinds if kind in kinds]]
                for one in facet.choices
            ],
            "kinds": [kinds[kind] for kind in facet.kinds],
        }


def find_cast(blocks: Sequence[Block]) -> Cast:
    """Who a document is about: what it says itself, or the systems of its drill-down."""
    inner = [one for block in blocks for one in (block.blocks if isinstance(block, Section) else (block,))]
    said = next((one for one in inner if isinstance(one, Cast)), None)
    return said or Cast(next((one.systems for one in inner if isinstance(one, Drilldown)), ()))


def _align_marks(rows: list[list[Cell]]) -> list[list[Cell]]:
    """Give cells without a mark an empty one where others of their column have one, so that numbers stay in line."""
    marked = {i for row in rows for i, cell in enumerate(row) if cell.mark}
    if not marked:
        return rows
    return [
        [replace(cell, mark=cell.mark or "\N{NO-BREAK SPACE}") if i in marked else cell for i, cell in enumerate(row)]
        for row in rows
    ]


def _pack(cell: Cell) -> str | list[str | int | None]:
    """A cell as data: its text alone, where there is nothing more to say."""
    if not (cell.mark or cell.strong or cell.tone or cell.query is not None):
        return cell.text
    return [cell.text, cell.tone, cell.query, cell.mark, int(cell.strong)]
