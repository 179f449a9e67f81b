"""A journal: a file to which entries are only added, each of them on the disk before anything relies on it.

Every line is a checksum and an entry in JSON. A last line that was not written completely is what a crash leaves: it is
cut off, as nothing relied on it. Any other line whose checksum is wrong is damage, and refused.
"""

from __future__ import annotations

import os
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import msgspec

from assay.errors import InputError, cause
from assay.formats.files import sync, write_atomically
from assay.messages import say

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

_DIGITS = 16


def read_journal(path: Path) -> list[dict[str, Any]]:
    """All entries, in order; what a crash left of one that was being written is removed."""
    try:
        data = path.read_bytes() if path.exists() else b""
    except OSError as error:
        raise InputError(say("cannot be read: {reason}", reason=cause(error)), path=str(path)) from None
    found, sound, lines = [], 0, data.split(b"\n")
    for number, line in enumerate(lines[:-1], 1):
        entry = _decode(line)
        if entry is None and number < len(lines) - 1:
            raise InputError(
                say("the entry is damaged: its checksum is wrong"), path=str(path), line=number,
                hint=say("what was counted before is lost: remove the folder, and everything is counted anew"),
            )  # fmt: skip
        if entry is None:
            break
        found.append(entry)
        sound += len(line) + 1
    if sound < len(data):
        os.truncate(path, sound)
    return found


def add_entry(path: Path, entry: Mapping[str, Any]) -> None:
    """Add an entry; it is on the disk when this returns."""
    try:
        is_new = not path.exists()
        with path.open("ab") as file:
            file.write(_encode(entry))
            file.flush()
            os.fsync(file.fileno())
        if is_new:
            sync(path.parent)
    except OSError as error:
        raise InputError(say("cannot be written: {reason}", reason=cause(error)), path=str(path)) from None


def write_journal(path: Path, entries: Iterable[Mapping[str, Any]]) -> None:
    """Replace a journal by a shorter one that says the same, completely or not at all."""
    write_atomically(path, b"".join(map(_encode, entries)))


def _encode(entry: Mapping[str, Any]) -> bytes:
    text = msgspec.json.encode(entry)
    return _checksum(text) + b" " + text + b"\n"


def _decode(line: bytes) -> dict[str, Any] | None:
    checksum, _, text = line.partition(b" ")
    if checksum != _checksum(text):
        return None
    found: dict[str, Any] = msgspec.json.decode(text)
    return found


def _checksum(text: bytes) -> bytes:
    return blake2b(text, digest_size=_DIGITS // 2).hexdigest().encode()
