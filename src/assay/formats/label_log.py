"""The log of labels: JSON lines that are only ever added, each with a checksum; damaged lines are never believed.

A process that is killed while it writes leaves a last line without its end. Nobody was told that this line is kept: it
is left out with a note, and the next line begins behind it.
"""

from __future__ import annotations

import json
import math
import os
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.data.label import KINDS, Label
from assay.errors import InputError, cause
from assay.formats.files import sync
from assay.messages import say

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

SCHEMA = 1
_FIELDS = ("key", "at", "by", "task", "kind", "item", "value", "note", "shown", "undoes")
_LONGEST = 1_000_000  # bytes of a line
_DIGITS = 16
_FURTHEST = 1e9  # of a value


@dataclass(frozen=True)
class LabelLog:
    """The sound lines of a log, and what was left out and why."""

    labels: tuple[Label, ...]
    notes: tuple[str, ...] = ()


def read_label_log(place: str | os.PathLike[str]) -> LabelLog:
    """Read a log of labels; lines that are damaged are left out, and counted in a note."""
    path = Path(place)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(say("the labels cannot be read: {reason}", reason=cause(error)), path=str(path)) from None
    labels = list(sound_lines(data))
    damaged = sum(bool(line.strip()) for line in data.split(b"\n")) - len(labels)
    if damaged and not labels:
        raise InputError(say("this is not a log of labels"), path=str(path))
    found = tuple({one.key: one for one in reversed(labels)}.values())[::-1]
    note = say(
        "{n} damaged {n:line|lines} of {path} left out: never confirmed as kept, or changed since",
        n=damaged,
        path=path.name,
    )
    return LabelLog(found, (note,) if damaged else ())


def sound_lines(data: bytes) -> Iterator[Label]:
    """The labels in the lines whose checksums are right; a last line without its end may be whole."""
    for line in data.split(b"\n"):
        label = _decode(line)
        if label is not None:
            yield label


def append_labels(path: Path, labels: Iterable[Label]) -> None:
    """Add lines to a log, and return when they are on the disk."""
    text = b"".join(_encode(label) for label in labels)
    fresh = not path.exists()
    try:
        handle = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o600)
        try:
            size = os.lseek(handle, 0, os.SEEK_END)
            if size:
                os.lseek(handle, size - 1, os.SEEK_SET)
                if os.read(handle, 1) != b"\n":  # of a process that was killed
                    text = b"\n" + text
            while text:
                text = text[os.write(handle, text) :]
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError as error:
        raise InputError(say("the label cannot be kept: {reason}", reason=cause(error)), path=str(path)) from None
    if fresh:
        sync(path.parent)


def _encode(label: Label) -> bytes:
    body = {"label": SCHEMA, **{name: getattr(label, name) for name in _FIELDS}}
    return json.dumps({**body, "sum": _sum(body)}, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n"


def _sum(body: dict[str, Any]) -> str:
    text = json.dumps(body, ensure_ascii=False, sort_keys=True)
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]


def _decode(line: bytes) -> Label | None:
    """The label of a line; None for what is damaged."""
    if not line.strip() or len(line) > _LONGEST:
        return None
    try:
        body = json.loads(line.decode("utf-8", "surrogatepass"))
        if not isinstance(body, dict) or body.pop("sum", None) != _sum(body) or body.pop("label", None) != SCHEMA:
            return None
    except (ValueError, RecursionError):
        return None
    return _label(body) if body.keys() == set(_FIELDS) else None


def _label(body: dict[str, Any]) -> Label | None:
    texts = (body[name] for name in ("key", "at", "by", "task", "note", "shown"))
    item, value, undoes = body["item"], body["value"], body["undoes"]
    known = (
        all(isinstance(text, str) for text in texts)
        and body["kind"] in KINDS
        and isinstance(item, list)
        and all(isinstance(part, str) for part in item)
        and (value is None or isinstance(value, str) or _is_number(value))
        and (undoes is None or isinstance(undoes, str))
    )
    return Label(**{**body, "item": tuple(item)}) if known else None


def _is_number(value: object) -> bool:
    return type(value) in {int, float} and math.isfinite(value) and abs(value) < _FURTHEST  # type: ignore[arg-type]
