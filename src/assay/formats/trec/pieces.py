"""Reading clean TREC files: judgments at once, a run in pieces, the first of them while other modules are imported.

A piece is a few megabytes and ends where a query ends: it stays in the processor's cache, and the whole need not fit
into memory.
"""

from __future__ import annotations

import itertools
import os
from functools import partial
from io import BytesIO
from typing import TYPE_CHECKING

import numpy as np

from assay.data.limits import LINE, MEGABYTE, long_line
from assay.data.rows import Rows, Unclean
from assay.errors import InputError
from assay.formats.files import Input
from assay.formats.trec.decimals import MARGIN
from assay.formats.trec.lines import LineRange, read_pool, read_rows
from assay.formats.trec.scan import QRELS, RUN, Layout, scan, uneven
from assay.formats.unpacking import check_size

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from concurrent.futures import Future

    from assay.data.pool import Pool

_PIECE = 1 << 22
_LOOK = 1 << 16
_MARGIN = b"\n" * MARGIN
_AHEAD = 4  # pieces: what one core reads in the time that imports take
_started: dict[str, tuple[int, list[Future[Rows]]]] = {}  # where they end, and what was begun


def read_ahead(place: str) -> None:
    """Begin to read a run file that will be asked for soon, if it is a clean one."""
    if place == "-" or not os.path.isfile(place) or not os.path.getsize(place):  # noqa: PTH113, PTH202
        return
    from concurrent.futures import ThreadPoolExecutor

    source = Input.at(place)
    separator = None if source.is_packed else separator_of(source.head, RUN)
    if separator is None:
        return
    try:
        source.refuse_long_lines()
    except InputError:
        return  # who asks for the run will tell
    keep_memory()
    workers = ThreadPoolExecutor(max_workers=1)
    first = list(itertools.islice(_loaders(source, separator), _AHEAD))
    _started[place] = first[-1][0], [workers.submit(load) for _, load in first]
    workers.shutdown(wait=False)


def loaders(source: Input) -> Iterable[Callable[[], Rows]]:
    """Functions that read one piece of a run each; `Unclean` if it needs the line-by-line reader.

    A packed file is unpacked as they are taken: taking a few at a time keeps only those in memory.
    """
    separator = separator_of(source.head, RUN)
    if separator is None:
        raise Unclean
    keep_memory()
    if source.is_stream:
        return _unpacking(source, separator)
    source.refuse_long_lines()
    end, begun = _started.pop(source.label, (0, []))
    found = [*(future.result for future in begun), *(load for _, load in _loaders(source, separator, end))]
    source.forget_head()
    return found


def keep_memory() -> None:
    """Let freed blocks be used again: what is parsed from each piece takes the place of what was parsed before.

    The GNU allocator gives blocks of more than 128 kB back to the system and gets new ones, filled with zeros, until it
    sees a larger one freed; from then on it keeps those up to that size. This saves a third of the time.
    """
    np.empty(1 << 24, np.uint8)


def pool_of(source: Input) -> Pool | None:
    """Read judgments that are clean and plain; None when they need another reader."""
    separator = separator_of(source.head, QRELS)
    source.refuse_long_lines()
    return None if separator is None else read_pool(_lines(source, separator, 0, source.size))


def _loaders(source: Input, separator: str, start: int = 0) -> Iterator[tuple[int, Callable[[], Rows]]]:
    """Functions that read one piece each, and where it ends."""
    head = source.head.rfind(b"\n") + 1 or source.size
    # A single piece shows itself whether it is plain.
    plain = source.size <= _PIECE or read_rows(_lines(source, separator, 0, head)) is not None
    for begin, end in _ends(source, separator.encode(), start):
        yield end, partial(_load, source, separator, begin, end, plain=plain)


def _load(source: Input, separator: str, start: int, end: int, *, plain: bool) -> Rows:
    return _rows(_lines(source, separator, start, end), plain=plain)


def _rows(lines: LineRange, *, plain: bool) -> Rows:
    rows = read_rows(lines) if plain else None
    return _scan_rows(lines.data[lines.begin : lines.end], lines.separator.decode()) if rows is None else rows


