"""Any document in titles, sentences and tables: all that a text can show."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.messages import say
from assay.report.blocks import (
    AnswerView,
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
    View,
)
from assay.report.tables import Cell, Table

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_VIEWS = 10  # queries that a text shows in full
_DEPTH = 10

Simple = Heading | Lines | Table | Verdict


def simplify_all(blocks: Sequence[Block], stamp: str = "") -> list[Simple]:
    """Convert a document to titles, sentences and tables; a `stamp`, which must not be overlooked, comes last."""
    found = [simple for block in blocks for simple in simplify(block)]
    return [*found, Lines((stamp,))] if stamp else found


def write_all(blocks: Sequence[Block], write: Callable[[Simple], str], stamp: str = "") -> str:
    """Write a document block by block; parts without content leave no gap."""
    return "\n".join(text for one in simplify_all(blocks, stamp) if (text := write(one)))


def simplify(block: Block) -> list[Simple]:
    """Convert a block to titles, sentences and tables, which is all that text can show."""
    match block:
        case Section() | Fold():
            found: list[Simple] = [
                Heading(block.title),
                *(simple for inner in block.blocks for simple in simplify(inner)),
            ]
        case Chart():
            table = block.table
            found = [Table(table.headers, table.rows, block.title, table.names, table.texts)]
        case Facts():
            found = [Lines(tuple(_fact(*item) for item in block.items))]
        case Decision():
            found = _decision(block)
        case Outline():
            told = (say("report.fact", name=one.title, value=one.verdict.text) for one in block.findings)
            found = [Lines(tuple(told))]
        case Cast():
            found = []
        case Drilldown():
            found = _drilldown(block)
        case Cases():
            found = [table_of(block)]
        case _:
            found = [block]
    return found


def _fact(name: str, value: str, more: str) -> str:
    return say("report.fact_more" if more else "report.fact", name=name, value=value, more=more)


def _decision(block: Decision) -> list[Simple]:
    figure = block.figure
    shown = () if figure is None else (_fact(figure.name, figure.value, figure.interval),)
    found: list[Simple] = [Verdict(block.text, block.tone), Lines((*block.why, *shown))]
    if block.steps:
        found += [Heading(say("report.next")), Lines(tuple(step.text for step in block.steps), listed=True)]
    return found


def table_of(block: Cases) -> Table:
    """Checks as a table."""
    rows = tuple((one.suite, one.name, Cell(one.outcome, tone=one.tone), one.message) for one in block.cases)
    headers = (say("column.system"), say("column.rule"), say("column.outcome"), say("column.detail"))
    return Table(headers, rows, names=4)


def _drilldown(block: Drilldown) -> list[Simple]:
    shown = [simple for view in block.views[:_VIEWS] for simple in _view(block, view)]
    left = len(block.views) - _VIEWS
    more = (say("report.more_queries", n=left),) if left > 0 else ()
    return [*shown, Lines((*block.notes, *more))]


def _view(block: Drilldown, view: View) -> list[Simple]:
    found: list[Simple] = [Heading(view.query_id)]
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
    return [*found, *(simple for sample in view.samples for simple in _sample(sample))]


def _entry(entries: Sequence[object], place: int) -> str:
    if place >= len(entries):
        return ""
    entry = entries[place]
    grade = getattr(entry, "grade", None)
    return f"{getattr(entry, 'doc_id', '')} ({'?' if grade is None else f'{grade:g}'})"


def _sample(sample: AnswerView) -> list[Simple]:
    rows = tuple(
        (part.text, Cell(f"{part.support:.2f}", tone=part.tone), part.evidence or part.reason)
        for part in sample.statements
        if part.support is not None
    )
    headers = (say("column.statement"), say("column.support"), say("column.evidence"))
    named = say("doubt.of_one", system=sample.system, text=sample.question) if sample.system else sample.question
    references = tuple(say("answer.reference", text=text) for text in sample.references)
    return [Table(headers, rows, caption=named, texts=(2,)), Lines(references)]
