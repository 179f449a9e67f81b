"""A table: cells under headers, with what is said about each of them."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from assay.messages import Lang, say, tell
from assay.report import wrapping

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

COLUMNS = 110  # of a sentence on a terminal
width = wrapping.width


@dataclass(frozen=True)
class Cell:
    """A number or name with what is said about it: set in bold, marked by letters or daggers, good or bad news.

    `query` names the query that the cell leads to, where a format has links.
    """

    text: str
    mark: str = ""
    strong: bool = False
    tone: Literal["", "good", "bad", "warn"] = ""
    query: str | None = None


@dataclass(frozen=True)
class Choice:
    """One choice of a facet: its code in addresses, what it is called, and the kinds of rows that it shows."""

    code: str
    label: str
    kinds: tuple[str, ...]


@dataclass(frozen=True)
class Facet:
    """What rows can be chosen by, where a format lets readers choose: the kind of each row, and the choices."""

    key: str
    title: str
    kinds: tuple[str, ...]
    choices: tuple[Choice, ...]


@dataclass(frozen=True)
class Table:
    """Cells under headers; the first `names` columns and those of `texts` are words, the rest right-aligned numbers."""

    headers: tuple[str, ...]
    rows: tuple[tuple[str | Cell, ...], ...]
    caption: str = ""
    names: int = 1
    texts: tuple[int, ...] = ()
    facets: tuple[Facet, ...] = ()

    def is_text(self, column: int) -> bool:
        """Return whether a column holds words."""
        return column < self.names or column in self.texts

    def transpose(self) -> Table:
        """Swap rows and columns (of a table with one column of names) whose rows are systems."""
        body = [(header, *(row[i] for row in self.rows)) for i, header in enumerate(self.headers)][1:]
        return Table((say("column.measure"), *(plain(row[0]).text for row in self.rows)), tuple(body), self.caption)

    def add_stamp(self, stamp: str, header: str = "") -> Table:
        """Add a column that says the same in every row, of the judge unless it has another header."""
        rows = tuple((*row, stamp) for row in self.rows)
        return replace(
            self,
            headers=(*self.headers, header or say("column.judge")),
            rows=rows,
            texts=(*self.texts, len(self.headers)),
        )

    def translate(self, lang: Lang) -> Table:
        """Put all texts into a language."""

        def cell(given: str | Cell) -> Cell:
            found = plain(given)
            return replace(found, text=tell(found.text, lang), mark=tell(found.mark, lang))

        return replace(
            self,
            headers=tuple(tell(header, lang) for header in self.headers),
            rows=tuple(tuple(map(cell, row)) for row in self.rows),
            caption=tell(self.caption, lang),
        )


def plain(cell: str | Cell) -> Cell:
    """Make a cell of a text."""
    return cell if isinstance(cell, Cell) else Cell(cell)


def wrap(text: str, indent: str = "", columns: int = COLUMNS) -> list[str]:
    """Break a text into lines for a terminal, Latin text at spaces only."""
    if wrapping.has_chinese(text):
        return wrapping.wrap(text, columns, further=indent) or [""]
    lines = textwrap.wrap(text, columns, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    return lines or [""]


def exact_table(rows: Sequence[Mapping[str, object]], names: int = 1) -> Table:
    """Rows of a record with every number as it is, for a program."""
    return Table(tuple(rows[0]), tuple(tuple(_exact(value) for value in row.values()) for row in rows), names=names)


def _exact(value: object) -> str:
    return "" if value is None else repr(value) if isinstance(value, float) else str(value)
