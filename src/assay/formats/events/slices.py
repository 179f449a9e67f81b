"""A large file of lines, some megabytes at a time, and the rows that were read of it in little memory."""

from __future__ import annotations

from collections import deque
from io import BytesIO
from typing import TYPE_CHECKING

from assay.data.limits import HARMLESS, LINE, MEGABYTE, long_line
from assay.errors import InputError, cause
from assay.lazy import pl
from assay.messages import say

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from assay.formats.files import Input

_SIZE = 16 * MEGABYTE
_BOM = b"\xef\xbb\xbf"


def slices_of(source: Input) -> Iterator[tuple[int, bytes]]:
    """Yield whole lines, about 16 MB at a time, each slice with the number of its first line."""
    line, rest = 1, bytearray()
    for piece in _pieces(source):
        rest += piece
        end = rest.rfind(b"\n") + 1
        if len(rest) - end > LINE.value * MEGABYTE:
            raise long_line(source.label)
        if len(rest) < _SIZE or not end:
            continue
        whole = bytes(rest[:end])
        del rest[:end]
        yield line, whole.removeprefix(_BOM) if line == 1 else whole
        line += whole.count(b"\n")
    if rest:
        yield line, bytes(rest).removeprefix(_BOM) if line == 1 else bytes(rest)


def _pieces(source: Input) -> Iterator[bytes]:
    """Bytes of a file, unpacked and in UTF-8; only what is packed and in another encoding is held in memory."""
    if source.is_stream:
        yield from _hold(source.stream(_SIZE))
    elif source.is_packed or source.path is None:
        yield source.data
    else:
        try:
            with source.path.open("rb") as file:
                while piece := file.read(_SIZE):
                    yield piece
        except OSError as error:
            raise InputError(say("cannot be read: {reason}", reason=cause(error)), path=source.label) from None


def _hold(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield each piece when the next 64 MB are there: events take ten times the bytes of their lines in memory.

    So much of a bomb is enough to refuse it before any of it is decoded.
    """
    held: deque[bytes] = deque()
    size = 0
    for piece in pieces:
        held.append(piece)
        size += len(piece)
        while size > HARMLESS:
            size -= len(held[0])
            yield held.popleft()
    yield from held


def pack(frames: Iterable[pl.DataFrame]) -> pl.LazyFrame:
    """Put the rows of frames below each other, each frame packed as Parquet in memory.

    Ids and times of events repeat so much that they take a tenth of the memory that open columns need; what reads them
    unpacks the columns that it needs, part by part.
    """
    packed: list[bytes] = []
    only = pl.DataFrame()
    for only in frames:
        file = BytesIO()
        only.write_parquet(file, compression="zstd", compression_level=1, statistics=False)
        packed.append(file.getvalue())
    return pl.scan_parquet(packed) if len(packed) > 1 else only.lazy()
