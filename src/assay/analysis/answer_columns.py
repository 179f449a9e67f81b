"""Columns of scores of answers: one for each measure and method, so that no mean mixes methods unless asked to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, get_args

from assay.grounding.record import Method

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from assay.measures import Measure


_METHODS = frozenset(get_args(Method))


class Cell(NamedTuple):
    """One value of one sample: the method that found it, and why there is none if there is none.

    `note` is what a judge said about the answer as a whole.
    """

    value: float | None
    status: str
    reason: str
    method: str | None
    note: str = ""


@dataclass(frozen=True)
class Column:
    """The cells of one measure that one method found; `definition` names the method."""

    label: str
    measure: Measure
    definition: Measure
    method: str | None
    cells: tuple[Cell, ...]


def columns_of(
    measures: Mapping[str, Measure], found: Mapping[str, Sequence[Cell]], *, mix: bool, chain: Sequence[str]
) -> list[Column]:
    """Sort the cells of every measure by method; the first column of a measure has its own label."""
    return [
        column
        for label, measure in measures.items()
        for column in _columns(label, measure, found[label], chain, mix=mix or measure.arguments.get("method") == "mix")
    ]


def _columns(label: str, measure: Measure, cells: Sequence[Cell], chain: Sequence[str], *, mix: bool) -> list[Column]:
    alone = measure.spec.needs_judge
    if alone or not measure.needs_method:
        method = next((cell.method for cell in cells if cell.method), None)
        definition = measure(method="llm") if alone else measure
        return [Column(label, measure, definition, method, tuple(cells))]
    scored = {cell.method for cell in cells if cell.value is not None}
    own = str(measure.arguments.get("method"))
    order = [own] if own in _METHODS else [method for method in chain if method in scored] or [chain[-1]]
    if mix and len(order) > 1:
        return [Column(label, measure, measure(method="mix"), "mix", tuple(cells))]
    return [_column(label, measure, method, cells, first=i == 0) for i, method in enumerate(order)]


def _column(label: str, measure: Measure, method: str, cells: Sequence[Cell], *, first: bool) -> Column:
    definition = measure(method=method)
    own = tuple(cell if cell.value is None or cell.method == method else _elsewhere(cell) for cell in cells)
    return Column(label if first else definition.text, measure, definition, method, own)


def _elsewhere(cell: Cell) -> Cell:
    """A cell of a sample that another method judged: this column says nothing about it."""
    return cell._replace(value=None, status="unjudged", reason=f"judged by {cell.method}")
