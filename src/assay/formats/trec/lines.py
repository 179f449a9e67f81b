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
_SAMPLE = 1 << 11  # bytes
_OFTEN = 4  # one field in so many lines; then a search through all bytes is quicker
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
    is_blank = text[lines.begin : lines.end] <= _SPACE
    count, odd = divmod(int(np.count_nonzero(is_blank)), fields)
    if odd or not count or text[lines.end - 1] != _NEWLINE or not _is_text(lines):
        return None
    edges = None if _vary(lines, fields) else _guess(lines, text, count, fields)
    return _search(lines, text, is_blank, fields) if edges is None else edges


def _vary(lines: LineRange, fields: int) -> bool:
    """Return whether the fields of the first lines differ so much in size that a search is quicker than guesses."""
    some = lines.data[lines.begin : min(lines.begin + _SAMPLE, lines.end)].split(b"\n")[:-1]
    sizes = [[len(field) for field in line.split(lines.separator)] for line in some]
    sought = [[*each[:_AHEAD], *each[_AHEAD + 1 :]] for each in sizes if len(each) == fields]
    missed = sum(size != likely for each in sought for size, likely in zip(each, sought[0], strict=True))
    return _OFTEN * missed > len(sought)


def _guess(lines: LineRange, text: _Bytes, count: int, fields: int) -> list[Ints] | None:
    """Look for separators where the first line has them, and nearby; None when too many are elsewhere."""
    newline = np.flatnonzero(text[lines.begin : lines.end] == _NEWLINE) + lines.begin
    if len(newline) != count:
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
    bounds = zip(before[wrong].tolist(), newline[wrong].tolist(), strict=True)
    sizes = [_sizes(lines, *each, fields) or [] for each in bounds] if len(wrong) <= count // _FEW else [[]]
    if not all(sizes):
        return None
    if sizes:
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


def _search(lines: LineRange, text: _Bytes, is_blank: Bools, fields: int) -> list[Ints] | None:
    """Find all separators by a search through all bytes; None when they are not those of clean lines."""
    if is_blank[0] or (is_blank[1:] & is_blank[:-1]).any():
        return None
    places = np.flatnonzero(is_blank)
    *inner, newline = edges = [places[field::fields] + lines.begin for field in range(fields)]
    within = np.count_nonzero(text[lines.begin : lines.end] == lines.separator[0])
    if within != len(inner) * len(newline) or not (text[newline] == _NEWLINE).all():
        return None
    return [np.append(lines.begin - 1, newline[:-1]), *edges]
