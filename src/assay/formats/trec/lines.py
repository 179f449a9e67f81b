"""Parse lines of clean TREC files with numpy, without making strings that are never used.

Separators are guessed to be where the first line has them, and the guess is verified: see docs/internals-trec.md.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from assay.data.pool import Pool
from assay.data.rows import Rows
from assay.data.texts import Texts
from assay.formats.trec.decimals import decimals
from assay.formats.trec.scan import QRELS, RUN

if TYPE_CHECKING:
    from assay.data.segments import Bools, Floats, Ints
    from assay.formats.trec.scan import Layout

_AHEAD = 3  # fields that are looked for from the start of a line; the others from its end
_NEWLINE, _SPACE, _COMMENT = b"\n #"
_NEAR = tuple(off for far in range(1, 12) for off in (-far, far))  # bytes
_FEW = 64  # one line in so many may be split by itself
_Bytes = NDArray[np.uint8]


@dataclass(frozen=True)
class LineRange:
    """Whole lines from `begin` to `end` of some bytes, with at least MARGIN other bytes on either side."""

    data: bytes
    begin: int
    end: int
    separator: bytes


def read_rows(lines: LineRange) -> Rows | None:
    """Parse a run; None when its lines are not clean, or a score is not plain."""
    found = _columns(lines, RUN)
    return None if found is None else Rows(*found)


def read_pool(lines: LineRange) -> Pool | None:
    """Parse judgments; None when their lines are not clean, a grade is not plain, or a document is judged twice."""
    found = _columns(lines, QRELS)
    if found is None:
        return None
    starts, queries, docs, grade = found
    return Pool.in_order(queries.to_list(), np.diff(np.append(starts, len(grade))), docs, grade)


def _columns(lines: LineRange, layout: Layout) -> tuple[Ints, Texts, Texts, Floats] | None:
    """Where queries start, their names, documents, and the values of the field that is a number."""
    text = np.frombuffer(lines.data, np.uint8)
    edges, number = _edges(lines, text, len(layout.fields)), layout.fields.index(layout.number)
    value = None if edges is None else decimals(text, edges[number + 1], edges[number + 1] - edges[number] - 1)
    if edges is None or value is None:
        return None
    query, doc = (Texts(text, edges[at] + 1, edges[at + 1] - edges[at] - 1) for at in (0, 2))
    starts = np.flatnonzero(query.changes())
    if (text[query.start[starts]] == _COMMENT).any():
        return None
    return starts, query.take(starts), doc, value


def _edges(lines: LineRange, text: _Bytes, fields: int) -> list[Ints] | None:
    """Where the fields of each line are bounded: by the end of the line before, by separators and by its own end.

    None when a line has more fields or fewer, an empty one, whitespace other than the separator, or what is not UTF-8.
    """
    body = text[lines.begin : lines.end]
    newline = np.flatnonzero(body == _NEWLINE) + lines.begin
    even = np.count_nonzero(body <= _SPACE) == fields * len(newline)
    if not even or not len(newline) or newline[-1] != lines.end - 1 or not _is_text(lines):
        return None
    before = np.append(lines.begin - 1, newline[:-1])
    likely = _sizes(lines, before[0], newline[0], fields)
    if likely is None:
        return None
    blank = lines.separator[0]
    ahead, back = [before], [newline]
    for size in likely[:_AHEAD]:
        ahead.append(_seek(text, ahead[-1], size, blank))
    for size in likely[:_AHEAD:-1]:
        back.append(_seek(text, back[-1], -size, blank))
    edges = [*ahead, *reversed(back)]
    wrong = np.flatnonzero(~_apart(edges))
    if len(wrong) > len(newline) // _FEW:
        return _every_blank(text, before, newline, blank, fields)
    if len(wrong):
        bounds = zip(before[wrong].tolist(), newline[wrong].tolist(), strict=True)
        sizes = [_sizes(lines, *each, fields) or [] for each in bounds]
        if not all(sizes):
            return None
        for edge, total in zip(edges[1:-1], np.cumsum(sizes, axis=1).T, strict=False):
            edge[wrong] = before[wrong] + total
    return edges


def _is_text(lines: LineRange) -> bool:
    try:
        return lines.data.isascii() or bool(lines.data[lines.begin : lines.end].decode())
    except UnicodeDecodeError:
        return False


def _sizes(lines: LineRange, before: int, newline: int, fields: int) -> list[int] | None:
    """Sizes of a line's fields, each with what is before it; None when one is missing or empty."""
    sizes = [1 + len(field) for field in lines.data[before + 1 : newline].split(lines.separator)]
    return sizes if len(sizes) == fields and min(sizes) > 1 else None


def _apart(places: list[Ints]) -> Bools:
    """Mark the lines in which each position comes after the previous one, with something between them."""
    found: Bools = np.logical_and.reduce([after - before > 1 for before, after in itertools.pairwise(places)])
    return found


def _seek(text: _Bytes, origin: Ints, likely: int, blank: int) -> Ints:
    """Find a separator near a likely distance after (or before) each origin; the origin itself if there is none."""
    found = origin + likely
    left = np.flatnonzero(text.take(found, mode="clip") != blank)
    way = 1 if likely > 0 else -1
    for far in (likely + off for off in _NEAR if way * (likely + off) > 1):
        if not len(left):
            break
        hit = text.take(origin[left] + far, mode="clip") == blank
        found[left[hit]] = origin[left[hit]] + far
        left = left[~hit]
    found[left] = origin[left]
    return found


def _every_blank(text: _Bytes, before: Ints, newline: Ints, blank: int, fields: int) -> list[Ints] | None:
    """Find the separators by a search through all bytes."""
    begin = before[0] + 1
    places = np.flatnonzero(text[begin : newline[-1] + 1] <= _SPACE) + begin
    edges = [before, *np.ascontiguousarray(places.reshape(-1, fields).T)]
    even = all((text[edge] == blank).all() for edge in edges[1:-1])  # so all line ends are in the last column
    return edges if even and _apart(edges).all() else None
