"""How a document of blocks is written as text: for a terminal, in Markdown, in LaTeX. HTML has a module of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.errors import clean
from assay.messages import Lang, say, tell
from assay.report.blocks import (
    AnswerView,
    Block,
    Chart,
    Drilldown,
    Facts,
    Fold,
    Heading,
    Lines,
    Section,
    Verdict,
    View,
)
from assay.report.tables import Format, Table, latex_text, render, width, wrapped

if TYPE_CHECKING:
    from collections.abc import Sequence

_VIEWS = 10  # queries that a text shows in full
_DEPTH = 10

__all__ = ["Block", "Heading", "Lines", "write"]


def write(blocks: Sequence[Block], kind: Format, lang: Lang = "en", *, stamp: str = "") -> str:
    """Render a document; CSV holds its first table only, as more than one do not fit into a CSV file.

    A `stamp` is what nobody may overlook: a last line, in CSV a last column.
    """
    plain = [simple for block in blocks for simple in simplify(block)]
    if kind == "csv":
        table = next(block for block in plain if isinstance(block, Table))
        return render(table.stamped(stamp) if stamp else table, kind, lang)
    plain = [*plain, Lines((stamp,))] if stamp else plain
    return "\n".join(text for block in plain if (text := _block(block, kind, lang)))


def simplify(block: Block) -> list[Heading | Lines | Table | Verdict]:
    """Say a block in titles, sentences and tables: all that text can show."""
    if isinstance(block, (Section, Fold)):
        return [Heading(block.title), *(simple for inner in block.blocks for simple in simplify(inner))]
    if isinstance(block, Chart):
        return [Table(block.table.headers, block.table.rows, block.title, block.table.names, block.table.texts)]
    if isinstance(block, Facts):
        return [
            Lines(tuple(say("report.fact_more" if more else "report.fact", name=name, value=value, more=more)
                        for name, value, more in block.items))
        ]  # fmt: skip
    if isinstance(block, Drilldown):
        return _drilldown(block)
    return [block]


def _drilldown(block: Drilldown) -> list[Heading | Lines | Table | Verdict]:
    shown = [simple for view in block.views[:_VIEWS] for simple in _view(block, view)]
    left = len(block.views) - _VIEWS
    more = (say("report.more_queries", n=left),) if left > 0 else ()
    return [*shown, Lines((*block.notes, *more))]


def _view(block: Drilldown, view: View) -> list[Heading | Lines | Table | Verdict]:
    found: list[Heading | Lines | Table | Verdict] = [Heading(view.query_id)]
    if view.text:
        found.append(Lines((view.text,)))
    if view.values:
        rows = tuple(
            (name, *("" if value is None else f"{value:.4f}" for value in values))
            for name, values in zip(block.systems, view.values, strict=True)
        )
        found.append(Table((say("column.system"), *block.measures), rows))
    depth = min(_DEPTH, max(map(len, view.lists), default=0))
    if depth:
        body = tuple((str(i + 1), *(_entry(entries, i) for entries in view.lists)) for i in range(depth))
        texts = tuple(range(1, len(block.systems) + 1))
        found.append(Table((say("column.rank"), *block.systems), body, names=0, texts=texts))
    return [*found, *(_sample(sample) for sample in view.samples)]


def _entry(entries: Sequence[object], place: int) -> str:
    if place >= len(entries):
        return ""
    entry = entries[place]
    grade = getattr(entry, "grade", None)
    return f"{getattr(entry, 'doc_id', '')} ({'?' if grade is None else f'{grade:g}'})"


def _sample(sample: AnswerView) -> Table:
    rows = tuple(
        (part.text, f"{part.support:.2f}", part.evidence or part.reason)
        for part in sample.statements
        if part.support is not None
    )
    headers = (say("column.statement"), say("column.support"), say("column.evidence"))
    caption = f"{sample.system}: {sample.question}" if sample.system else sample.question
    return Table(headers, rows, caption=caption, texts=(2,))


def _block(block: Heading | Lines | Table | Verdict, kind: Format, lang: Lang) -> str:
    if isinstance(block, Table):
        return render(block, kind, lang)
    if isinstance(block, Heading):
        return _heading(clean(tell(block.text, lang)), kind)
    if isinstance(block, Verdict):
        return _verdict(clean(tell(block.text, lang)), kind)
    told = [clean(tell(line, lang)) for line in block.lines]
    if kind == "latex":
        return "".join(f"{latex_text(line)}\\\\\n" for line in told)
    mark = "- " if block.listed else ""
    if kind == "markdown":
        end = "" if block.listed else "  "
        return "".join(f"{mark}{line}{end if i < len(told) - 1 else ''}\n" for i, line in enumerate(told))
    return "".join(f"{line}\n" for text in told for line in wrapped(mark + text, "  " if mark else ""))


def _heading(text: str, kind: Format) -> str:
    if kind == "markdown":
        return f"## {text}\n"
    if kind == "latex":
        return f"\\subsection*{{{latex_text(text)}}}\n"
    return f"{text}\n{'=' * width(text)}\n"


def _verdict(text: str, kind: Format) -> str:
    if kind == "markdown":
        return f"> **{text}**\n"
    if kind == "latex":
        return f"\\textbf{{{latex_text(text)}}}\\\\\n"
    return "".join(f"{line}\n" for line in wrapped(text))
