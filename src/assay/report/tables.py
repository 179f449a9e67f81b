"""A table, and how it looks in a terminal, in Markdown, in LaTeX and as CSV. No renderer computes."""

from __future__ import annotations

import textwrap
import unicodedata
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from assay.errors import clean
from assay.messages import Lang, say, tell

if TYPE_CHECKING:
    from collections.abc import Sequence

_WIDTH = 110

Format = Literal["table", "markdown", "latex", "csv"]

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "\N{DAGGER}": r"\textdagger{}", "\N{DOUBLE DAGGER}": r"\textdaggerdbl{}",
}  # fmt: skip


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
class Table:
    """Cells under headers; the first `names` columns and those of `texts` are words, the rest right-aligned numbers."""

    headers: tuple[str, ...]
    rows: tuple[tuple[str | Cell, ...], ...]
    caption: str = ""
    names: int = 1
    texts: tuple[int, ...] = ()

    def is_text(self, column: int) -> bool:
        """Say whether a column holds words."""
        return column < self.names or column in self.texts

    def transposed(self) -> Table:
        """Swap rows and columns (of a table with one column of names) whose rows are systems."""
        body = [(header, *(row[i] for row in self.rows)) for i, header in enumerate(self.headers)][1:]
        return Table((say("column.measure"), *(plain(row[0]).text for row in self.rows)), tuple(body), self.caption)

    def stamped(self, stamp: str) -> Table:
        """Add a column that says the same in every row."""
        rows = tuple((*row, stamp) for row in self.rows)
        return replace(
            self, headers=(*self.headers, say("column.judge")), rows=rows, texts=(*self.texts, len(self.headers))
        )

    def told(self, lang: Lang) -> Table:
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


def render(table: Table, kind: Format, lang: Lang = "en") -> str:
    """Write a table in the given form."""
    return {"table": terminal, "markdown": markdown, "latex": latex, "csv": as_csv}[kind](table.told(lang))


def width(text: str) -> int:
    """Columns that a text takes in a terminal: East Asian wide characters take two, combining marks none."""
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text
    )


def wrapped(text: str, indent: str = "") -> list[str]:
    """Break a text into lines for a terminal; texts without blanks, such as Chinese ones, are left whole."""
    return textwrap.wrap(text, _WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False) or [""]


def terminal(table: Table) -> str:
    """Align columns with two blanks between them, under a rule; marks stand in a column of their own."""
    body = [[plain(cell) for cell in row] for row in table.rows]
    marks = [max((width(clean(row[i].mark)) for row in body), default=0) for i in range(len(table.headers))]
    marked = [[_marked(cell, mark) for cell, mark in zip(row, marks, strict=True)] for row in body]
    rows = [[clean(header) for header in table.headers], *marked]
    widths = [max(width(row[i]) for row in rows) for i in range(len(table.headers))]
    lines = []
    for row in rows:
        cells = [
            cell + " " * (size - width(cell)) if table.is_text(i) else " " * (size - width(cell)) + cell
            for i, (cell, size) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    rule = "  ".join("-" * size for size in widths)
    head = [clean(table.caption)] if table.caption else []
    return "\n".join([*head, lines[0], rule, *lines[1:]]) + "\n"


def _marked(cell: Cell, size: int) -> str:
    mark = clean(cell.mark)
    return clean(cell.text) + (" " + mark + " " * (size - width(mark)) if size else "")


def markdown(table: Table) -> str:
    """Write a pipe table."""

    def cell(given: str | Cell) -> str:
        found = plain(given)
        text = clean(found.text).replace("|", r"\|")
        return (f"**{text}**" if found.strong and text else text) + (f" {clean(found.mark)}" if found.mark else "")

    def line(cells: Sequence[str | Cell]) -> str:
        return "| " + " | ".join(map(cell, cells)) + " |"

    marks = "|" + "|".join("---" if table.is_text(i) else "---:" for i in range(len(table.headers))) + "|"
    head = [f"**{clean(table.caption)}**", ""] if table.caption else []
    return "\n".join([*head, line(table.headers), marks, *map(line, table.rows)]) + "\n"


def latex(table: Table) -> str:
    """Write a booktabs tabular; marks are superscripts."""

    def cell(given: str | Cell) -> str:
        found = plain(given)
        text = latex_text(found.text)
        mark = rf"\textsuperscript{{{latex_text(found.mark)}}}" if found.mark else ""
        return (rf"\textbf{{{text}}}" if found.strong and text else text) + mark

    def line(cells: Sequence[str | Cell]) -> str:
        return " & ".join(map(cell, cells)) + r" \\"

    shape = "".join("l" if table.is_text(i) else "r" for i in range(len(table.headers)))
    head = [rf"% {clean(table.caption)}"] if table.caption else []
    body = [rf"\begin{{tabular}}{{{shape}}}", r"\toprule", line(table.headers), r"\midrule", *map(line, table.rows)]
    return "\n".join([*head, *body, r"\bottomrule", r"\end{tabular}"]) + "\n"


def latex_text(text: str) -> str:
    """Escape a text for LaTeX."""
    escaped = "".join(_LATEX.get(char, char) for char in clean(text))
    return escaped.replace(r"\textless{}=", r"$\le$").replace(r"\textgreater{}=", r"$\ge$")


def as_csv(table: Table) -> str:
    """Write CSV; a text that a spreadsheet would run as a formula gets an apostrophe in front.

    A column whose cells carry marks is followed by a column of them.
    """
    body = [[plain(cell) for cell in row] for row in table.rows]
    marked = [any(row[i].mark for row in body) for i in range(len(table.headers))]
    lines = []
    heads = [Cell(header, f"{header} marks") for header in table.headers]
    for row in (heads, *body):
        cells = [(cell.text, cell.mark) if more else (cell.text,) for cell, more in zip(row, marked, strict=True)]
        lines.append(",".join(_quoted(_harmless(text)) for pair in cells for text in pair))
    return "\n".join(lines) + "\n"


def _quoted(cell: str) -> str:
    """Quote what would end a cell; the csv module leaves a bare carriage return, which some readers take for a row."""
    return '"' + cell.replace('"', '""') + '"' if any(char in cell for char in ',"\r\n') else cell


def _harmless(cell: str) -> str:
    if not cell.startswith(_FORMULA):
        return cell
    try:
        float(cell)
    except ValueError:
        return "'" + cell
    return cell
