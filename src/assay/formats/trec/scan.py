"""What a line of a TREC file is, and scanning clean ones with Polars: one separator, every field in its place.

Fields end where they end for trec_eval: at what C calls white space. Any other, a no-break space or a full-width space
as well, belongs to a field.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING

import numpy as np

from assay.formats.unpacking import looks_packed
from assay.lazy import pl

if TYPE_CHECKING:
    from pathlib import Path

    from assay.formats.files import Input

_PART = 1 << 23
BOM = b"\xef\xbb\xbf"
BLANKS = " \t\r\v\f"
FIELD = r"[^ \t\r\x0b\x0c]+"
_FIELD = re.compile(FIELD)
# From the end of a line over empty lines and comments: the blanks before the next query, the query, and one behind it.
QUERY = re.compile(rb"\n(?:[ \t\r\v\f]*(?:#[^\n]*)?\n)*([ \t\r\v\f]*)([^ \t\r\v\f\n#][^ \t\r\v\f\n]*)[ \t\r\v\f]")
_SPACES = bytes.maketrans(BLANKS.encode(), b" " * len(BLANKS))
_COMMENTS = re.compile(rb"^#[\x00-\x09\x0b-\x7f]*\n", re.MULTILINE)  # others may not be text
_NEWLINE, _SPACE, _COMMENT = b"\n #"


@dataclass(frozen=True)
class Layout:
    """Which field of a line is what; what follows the tag of a run is left out, as trec_eval does."""

    fields: tuple[str, ...]
    number: str
    least: int
    most: int | None
    expected: str


QRELS = Layout(("query_id", "subtopic", "doc_id", "grade"), "grade", 4, 4, "query 0 document grade")
RUN_LINE = "query Q0 document rank score tag"
RUN = Layout(("query_id", "_q0", "doc_id", "_rank", "score", "_tag"), "score", 5, None, RUN_LINE)
RUN_WITH_RANK = Layout(("query_id", "_q0", "doc_id", "rank", "score", "_tag"), "score", 5, None, RUN_LINE)


def fields_of(line: str) -> list[str]:
    """Split a line into its fields."""
    return _FIELD.findall(line)


def tidy(data: bytes) -> bytes:
    """Whole lines with one space between fields and none around them, without empty lines and comments."""
    end = b"" if data.endswith(b"\n") else b"\n"
    text = np.frombuffer(b"".join((b"\n", data.translate(_SPACES), end)), np.uint8)
    white = (text == _SPACE) | (text == _NEWLINE)
    kept = np.ones(len(text), bool)
    np.logical_not((text[:-1] == _SPACE) & white[1:], out=kept[:-1])
    text = text[kept]
    begin = np.flatnonzero(text[:-1] == _NEWLINE) + 1
    first = text[begin]
    empty = begin[(first == _SPACE) | (first == _NEWLINE)]
    if len(empty):
        text = np.delete(text, empty)
    found = text[1:].tobytes()
    return _COMMENTS.sub(b"", found) if (first == _COMMENT).any() or len(empty) else found


def uneven(data: bytes, separator: str) -> bool:
    """Return whether separators repeat or vary, so that a field may be missing and a scan would go wrong.

    Bytes are compared in pairs, from the first and from the second on: a sixth of the time that a search takes.
    """
    if any(blank.encode() in data for blank in BLANKS if blank != separator):
        return True
    both = np.frombuffer(separator.encode() * 2, np.uint16)[0]
    halves = (np.frombuffer(data, np.uint16, (len(data) - start) // 2, start) for start in (0, 1))
    return len(data) > 1 and any(bool((half == both).any()) for half in halves)


def any_uneven(source: Input, separator: str, layout: Layout) -> bool:
    """Look for uneven separators, and for lines with more fields or fewer, in the whole file, a part at a time."""
    before = 0
    for at in range(0, source.size, _PART):
        data = source.part(at, at + _PART + 1)
        ends = count_ends(data[:_PART], separator, layout, before)
        if ends is None or uneven(data, separator):
            return True
        before = ends
    return before not in {0, len(layout.fields) - 1}


def count_ends(data: bytes, separator: str, layout: Layout, before: int = 0) -> int | None:
    """How many fields end behind the last line; None when a line has not as many as it should.

    `before` is that number for what comes before. Polars leaves out the rest of a line that is too long.
    """
    text, fields = np.frombuffer(data, np.uint8), len(layout.fields)
    ends = text[(text == ord(separator)) | (text == _NEWLINE)]
    lines = np.flatnonzero(ends == _NEWLINE)
    right = bool((lines == np.arange(1, len(lines) + 1) * fields - before - 1).all())
    return before + len(ends) - fields * len(lines) if right else None


def fields_read(layout: Layout) -> list[str]:
    """Name the fields that are read."""
    return [name for name in layout.fields if not name.startswith("_")]


def schema_of(layout: Layout) -> dict[str, type[pl.DataType]]:
    """The types of the fields."""
    return {name: pl.Float64 if name == layout.number else pl.String for name in layout.fields}


def scan(place: BytesIO | Path, separator: str, layout: Layout, *, finite: bool = True) -> pl.DataFrame | None:
    """Scan clean lines; None when they are not clean, or where numbers must be `finite` and one is not."""
    if looks_packed(_first_bytes(place)):
        return None  # Polars would unpack it
    try:
        lines = pl.scan_csv(place, separator=separator, has_header=False, schema=schema_of(layout), quote_char=None)
        frame = lines.select(fields_read(layout)).collect(
            engine="in-memory" if isinstance(place, BytesIO) else "streaming"
        )
    except pl.exceptions.PolarsError:
        return None
    # Looking for comments afterwards costs a tenth of what it costs the parser to look out for them.
    found = frame.select(
        pl.any_horizontal(
            pl.len() == 0,
            *(pl.col(name).null_count() > 0 for name in fields_read(layout)),
            pl.col("query_id").str.starts_with("#").any(),
            pl.lit(finite) & ~pl.col(layout.number).sum().is_finite(),
        )
    )
    return None if found.item() else frame


def _first_bytes(place: BytesIO | Path) -> bytes:
    if isinstance(place, BytesIO):
        return place.getvalue()[:4]
    with place.open("rb") as file:
        return file.read(4)
