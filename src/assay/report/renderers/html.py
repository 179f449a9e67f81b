"""A document of blocks as one HTML file that needs nothing else: charts are pictures, and no request is ever made."""

from __future__ import annotations

import base64
import json
import re
from dataclasses import replace
from hashlib import sha256
from importlib.metadata import version
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from assay.errors import MissingPackage
from assay.messages import Lang, say, tell
from assay.report import charts
from assay.report.blocks import Block, Cases, Chart, Drilldown, Facts, Fold, Heading, Lines, Section, Verdict
from assay.report.renderers.drilldown import pack
from assay.report.simple import table_of
from assay.report.svg import inline
from assay.report.tables import Cell, Table, plain

if TYPE_CHECKING:
    from collections.abc import Sequence

_ROWS = 50  # of a table on one page; longer tables carry their rows as data
_WIDE = 6  # more columns than this are set in small type
_NARROW = {"scatter", "density"}
_WORDS = (
    "contents", "skip", "theme", "data", "filter", "previous", "next", "rows", "no_rows", "close", "previous_query",
    "next_query", "new", "new_why", "unjudged", "grade", "empty", "contexts", "evidence", "support", "script",
    "reference",
)  # fmt: skip
_COLUMNS = ("system", "statement", "support", "evidence")
_SURROGATE = re.compile("[\ud800-\udfff]")
_UNSAFE = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def write(blocks: Sequence[Block], lang: Lang = "en", *, title: str = "", made: str = "", stamp: str = "") -> str:
    """Write a page; blocks outside sections form a section of their own."""
    loose = tuple(block for block in blocks if not isinstance(block, Section))
    stamped = (*loose, Verdict(stamp, "warn")) if stamp else loose
    sections = [block for block in blocks if isinstance(block, Section)]
    heading = title or say("page.untitled")
    return page(
        [*([Section("result", heading, stamped)] if stamped else []), *sections], title=heading, made=made, lang=lang
    )


def page(sections: Sequence[Section], *, title: str, made: str = "", lang: Lang = "en") -> str:
    """Write the file; the same sections give the same bytes."""
    jinja = _jinja()
    markup = jinja.utils.markupsafe.Markup
    style, script = _part("style.css"), _part("script.js")
    words = {name: tell(say(f"page.{name}"), lang) for name in _WORDS}
    template = jinja.Environment(autoescape=True, trim_blocks=True).from_string(_part("page.html"))
    known = {**words, **{f"column_{name}": tell(say(f"column.{name}"), lang) for name in _COLUMNS}}
    text: str = template.render(
        language="zh-CN" if lang == "zh" else "en", title=tell(title, lang), made=tell(made, lang), words=words,
        pages=[_block(section, lang, markup) for section in sections], version=version("assay-eval"),
        style=markup(style), script=markup(script), style_hash=_hash(style), script_hash=_hash(script),
        words_data=markup(data(known)),
    )  # fmt: skip
    return _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text).replace("\0", "\N{REPLACEMENT CHARACTER}")


def _jinja() -> Any:
    try:
        import jinja2
    except ImportError:
        raise MissingPackage(say("an HTML report"), "jinja2", "report") from None
    return jinja2


def _part(name: str) -> str:
    return (files("assay.report.renderers") / "page" / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """The hash by which the page's policy knows its own style and script."""
    return "sha256-" + base64.b64encode(sha256(text.encode()).digest()).decode()


def data(value: object) -> str:
    """Write values as JSON that cannot end the script element around it."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return "".join(_UNSAFE.get(char, char) for char in text) if any(c in text for c in _UNSAFE) else text


def _block(block: Block, lang: Lang, markup: Any) -> dict[str, Any]:
    """Convert a block to plain values for the template."""
    made: dict[str, Any]
    match block:
        case Section() | Fold():
            inner = {"title": tell(block.title, lang), "blocks": _blocks(block.blocks, lang, markup)}
            made = {"kind": "section", "key": block.key} if isinstance(block, Section) else {"kind": "fold"}
            made |= inner
        case Heading() | Verdict():
            made = {"kind": type(block).__name__.lower(), "text": tell(block.text, lang)}
            made["tone"] = getattr(block, "tone", "")
        case Lines():
            made = {"kind": "lines", "listed": block.listed, "lines": [tell(line, lang) for line in block.lines]}
        case Facts():
            made = {"kind": "facts", "items_": [tuple(tell(text, lang) for text in item) for item in block.items]}
        case Table() | Cases():
            made = {"kind": "table", **_table(block if isinstance(block, Table) else table_of(block), lang, markup)}
        case Drilldown():
            made = {"kind": "drill", "data": markup(data(pack(block, lang)))}
        case Chart():
            made = {"kind": "charts", "charts": [_chart(block, lang, markup)]}
    return made


def _blocks(blocks: Sequence[Block], lang: Lang, markup: Any) -> list[dict[str, Any]]:
    """Render blocks; consecutive charts are placed side by side, blocks without content are left out."""
    found: list[dict[str, Any]] = []
    for block in blocks:
        if isinstance(block, Lines) and not block.lines:
            continue
        made = _block(block, lang, markup)
        if made["kind"] == "charts" and found and found[-1]["kind"] == "charts":
            found[-1]["charts"] += made["charts"]
        else:
            found.append(made)
    return found


def _chart(chart: Chart, lang: Lang, markup: Any) -> dict[str, Any]:
    return {
        "title": tell(chart.title, lang),
        "svg": markup(inline(charts.svg(chart, lang), charts.INK, charts.GRID)),
        "table": _table(chart.table, lang, markup),
        "narrow": chart.kind in _NARROW,
    }


def _table(given: Table, lang: Lang, markup: Any) -> dict[str, Any]:
    table = given.translate(lang)
    rows = _align_marks([[plain(cell) for cell in row] for row in table.rows])
    long = len(rows) > 2 * _ROWS
    return {
        "caption": table.caption,
        "label": table.caption or ", ".join(table.headers),
        "headers": table.headers,
        "is_text": [table.is_text(i) for i in range(len(table.headers))],
        "texts": " ".join(str(i) for i in range(len(table.headers)) if table.is_text(i)),
        "wide": len(table.headers) > _WIDE,
        "rows": rows[:_ROWS] if long else rows,
        "data": markup(data([[_cell(cell) for cell in row] for row in rows])) if long else "",
        "more": tell(say("page.more_rows", n=len(rows) - _ROWS), lang) if long else "",
    }


def _align_marks(rows: list[list[Cell]]) -> list[list[Cell]]:
    """Give cells without a mark an empty one where others of their column have one, so that numbers stay in line."""
    marked = {i for row in rows for i, cell in enumerate(row) if cell.mark}
    if not marked:
        return rows
    return [
        [replace(cell, mark=cell.mark or "\N{NO-BREAK SPACE}") if i in marked else cell for i, cell in enumerate(row)]
        for row in rows
    ]


def _cell(cell: Cell) -> str | list[str | int | None]:
    """A cell as data: its text alone, where there is nothing more to say."""
    if not (cell.mark or cell.strong or cell.tone or cell.query is not None):
        return cell.text
    return [cell.text, cell.tone, cell.query, cell.mark, int(cell.strong)]
