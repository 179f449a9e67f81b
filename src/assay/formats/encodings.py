"""Convert text to UTF-8: UTF-16 is detected by its mark, other encodings are named by the user."""

from __future__ import annotations

import codecs
import re
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from assay.errors import InputError, UsageError, excerpt
from assay.messages import say

if TYPE_CHECKING:
    from collections.abc import Iterator

_LOOK = 1 << 16  # bytes around a fault that are looked at for a hint
_PARQUET = b"PAR1"
# The longer mark first: that of UTF-32 begins like that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_CHINESE = {"gb2312", "gbk", "cp936"}  # parts of GB18030, and often not the part that a file was written in
_HAN = re.compile(r"[\u3000-\u303f\u4e00-\u9fff\uff00-\uffef]")
_MOST = 0.9  # share of the letters beyond ASCII that must be Chinese for a file to look like GBK
_HALF = 0.3  # share of bytes that are 0 in every other place of UTF-16

_otherwise: ContextVar[str | None] = ContextVar("encoding of files that are not UTF-8", default=None)


def codec_of(name: str) -> str:
    """The name by which Python knows an encoding of text."""
    try:
        known = codecs.lookup(name.strip())
        "".encode(known.name)  # what encodes bytes is refused here
    except (LookupError, ValueError):
        raise UsageError(
            say("unknown encoding {name}: expected one such as gb18030, utf-16, big5 or shift_jis", name=excerpt(name))
        ) from None
    return "gb18030" if known.name in _CHINESE else known.name


@contextmanager
def fallback_encoding(name: str | None) -> Iterator[None]:
    """Read files that are not UTF-8 in this encoding, within the context."""
    token = _otherwise.set(None if name is None else codec_of(name))
    try:
        yield
    finally:
        _otherwise.reset(token)


def current_fallback() -> str | None:
    """The encoding of files that are not UTF-8, where one is set."""
    return _otherwise.get()


def encoding_of_mark(head: bytes) -> str | None:
    """The encoding that a byte order mark indicates, unless it is UTF-8."""
    return next((name for mark, name in _MARKS if head.startswith(mark)), None)


def as_utf8(data: bytes, label: str, encoding: str | None, otherwise: str | None) -> bytes:
    """Bytes of a text as UTF-8, given its encoding, or what it is in if it is not UTF-8."""
    if data.startswith(_PARQUET):
        return data
    used = encoding or encoding_of_mark(data)
    if used is None and otherwise is not None and not _is_utf8(data):
        used = otherwise
    if used is None or used.startswith("utf-8"):
        return data
    try:
        return data.decode(used).encode()
    except UnicodeError as error:
        start = error.start if isinstance(error, UnicodeDecodeError) else 0
        raise InputError(
            say("the bytes from 0x{byte:02x} on are not {encoding} text", byte=data[start], encoding=used),
            path=label,
            line=data.count(b"\n", 0, start) + 1,
            hint=say("name the encoding in which it was saved, or save it as UTF-8"),
        ) from None


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return b"\0" not in data[:_LOOK]


def cure(data: bytes, fault: int) -> str:
    """What to do about bytes that are not UTF-8 from some place on."""
    if _looks_like_gbk(data[max(fault - _LOOK, 0) : fault + _LOOK], min(fault, _LOOK)):
        return say("it looks like GBK: use --encoding gb18030, in Python encoding='gb18030', or save it as UTF-8")
    return say("save it as UTF-8, or name its encoding: --encoding NAME, in Python encoding=NAME")


def _looks_like_gbk(data: bytes, fault: int) -> bool:
    begin = data.rfind(b"\n", 0, fault) + 1
    end = data.rfind(b"\n", fault)
    try:
        text = data[begin : end if end > 0 else len(data)].decode("gb18030")
    except UnicodeDecodeError:
        return False
    beyond = [sign for sign in text if not sign.isascii()]
    return bool(beyond) and sum(_HAN.match(sign) is not None for sign in beyond) >= _MOST * len(beyond)


def cure_of_zeros(head: bytes) -> str:
    """What to do about text that has bytes of 0 in it: UTF-16 without a mark has them in every other place."""
    for start, name in ((1, "utf-16-le"), (0, "utf-16-be")):
        places = head[start::2]
        if places.count(0) > _HALF * len(places) and head[1 - start :: 2].count(0) < _HALF * len(places):
            return say("it looks like UTF-16: use --encoding {name}, in Python encoding='{name}'", name=name)
    return say("expected TREC, JSON or CSV text")
