"""Unpacking gzip files a piece at a time, and refusing those that are bombs."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO

from assay.data.limits import HARMLESS, MEGABYTE, RATIO, UNPACKED
from assay.errors import InputError, cause
from assay.messages import say

if TYPE_CHECKING:
    from collections.abc import Iterator

GZIP = b"\x1f\x8b"
# First bytes of what Polars unpacks unasked and without limit: gzip, zlib, zstd. "x^" may be the beginning of a text.
_PACKED = (GZIP, b"x\x01", b"x^", b"x\x9c", b"x\xda", b"\x28\xb5\x2f\xfd")
_PIECE = MEGABYTE


def looks_packed(start: bytes) -> bool:
    """Return whether Polars would take bytes that begin like this for packed ones."""
    return start.startswith(_PACKED)


def unpack(packed: BinaryIO, label: str, first: int = _PIECE) -> Iterator[bytes]:
    """Yield the unpacked bytes, `first` some and then a megabyte at a time, refusing a bomb."""
    import gzip
    import zlib

    ratio, size, wanted = RATIO.value, 0, first
    try:
        with gzip.GzipFile(fileobj=packed, mode="rb") as file:
            while piece := file.read(wanted):
                size, wanted = size + len(piece), _PIECE
                if size > max(HARMLESS, ratio * packed.tell()):
                    raise RATIO.refuse(say("unpacks to more than {n} times its size", n=ratio), label)
                yield piece
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(say("cannot be read: {reason}", reason=cause(error)), path=label) from None


def unpack_all(packed: BinaryIO, label: str) -> bytes:
    """All unpacked bytes, if they are not too many for memory."""
    found = bytearray()
    for piece in unpack(packed, label):
        found += piece
        check_size(len(found), label)
    return bytes(found)


def check_size(size: int, label: str) -> None:
    """Refuse to hold more unpacked bytes in memory than the limit."""
    if size > UNPACKED.value * MEGABYTE:
        raise UNPACKED.refuse(
            say("unpacks to more than {n} MB, which would have to be in memory", n=UNPACKED.value), label
        )
