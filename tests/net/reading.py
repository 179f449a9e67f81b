"""Take outputs apart: rows of tables and running text of a terminal, of Markdown, LaTeX, CSV, or of a page."""

from __future__ import annotations

import csv
import json
import re
import unicodedata
from dataclasses import dataclass, field
from html.parser import HTMLParser

ROWS_OF_DASHES = re.compile(r"^-+(?:  +-+)*$")
SILENT = {"style", "svg", "title", "noscript", "nav", "footer"}
BLOCKS = {"p", "li", "div", "h1", "h2", "h3", "h4", "dt", "dd", "summary", "figcaption", "section", "caption", "pre"}


@dataclass
class Table:
    """A table: the cells of its header and of its rows."""

    header: list[str] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)

    @classmethod
    def headed(cls, rows: list[list[str]]) -> Table:
        """A table whose first row is the header."""
        return cls(rows[0] if rows else [], rows[1:])


def read_terminal(text: str) -> list[Table | str]:
    """Split what a terminal shows into tables and paragraphs; the line of dashes says where columns begin."""
    found: list[Table | str] = []
    if "\\begin{tabular}" in text:
        for pattern, plain in LATEX:
            text = pattern.sub(plain, text)
    lines = text.split("\n")
    at = 0
    while at < len(lines):
        if at + 1 < len(lines) and ROWS_OF_DASHES.match(lines[at + 1]) and lines[at].strip():
            end = at + 2
            while end < len(lines) and lines[end].strip():
                end += 1
            starts = [dashes.start() for dashes in re.finditer("-+", lines[at + 1])]
            found.append(Table.headed([_cut(line, starts) for line in (lines[at], *lines[at + 2 : end])]))
            at = end
        elif "\t" in lines[at]:
            found.append(Table(rows=[lines[at].split("\t")]))
            at += 1
        elif _marked_up(lines[at]) is not None:
            rows = []
            while at < len(lines) and (cells := _marked_up(lines[at])) is not None:
                rows += [cells] if cells else []
                at += 1
            found.append(Table.headed(rows))
        else:
            if found and isinstance(found[-1], str) and lines[at].strip() and at and lines[at - 1].strip():
                found[-1] += " " + lines[at]
            elif lines[at].strip():
                found.append(lines[at])
            at += 1
    return found


def _cut(line: str, starts: list[int]) -> list[str]:
    """Cut a line into cells where columns begin; a Chinese character is two columns wide."""
    cells, cell, place, column = [], "", 0, 0
    for sign in line:
        if column + 1 < len(starts) and place >= starts[column + 1]:
            cells.append(cell)
            cell, column = "", column + 1
        cell += sign
        if not unicodedata.combining(sign):
            place += 2 if unicodedata.east_asian_width(sign) in "WF" else 1
    return [*cells, cell]


LATEX = (
    (re.compile(r"\\textdagger\{\}"), "†"),
    (re.compile(r"\\textdaggerdbl\{\}"), "‡"),
    (re.compile(r"\\textless\{\}"), "<"),
    (re.compile(r"\\textgreater\{\}"), ">"),
    (re.compile(r"\\textbf\{([^{}]*)\}"), r"\1"),
    (re.compile(r"\\textsuperscript\{([^{}]*)\}"), r" \1"),
    (re.compile(r"\\([_%$&#])"), r"\1"),
)


def _marked_up(line: str) -> list[str] | None:
    """Cells of a row of Markdown or LaTeX; none for a rule between rows."""
    if re.match(r"^\s*\|.*\|\s*$", line):
        return [] if re.fullmatch(r"[\s|:-]+", line) else line.strip().strip("|").replace("**", "").split("|")
    if re.match(r"^\\(?:top|mid|bottom)rule$", line):
        return []
    return line.rstrip().removesuffix("\\\\").split(" & ") if re.search(r" & .*\\\\$", line) else None


def read_csv(text: str) -> list[Table | str]:
    """The rows of a file with commas."""
    return [Table.headed(list(csv.reader(text.splitlines())))]


class _Page(HTMLParser):
    """What a reader of a page sees, and the numbers that its script shows later."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[Table | str] = []
        self.data: list[str] = []
        self._tables: list[Table] = []
        self._cell: str | None = None
        self._text = ""
        self._silent = 0
        self._script: str | None = None
        self._rows = False
        self._head = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in SILENT:
            self._silent += 1
        elif tag == "script":
            given = dict(attrs)
            self._script = "" if given.get("type") == "application/json" and given.get("id") != "words" else None
            self._rows = given.get("class") == "rows"
            self._silent += 1
        elif tag == "table":
            self._end_text()
            self._tables.append(Table())
            self.found.append(self._tables[-1])
        elif tag == "thead":
            self._head = True
        elif tag == "tr" and self._tables and not self._head:
            self._tables[-1].rows.append([])
        elif tag in {"td", "th"}:
            self._cell = ""
        elif tag in BLOCKS and self._cell is None:
            self._end_text()

    def handle_endtag(self, tag: str) -> None:
        if tag == "script":
            if self._script is not None and self._rows and self._tables:
                self._tables[-1].rows += [[_plain(cell) for cell in row] for row in json.loads(self._script)]
            elif self._script is not None:
                self.data.append(self._script)
            self._script = None
            self._silent -= 1
        elif tag in SILENT:
            self._silent -= 1
        elif tag in {"td", "th"} and self._cell is not None and self._tables:
            (self._tables[-1].header if self._head else self._tables[-1].rows[-1]).append(self._cell)
            self._cell = None
        elif tag == "thead":
            self._head = False
        elif tag in BLOCKS and self._cell is None:
            self._end_text()

    def handle_data(self, data: str) -> None:
        if self._script is not None:
            self._script += data
        elif self._silent:
            return
        elif self._cell is not None:
            self._cell += data
        else:
            self._text += data

    def _end_text(self) -> None:
        if self._text.strip():
            self.found.append(self._text)
        self._text = ""


def _plain(cell: object) -> str:
    """Text and mark of a cell that the page's script shows."""
    if isinstance(cell, list):
        return f"{cell[0]} {cell[3]}" if len(cell) > 3 else str(cell[0])
    return str(cell)


def read_page(text: str) -> tuple[list[Table | str], list[str]]:
    """Tables and paragraphs of a page, and its data as JSON; charts are left out, as a table says the same."""
    page = _Page()
    page.feed(text)
    page.close()
    page._end_text()
    return page.found, page.data


def read_drawing(text: str) -> list[Table | str]:
    """The texts of an SVG or XML file, attributes included where they carry what is told."""
    found: list[Table | str] = []
    for attributes, inside in re.findall(r"<\w+([^>]*)>([^<]*)", text):
        told = " ".join(re.findall(r'(?:name|message|tests|failures|skipped|errors)="([^"]*)"', attributes))
        if told or inside.strip():
            found.append(f"{told} {inside}")
    return found
