"""Reading TREC files: judgments at once, a run in pieces, the first of them while other modules are imported.

A piece is a few megabytes and ends where a query ends: it stays in the processor's cache, and the whole need not fit
into memory.
"""

from __future__ import annotations

import itertools
import os
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from assay.data.limits import LINE, MEGABYTE, long_line
from assay.data.rows import Rows, Unclean
from assay.errors import InputError
from assay.formats.files import Input
from assay.formats.trec.by_line import read_some
from assay.formats.trec.decimals import MARGIN
from assay.formats.trec.lines import LineRange, read_pool, read_rows
from assay.formats.trec.scan import BOM, QRELS, QUERY, RUN, Layout, tidy
from assay.formats.unpacking import check_size

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from concurrent.futures import Future

    from assay.data.pool import Pool

_PIECE = 1 << 22
_LOOK = 1 << 16
_MARGIN = b"\n" * MARGIN
_AHEAD = 4  # pieces: what one core reads in the time that imports take
_started: dict[tuple[int, ...], tuple[int, list[Future[Rows]]]] = {}  # by file: where they end, and what was begun


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
    first = list(itertools.islice(_loaders(source, separator, _first(source.head)), _AHEAD))
    _started.clear()  # what a command that ended in a mistake did not ask for
    _started[_file(source)] = first[-1][0], [workers.submit(load) for _, load in first]
    workers.shutdown(wait=False)


def loaders(source: Input) -> Iterable[Callable[[], Rows]]:
    """Functions that read one piece of a run each; `Unclean` if it is no text, which who reads all of it says.

    What is packed or comes from a pipe is read as they are taken: taking a few at a time keeps only those in memory.
    """
    if b"\0" in source.head:
        raise Unclean
    separator = separator_of(source.head, RUN)
    keep_memory()
    if source.is_stream or source.is_text_pipe:
        return _streaming(source, separator)
    source.refuse_long_lines()
    end, begun = _started.pop(_file(source), (_first(source.head), []))
    found = [*(future.result for future in begun), *(load for _, load in _loaders(source, separator, end))]
    source.forget_head()
    return found


def _file(source: Input) -> tuple[int, ...]:
    """What tells a file from others of its name, in another working folder or written since; nothing for a pipe."""
    if source.path is None or not source.path.is_file():
        return ()
    told = source.path.stat()
    return told.st_dev, told.st_ino, told.st_size, told.st_mtime_ns


def keep_memory() -> None:
    """Let freed blocks be used again: what is parsed from each piece takes the place of what was parsed before.

    The GNU allocator gives blocks of more than 128 kB back to the system and gets new ones, filled with zeros, until it
    sees a larger one freed; from then on it keeps those up to that size. This saves a third of the time.
    """
    np.empty(1 << 24, np.uint8)


def pool_of(source: Input) -> Pool | None:
    """Read judgments that are plain and without comments; None when they need another reader."""
    separator = separator_of(source.head, QRELS)
    source.refuse_long_lines()
    lines = _lines(source, separator, _first(source.head), source.size)
    found = read_pool(lines) if separator else None
    if found is None and b"#" not in lines.data and (even := tidy(lines.data)) != lines.data:
        found = read_pool(_with_room(even, " "))
    return found


def _loaders(source: Input, separator: str | None, start: int) -> Iterator[tuple[int, Callable[[], Rows]]]:
    """Functions that read one piece each, and where it ends."""
    head = source.head.rfind(b"\n") + 1 or source.size
    # A single piece shows itself whether it is plain.
    plain = source.size <= _PIECE or _read(_lines(source, separator, _first(source.head), head)) is not None
    for begin, end in _ends(source, start):
        yield end, partial(_load, source, separator, begin, end, plain=plain)


def _load(source: Input, separator: str | None, start: int, end: int, *, plain: bool) -> Rows:
    def line() -> int:
        return 1 + sum(source.part(at, min(at + _PIECE, start)).count(b"\n") for at in range(0, start, _PIECE))

    return _rows(source.label, _lines(source, separator, start, end), line, plain=plain)


def _rows(label: str, lines: LineRange, line: Callable[[], int], *, plain: bool) -> Rows:
    """Read a piece, of which somebody knows the number of the first `line`, with the quickest reader that can."""
    found = _read(lines) if plain else None
    if found is not None:
        return found
    return Rows.of(read_some(lines.data[lines.begin : lines.end], label, RUN, line))


