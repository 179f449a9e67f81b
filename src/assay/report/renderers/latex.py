"""Blocks as LaTeX for a paper: booktabs tables, marks as superscripts."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from assay.errors import clean
from assay.messages import tell
from assay.report.blocks import Heading, Verdict
from assay.report.simple import Simple, write_all
from assay.report.tables import Cell, Table, plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.messages import Lang
    from assay.report.blocks import Block

_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "\N{DAGGER}": r"\textdagger{}", "\N{DOUBLE DAGGER}": r"\textdaggerdbl{}", "\N{MICRO SIGN}": r"\textmu{}",
}  # fmt: skip


def write(blocks: Sequence[Block], lang: Lang = "en", *, stamp: str = "", note: str = "", **_: str) -> str:
    """Write a document; a note is a comment above, and small print below."""
    text, told = write_all(blocks, partial(_block, lang=lang), stamp), tell(note, lang)
    return f"% {clean(told)}\n{text}\n{{\\footnotesize {escape(told)}\\par}}\n" if note else text


def _block(block: Simple, lang: Lang) -> str:
    if isinstance(block, Table):
        return table(block.translate(lang))
    if isinstance(block, Heading):
        return f"\\subsection*{{{escape(tell(block.text, lang))}}}\n"
    if isinstance(block, Verdict):
        return f"\\textbf{{{escape(tell(block.text, lang))}}}\\\\\n"
    return "".join(f"{escape(tell(line, lang))}\\\\\n" for line in block.lines)


def table(given: Table) -> str:
    """Write a booktabs tabular; marks are superscripts."""

    def cell(one: str | Cell) -> str:
        found = plain(one)
        text = escape(found.text)
        mark = rf"\textsuperscript{{{escape(found.mark)}}}" if found.mark else ""
        return (rf"\textbf{{{text}}}" if found.strong and text else text) + mark

    def line(cells: Sequence[str | Cell]) -> str:
        return " & ".join(map(cell, cells)) + r" \\"

    shape = "".join("l" if given.is_text(i) else "r" for i in range(len(given.headers)))
    head = [rf"% {clean(given.caption)}"] if given.caption else []
    body = [rf"\begin{{tabular}}{{{shape}}}", r"\toprule", line(given.headers), r"\midrule", *map(line, given.rows)]
    return "\n".join([*head, *body, r"\bottomrule", r"\end{tabular}"]) + "\n"


def escape(text: str) -> str:
    """Escape a text for LaTeX."""
    escaped = "".join(_LATEX.get(char, char) for char in clean(text))
    return escaped.replace(r"\textless{}=", r"$\le$").replace(r"\textgreater{}=", r"$\ge$")
