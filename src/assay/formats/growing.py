"""Files of lines that another program still writes: what came since the last look, whole lines only.

A position is plain data, so that it can be stored and a reader can go on after it was killed. It knows its file by what
does not change when lines are added: its number on the disk and its first bytes.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, BinaryIO

from assay.data.limits import LINE, MEGABYTE, long_line
from assay.errors import InputError, cause
from assay.messages import say

if TYPE_CHECKING:
    from os import PathLike

_MARKED = 4096  # bytes at the beginning of a file that are part of its mark: lines of traces begin alike
_USUAL = 4 * MEGABYTE


@dataclass(frozen=True)
class Position:
    """How far a file was read, and which file that was."""

    offset: int = 0
    mark: str = ""


@dataclass(frozen=True)
class NewLines:
    """Whole lines that were added; `restarted` says that the file is another one or was cut, and was begun anew."""

    data: bytes
    position: Position
    restarted: bool = False


def read_new_lines(
    place: str | PathLike[str], position: Position | None = None, most: int = _USUAL, *, ended: bool = False
) -> NewLines:
    """Read the whole lines behind a position, about `most` bytes; none where there is nothing new, or no file yet.

    A last line without an end is left for the next time, unless the file is said to have `ended`. A file that was
    replaced or cut short is read anew.
    """
    position = position or Position()
    path = os.fspath(place)
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - a path that came as text
            return _read_on(file, path, position, most, ended=ended)
    except FileNotFoundError:
        return NewLines(b"", position)
    except OSError as error:
        raise InputError(say("cannot be read: {reason}", reason=cause(error)), path=path) from None


def is_file_of(place: str | PathLike[str], position: Position) -> bool:
    """Return whether a file is the one of a position, under whatever name it was read."""
    try:
        with open(place, "rb") as file:  # noqa: PTH123 - a path that came as text
            known = os.fstat(file.fileno())
            number = f"{known.st_ino:x}"
            return position.mark.startswith(f"{number}:") and _is_same(
                position, number, file.read(_MARKED), known.st_size
            )
    except OSError:
        return False


def _read_on(file: BinaryIO, path: str, position: Position, most: int, *, ended: bool) -> NewLines:
    known = os.fstat(file.fileno())
    number, begun = f"{known.st_ino:x}", file.read(_MARKED)
    restarted = bool(position.mark) and not _is_same(position, number, begun, known.st_size)
    start = 0 if restarted else position.offset
    file.seek(start)
    data = _read_lines(file, path, most)
    is_last = ended and start + len(data) >= known.st_size
    whole = data if is_last else data[: data.rfind(b"\n") + 1]
    if not whole:
        return NewLines(b"", Position() if restarted else position, restarted)
    size = min(_MARKED, start + len(whole))
    mark = f"{number}:{size}:{sha256(begun[:size]).hexdigest()[:16]}"
    return NewLines(whole, Position(start + len(whole), mark), restarted)


def _read_lines(file: BinaryIO, path: str, most: int) -> bytes:
    """About so many bytes, and more where they hold no whole line."""
    data = file.read(most)
    while data and b"\n" not in data:
        if len(data) > LINE.value * MEGABYTE:
            raise long_line(path)
        more = file.read(most)
        if not more:
            break
        data += more
    return data


def _is_same(position: Position, number: str, begun: bytes, size: int) -> bool:
    """Whether this is the file of a position, and as long as it was."""
    told, _, rest = position.mark.partition(":")
    length, _, digest = rest.partition(":")
    if not length.isdecimal() or size < position.offset:
        return False
    return told == number and sha256(begun[: int(length)]).hexdigest()[:16] == digest
