"""Scanning clean TREC files: one separator, no comments, every field in its place.

A run is read in pieces, and its first pieces may be read while the rest of the program is still being imported; so this
module imports little, and numpy only once a piece has been read.
"""

from __future__ import annotations

import itertools
import os
import re
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from typing import TYPE_CHECKING

import polars as pl

from assay.data.run import Unclean
from assay.formats.files import Input

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from concurrent.futures import Future
    from pathlib import Path

_PIECE = 1 << 23
_LOOK = 1 << 16
_AHEAD = 6  # pieces: what two cores read in the time that imports take


@dataclass(frozen=True)
class Layout:
    """Which field of a line is what."""

    kind: str
    fields: tuple[str, ...]
    number: str
    least: int
    expected: str


QRELS = Layout("judgments", ("query_id", "subtopic", "doc_id", "grade"), "grade", 4, "query 0 document grade")
RUN_LINE = "query Q0 document rank score tag"
RUN = Layout("a run", ("query_id", "_q0", "doc_id", "_rank", "score", "_tag"), "score", 5, RUN_LINE)
RUN_WITH_RANK = Layout("a run", ("query_id", "_q0", "doc_id", "rank", "score", "_tag"), "score", 5, RUN_LINE)


_started: dict[str, list[Future[pl.DataFrame]]] = {}


def read_ahead(place: str) -> None:
    """Begin to read a run file that will be asked for soon, if it is a clean one."""
    if place == "-" or not os.path.isfile(place) or not os.path.getsize(place):  # noqa: PTH113, PTH202
        return
    from concurrent.futures import ThreadPoolExecutor

    source = Input.at(place)
    separator = None if source.is_packed else separator_of(source.head, len(RUN.fields))
    if separator is None:
        return
    workers = ThreadPoolExecutor(max_workers=2)
    ends = itertools.islice(_ends(source, separator.encode()), _AHEAD)
    _started[place] = [workers.submit(_load, source, separator, *each) for each in ends]
    workers.shutdown(wait=False)


def loaders(source: Input) -> list[Callable[[], pl.DataFrame]]:
    """Functions that read one piece of a run each; `Unclean` when it needs the reader that goes line by line.

    A piece is a few megabytes and ends where a query ends. Small pieces stay in the processor's cache and in memory
    that was used before: that takes less time than one scan of the whole, which need not fit into memory either.
    """
    separator = separator_of(source.head, len(RUN.fields))
    if separator is None:
        raise Unclean
    rest = [partial(_load, source, separator, *each) for each in _ends(source, separator.encode())]
    begun = [future.result for future in _started.pop(source.label, [])]
    return [*begun, *rest[len(begun) :]]


def uneven(data: bytes, separator: str) -> bool:
    """Two separators side by side, or blanks and tabs: a field is missing, or they are used freely; a scan would err.

    Bytes are compared in pairs, from the first and from the second on: a sixth of the time that a search takes.
    """
    import numpy as np

    if (b"\t" if separator == " " else b" ") in data:
        return True
    both = np.frombuffer(separator.encode() * 2, np.uint16)[0]
    halves = (np.frombuffer(data, np.uint16, (len(data) - start) // 2, start) for start in (0, 1))
    return len(data) > 1 and any(bool((half == both).any()) for half in halves)


def any_uneven(source: Input, separator: str) -> bool:
    """Look for uneven separators in the whole file, a part at a time."""
    return any(uneven(source.part(at, at + _PIECE + 1), separator) for at in range(0, source.size, _PIECE))


def _load(source: Input, separator: str, start: int, end: int) -> pl.DataFrame:
    data = source.part(start, end)
    frame = scan(BytesIO(data), separator, RUN)
    if frame is None or uneven(data, separator):
        raise Unclean
    return frame


def _ends(source: Input, separator: bytes) -> Iterator[tuple[int, int]]:
    """Offsets at which pieces start and end."""
    start = 0
    while start < source.size:
        end = _query_end(source, start + _PIECE, separator)
        yield start, end
        start = end


def _query_end(source: Input, start: int, separator: bytes) -> int:
    """Offset at which the query that has the first line after `start` ends."""
    look = _LOOK
    while start < source.size:
        window = source.part(start, start + look)
        lines = window[window.find(b"\n") : window.rfind(b"\n") + 1]
        query = lines[1:].partition(separator)[0]
        other = re.search(rb"\n(?!" + re.escape(query + separator) + rb")(?=.)", lines, re.DOTALL)
        if query and other is not None:
            return start + window.find(b"\n") + other.end()
        if start + look >= source.size:
            break
        look *= 4
    return source.size


def kept(layout: Layout) -> list[str]:
    """Name the fields that are read."""
    return [name for name in layout.fields if not name.startswith("_")]


def scan(place: BytesIO | Path, separator: str, layout: Layout, *, finite: bool = True) -> pl.DataFrame | None:
    """Scan clean lines; None when they are not clean, or where numbers must be `finite` and one is not."""
    schema = {name: pl.Float64 if name == layout.number else pl.String for name in layout.fields}
    try:
        lines = pl.scan_csv(place, separator=separator, has_header=False, schema=schema, quote_char=None)
        frame = lines.select(kept(layout)).collect(engine="in-memory" if isinstance(place, BytesIO) else "streaming")
    except pl.exceptions.PolarsError:
        return None
    # Looking for comments afterwards costs a tenth of what it costs the parser to look out for them.
    found = frame.select(
        pl.any_horizontal(
            pl.len() == 0,
            *(pl.col(name).null_count() > 0 for name in kept(layout)),
            pl.col("query_id").str.starts_with("#").any(),
            pl.lit(finite) & ~pl.col(layout.number).sum().is_finite(),
        )
    )
    return None if found.item() else frame


def separator_of(head: bytes, fields: int) -> str | None:
    """Find the one character that separates the fields of every line we can see."""
    if b"\r" in head or b"\0" in head or head.startswith(b"\xef\xbb\xbf"):
        return None
    lines = head.split(b"\n")[:-1] or [head]
    for separator in (b" ", b"\t"):
        other = b"\t" if separator == b" " else b" "
        if lines and all(line.count(separator) == fields - 1 and other not in line for line in lines[:200]):
            return separator.decode()
    return None