def _read(lines: LineRange) -> Rows | None:
    """Parse plain lines, as they are or made clean."""
    found = read_rows(lines) if lines.separator else None
    if found is None:
        data = lines.data[lines.begin : lines.end]
        even = tidy(data)
        if even.count(b" ", 0, even.find(b"\n")) == RUN.least - 1:  # no tag, of which nothing is kept
            even = even.replace(b"\n", b" -\n")
        found = read_rows(_with_room(even, " ")) if even and even != data else None
    return found


def _streaming(source: Input, separator: str | None) -> Iterator[Callable[[], Rows]]:
    """Functions that parse one piece each of what is unpacked, or comes from a pipe, meanwhile."""
    rest, wanted, line = bytearray(), _PIECE + _LOOK, 1
    begin, end = _first(source.head), source.head.rfind(b"\n") + 1
    plain = begin < end and _read(_with_room(source.head[begin:end], separator)) is not None

    def take(size: int) -> Callable[[], Rows]:
        nonlocal line
        lines, first = _with_room(bytes(memoryview(rest)[:size]), separator), line
        del rest[:size]
        line += lines.data.count(b"\n", lines.begin, lines.end)
        return partial(_rows, source.label, lines, lambda: first, plain=plain)

    for piece in source.stream(len(source.head)):
        rest += piece[begin:]
        begin = 0
        if len(rest) < wanted:
            continue
        change = _change(bytes(memoryview(rest)[_PIECE:]))
        if change is None:  # one query still: look again when there is much more of it
            check_size(len(rest), source.label)
            _refuse_long_line(rest, source.label)
            wanted = 2 * len(rest)
            continue
        yield take(_PIECE + change)
        wanted = _PIECE + _LOOK
    if rest:
        yield take(len(rest))


def _refuse_long_line(rest: bytearray, label: str) -> None:
    """Refuse what ends in a line that is too long."""
    if len(rest) - rest.rfind(b"\n") > LINE.value * MEGABYTE:
        raise long_line(label)


def _with_room(data: bytes, separator: str | None) -> LineRange:
    """Whole lines with room around them; the last line ends as the others do."""
    data = b"".join((_MARGIN, data, b"" if data.endswith(b"\n") else b"\n", _MARGIN))
    return LineRange(data, MARGIN, len(data) - MARGIN, (separator or "").encode())


def _lines(source: Input, separator: str | None, start: int, end: int) -> LineRange:
    """Read some whole lines with the bytes around them; the last line of a file ends as the others do."""
    data = source.part(max(start - MARGIN, 0), end + MARGIN)
    begin = min(start, MARGIN)
    stop = begin + end - start
    if begin < MARGIN or len(data) < stop + MARGIN:
        return _with_room(data[begin:stop], separator)
    return LineRange(data, begin, stop, (separator or "").encode())


def _ends(source: Input, start: int) -> Iterator[tuple[int, int]]:
    """Offsets at which pieces start and end."""
    while start < source.size:
        end = _query_end(source, start + _PIECE)
        yield start, end
        start = end


def _query_end(source: Input, start: int) -> int:
    """Offset behind a line after `start` that is followed by one of another query."""
    look = _LOOK
    while start < source.size:
        end = _change(source.part(start, start + look))
        if end is not None:
            return start + end
        if start + look >= source.size:
            break
        look *= 4
    return source.size


def _change(window: bytes) -> int | None:
    """Offset behind a line that is followed by one of another query; None if there is none."""
    end = window.rfind(b"\n")
    found = QUERY.search(window, 0, max(end, 0))
    if found is None:
        return None
    alike = window.rfind(b"\n" + window[found.start(1) : found.end()], 0, end)
    last = window.find(b"\n", alike + 1)
    # Lines of the same query may be written with other blanks.
    while (after := QUERY.match(window, last, end)) and after[2] == found[2]:
        last = window.find(b"\n", after.end())
    return None if after is None else last + 1


def _first(head: bytes) -> int:
    """Where lines begin: behind a byte order mark."""
    return len(BOM) if head.startswith(BOM) else 0


def separator_of(head: bytes, layout: Layout) -> str | None:
    """Find the one character that separates the fields of every line we can see; None where there are others."""
    if b"\r" in head or b"\0" in head:
        return None
    lines = head.removeprefix(BOM).split(b"\n")[:-1] or [head.removeprefix(BOM)]
    for separator in (b" ", b"\t"):
        other = b"\t" if separator == b" " else b" "
        if lines and all(line.count(separator) == len(layout.fields) - 1 and other not in line for line in lines[:200]):
            return separator.decode()
    return None
