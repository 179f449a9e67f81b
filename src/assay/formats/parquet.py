"""Read untrusted Parquet files: what they declare is checked before Polars reads them.

Polars trusts the sizes that a file declares, and ends the process if it cannot allocate them. So the footer
and the headers of all pages are read first, a few microseconds each: a file that would unpack to a multiple of its size
is refused, and one whose parts do not fit together is read in a process of its own, which may end.
"""

from __future__ import annotations

import contextlib
import os
from io import BytesIO
from typing import TYPE_CHECKING, Any

from assay.data.limits import HARMLESS, MEGABYTE, RATIO, UNPACKED, check_columns
from assay.errors import InputError
from assay.formats.thrift import Damaged, read_struct
from assay.lazy import pl
from assay.messages import say

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_MAGIC = b"PAR1"
_TAIL = 8
_SECONDS = 60
_CELL = 8  # bytes of a value in memory, at least
_ENCODINGS = frozenset({0, 2, 3, 4, 5, 6, 7, 8, 9})
# Numbers of fields in the format's own description: of a page, and of a column.
_DATA, _DICTIONARY, _DATA_V2 = 5, 7, 8
_DICTIONARY_OFFSET = 11
_PAGE_HEADER = 1 << 16  # bytes; statistics of long texts are in it


def read_parquet(data: bytes, label: str) -> pl.DataFrame:
    """Read a file into a frame; any fault is an `InputError`."""
    return _read_here(data, label) if is_sound(data, label) else _read_contained(data, label)


def is_sound(data: bytes, label: str, *, in_memory: bool = True) -> bool:
    """Return whether all parts of a file fit together; one that is not a Parquet file, or a bomb, is refused."""
    try:
        return _check(data, label, in_memory=in_memory)
    except (Damaged, LookupError, TypeError, AttributeError):  # a field that is missing, or of another type
        return False


def is_sound_file(path: Path, label: str) -> bool:
    """Return whether all parts of a file fit together, without reading it; what it unpacks to is not held in memory."""
    import mmap

    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        return is_sound(data, label, in_memory=False)  # type: ignore[arg-type]


def _refusal(reason: str, label: str) -> InputError:
    return InputError(say("not a Parquet file: {reason}", reason=reason), path=label)


def _read_here(data: bytes, label: str) -> pl.DataFrame:
    try:
        with _quiet():
            return pl.read_parquet(BytesIO(data))
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError) as error:
        raise _refusal(str(error).strip().partition("\n")[0], label) from None


def _read_contained(data: bytes, label: str) -> pl.DataFrame:
    from assay.formats.containment import Refused, child_for

    try:
        return pl.read_ipc(BytesIO(child_for(f"{__name__}:translate", UNPACKED.value).ask(data, _SECONDS)))
    except Refused as error:
        raise _refusal(str(error) or say("it takes too long"), label) from None


def translate(data: bytes) -> bytes:
    """Read a Parquet file and write it as Arrow; for the process in which damaged files are read."""
    found = BytesIO()
    pl.read_parquet(BytesIO(data)).write_ipc(found)
    return found.getvalue()


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Hold back what is written to standard error, as a panic of Polars is; without a panic it is passed on."""
    import tempfile

    try:
        kept = os.dup(2)
    except OSError:  # closed
        yield
        return
    with tempfile.TemporaryFile() as held:
        os.dup2(held.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(kept, 2)
            os.close(kept)
        held.seek(0)
        if said := held.read():
            os.write(2, said)


def _check(data: bytes, label: str, *, in_memory: bool) -> bool:
    if len(data) < len(_MAGIC) + _TAIL or data[:4] != _MAGIC or data[-4:] != _MAGIC:
        raise _refusal(say("its first and last bytes are not PAR1"), label)
    end = len(data) - _TAIL - int.from_bytes(data[-8:-4], "little")
    if end < len(_MAGIC):
        raise Damaged
    footer = read_struct(data, end, len(data) - _TAIL)[0]
    groups = footer.get(4, [])
    check_columns(len(footer.get(2, [])), label)
    rows = [_whole(group, 3) for group in groups]
    chunks = [(chunk[3], size) for group, size in zip(groups, rows, strict=True) for chunk in group[1]]
    _check_size(
        sum(max(_whole(one, 6), _CELL * _whole(one, 5)) for one, _ in chunks), len(data), label, in_memory=in_memory
    )
    return sum(rows) == _whole(footer, 3) and all(_fits(data, chunk, size, end) for chunk, size in chunks)


def _whole(struct: dict[int, Any], number: int) -> int:
    """A size or a count."""
    found = struct.get(number)
    if not isinstance(found, int) or found < 0:
        raise Damaged
    return found


def _check_size(size: int, packed: int, label: str, *, in_memory: bool) -> None:
    if size > max(HARMLESS, RATIO.value * packed):
        raise RATIO.refuse(say("unpacks to more than {n} times its size", n=RATIO.value), label)
    if in_memory and size > max(UNPACKED.value * MEGABYTE, packed):
        raise UNPACKED.refuse(
            say("unpacks to more than {n} MB, which would have to be in memory", n=UNPACKED.value), label
        )


def _fits(data: bytes, chunk: dict[int, Any], rows: int, end: int) -> bool:
    """Return whether the pages of a column lie in the file and hold as many values as they should."""
    start, size, values = _whole(chunk, 9), _whole(chunk, 7), _whole(chunk, 5)
    if 0 < chunk.get(_DICTIONARY_OFFSET, 0) < start:
        start = chunk[_DICTIONARY_OFFSET]
    stop = start + size
    if not values and not rows:
        return True
    if start < len(_MAGIC) or stop > end or values < rows:
        return False
    left, unpacked = values, _whole(chunk, 6)
    while start < stop:
        page, body = read_struct(data, start, min(stop, start + _PAGE_HEADER))
        start = body + _whole(page, 3)
        unpacked -= _whole(page, 2)
        left -= _values_in(page)
        if start > stop or left < 0 or unpacked < 0:
            return False
    return left == 0


def _values_in(page: dict[int, Any]) -> int:
    """Number of values in a page of data; 0 for a dictionary."""
    head = page.get(_DATA) or page.get(_DATA_V2) or page.get(_DICTIONARY)
    if not isinstance(head, dict) or head.get(4 if _DATA_V2 in page else 2) not in _ENCODINGS:
        raise Damaged
    values = _whole(head, 1)
    if _DICTIONARY in page:
        if values > _CELL * _whole(page, 2) + _CELL:
            raise Damaged
        return 0
    if _DATA_V2 in page and _whole(head, 5) + _whole(head, 6) > _whole(page, 3):
        raise Damaged
    return values