def _unpacking(source: Input, separator: str) -> Iterator[Callable[[], Rows]]:
    """Functions that parse one piece each of a file that is unpacked meanwhile."""
    blank, rest, wanted = separator.encode(), bytearray(), _PIECE + _LOOK
    head = source.head[: source.head.rfind(b"\n") + 1]
    plain = bool(head) and read_rows(_with_room(head, blank)) is not None
    for piece in source.stream(len(source.head)):
        rest += piece
        if len(rest) < wanted:
            continue
        end = _change(bytes(memoryview(rest)[_PIECE:]), blank)
        if end is None:  # one query still: look again when there is much more of it
            check_size(len(rest), source.label)
            _refuse_long_line(rest, source.label)
            wanted = 2 * len(rest)
            continue
        yield partial(_rows, _with_room(bytes(memoryview(rest)[: _PIECE + end]), blank), plain=plain)
        del rest[: _PIECE + end]
        wanted = _PIECE + _LOOK
    if rest:
        yield partial(_rows, _with_room(bytes(rest), blank), plain=plain)


def _refuse_long_line(rest: bytearray, label: str) -> None:
    """Refuse what ends in a line that is too long."""
    if len(rest) - rest.rfind(b"\n") > LINE.value * MEGABYTE:
        raise long_line(label)


def _with_room(data: bytes, separator: bytes) -> LineRange:
    """Whole lines with room around them; the last line ends as the others do."""
    data = b"".join((_MARGIN, data, b"" if data.endswith(b"\n") else b"\n", _MARGIN))
    return LineRange(data, MARGIN, len(data) - MARGIN, separator)


def _lines(source: Input, separator: str, start: int, end: int) -> LineRange:
    """Read some whole lines with the bytes around them; the last line of a file ends as the others do."""
    data = source.part(max(start - MARGIN, 0), end + MARGIN)
    begin = min(start, MARGIN)
    stop = begin + end - start
    if begin < MARGIN or len(data) < stop + MARGIN:
        return _with_room(data[begin:stop], separator.encode())
    return LineRange(data, begin, stop, separator.encode())


def _scan_rows(data: bytes, separator: str) -> Rows:
    """Scan what is clean but not plain: scores with an exponent, or with very many digits."""
    # Polars would drop a byte order mark wherever a piece begins with one.
    frame = None if data.startswith(b"\xef\xbb\xbf") else scan(BytesIO(data), separator, RUN)
    if frame is None or uneven(data, separator):
        raise Unclean
    return Rows.of(frame)


def _ends(source: Input, separator: bytes, start: int = 0) -> Iterator[tuple[int, int]]:
    """Offsets at which pieces start and end."""
    while start < source.size:
        end = _query_end(source, start + _PIECE, separator)
        yield start, end
        start = end


def _query_end(source: Input, start: int, separator: bytes) -> int:
    """Offset behind a line after `start` that is followed by one of another query."""
    look = _LOOK
    while start < source.size:
        end = _change(source.part(start, start + look), separator)
        if end is not None:
            return start + end
        if start + look >= source.size:
            break
        look *= 4
    return source.size


def _change(window: bytes, separator: bytes) -> int | None:
    """Offset behind a line that is followed by one of another query; None if there is none."""
    first, end = window.find(b"\n"), window.rfind(b"\n")
    query = window[first + 1 : end].partition(separator)[0]
    last = window.find(b"\n", window.rfind(b"\n" + query + separator, 0, end) + 1)
    return last + 1 if query and 0 <= first < last < end else None


def separator_of(head: bytes, layout: Layout) -> str | None:
    """Find the one character that separates the fields of every line we can see."""
    if b"\r" in head or b"\0" in head or head.startswith(b"\xef\xbb\xbf"):
        return None
    lines = head.split(b"\n")[:-1] or [head]
    for separator in (b" ", b"\t"):
        other = b"\t" if separator == b" " else b" "
        if lines and all(line.count(separator) == len(layout.fields) - 1 and other not in line for line in lines[:200]):
            return separator.decode()
    return None
