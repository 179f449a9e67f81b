"""A table, and how it looks in a terminal, in Markdown, in LaTeX and as CSV. No renderer computes."""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from dataclasses import dataclass
from typing import Literal

Format = Literal["table", "markdown", "latex", "csv"]

# Control characters and bidirectional marks could rewrite what a terminal shows.
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
}  # fmt: skip


@dataclass(frozen=True)
class Table:
    """Text cells under headers; the first `names` columns are names, the rest numbers and aligned right."""

    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    caption: str = ""
    names: int = 1

    def transposed(self) -> Table:
        """Swap rows and columns (of a table with one column of names)."""
        columns = list(zip(*([self.headers[:1], *[row[:1] for row in self.rows]]), strict=True))
        body = [(header, *(row[i] for row in self.rows)) for i, header in enumerate(self.headers)][1:]
        first = "measure" if columns and columns[0][0] == "system" else self.headers[0]
        return Table((first, *(row[0] for row in self.rows)), tuple(body), self.caption)


def render(table: Table, kind: Format) -> str:
    """Write a table in the given form."""
    return {"table": terminal, "markdown": markdown, "latex": latex, "csv": as_csv}[kind](table)


def width(text: str) -> int:
    """Columns that a text takes in a terminal: East Asian wide characters take two, combining marks none."""
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text
    )


def clean(text: str) -> str:
    """Replace characters that could rewrite what a terminal shows."""
    return _UNSAFE.sub("\N{REPLACEMENT CHARACTER}", text)


def terminal(table: Table) -> str:
    """Align columns with two blanks between them, under a rule."""
    rows = [tuple(map(clean, row)) for row in (table.headers, *table.rows)]
    widths = [max(width(row[i]) for row in rows) for i in range(len(table.headers))]
    lines = []
    for row in rows:
        cells = [
            cell + " " * (size - width(cell)) if i < table.names else " " * (size - width(cell)) + cell
            for i, (cell, size) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    rule = "  ".join("-" * size for size in widths)
    head = [table.caption] if table.caption else []
    return "\n".join([*head, lines[0], rule, *lines[1:]]) + "\n"


def markdown(table: Table) -> str:
    """Write a pipe table."""

    def line(cells: tuple[str, ...]) -> str:
        return "| " + " | ".join(clean(cell).replace("|", r"\|") for cell in cells) + " |"

    marks = "|" + "|".join("---" if i < table.names else "---:" for i in range(len(table.headers))) + "|"
    head = [f"**{clean(table.caption)}**", ""] if table.caption else []
    return "\n".join([*head, line(table.headers), marks, *map(line, table.rows)]) + "\n"


def latex(table: Table) -> str:
    """Write a booktabs tabular."""

    def line(cells: tuple[str, ...]) -> str:
        return " & ".join("".join(_LATEX.get(char, char) for char in clean(cell)) for cell in cells) + r" \\"

    shape = "l" * table.names + "r" * (len(table.headers) - table.names)
    body = [rf"\begin{{tabular}}{{{shape}}}", r"\toprule", line(table.headers), r"\midrule", *map(line, table.rows)]
    return "\n".join([*body, r"\bottomrule", r"\end{tabular}"]) + "\n"


def as_csv(table: Table) -> str:
    """Write CSV; a text that a spreadsheet would run as a formula gets an apostrophe in front."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    for row in (table.headers, *table.rows):
        writer.writerow([_harmless(cell) for cell in row])
    return out.getvalue()


def _harmless(cell: str) -> str:
    if not cell.startswith(_FORMULA):
        return cell
    try:
        float(cell)
    except ValueError:
        return "'" + cell
    return cell
