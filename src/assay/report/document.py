"""A document of blocks, and how it is written: every report is one, and every format renders the same blocks."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.messages import Lang, tell
from assay.report.tables import Format, Table, clean, latex_text, render, width

if TYPE_CHECKING:
    from collections.abc import Sequence

_WIDTH = 110


@dataclass(frozen=True)
class Heading:
    """A title of a part."""

    text: str


@dataclass(frozen=True)
class Lines:
    """Sentences, one a line; as a list where `listed`."""

    lines: tuple[str, ...]
    listed: bool = False


Block = Heading | Lines | Table


def write(blocks: Sequence[Block], kind: Format, lang: Lang = "en", *, stamp: str = "") -> str:
    """Render a document; CSV holds its first table only, as more than one do not fit into a CSV file.

    A `stamp` is what nobody may overlook: a last line, in CSV a last column.
    """
    if kind == "csv":
        table = next(block for block in blocks if isinstance(block, Table))
        return render(table.stamped(stamp) if stamp else table, kind, lang)
    blocks = [*blocks, Lines((stamp,))] if stamp else blocks
    return "\n".join(_block(block, kind, lang) for block in blocks if _block(block, kind, lang))


def _block(block: Block, kind: Format, lang: Lang) -> str:
    if isinstance(block, Table):
        return render(block, kind, lang)
    if isinstance(block, Heading):
        return _heading(clean(tell(block.text, lang)), kind)
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


def wrapped(text: str, indent: str = "") -> list[str]:
    """Break a text into lines for a terminal; texts without blanks, such as Chinese ones, are left whole."""
    return textwrap.wrap(text, _WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False) or [""]
