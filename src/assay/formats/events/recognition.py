"""What an event log looks like: which files of a folder are one, of which format, and whether a file is one at all."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from assay.errors import AssayError, InputError
from assay.formats.columns import EVENT, SAMPLE, has_any
from assay.formats.events.ubi import looks_like_ubi
from assay.formats.files import Input, is_there
from assay.formats.parquet import is_sound_file
from assay.lazy import pl
from assay.messages import say

if TYPE_CHECKING:
    from collections.abc import Iterable

_SUFFIXES = {
    ".ndjson": "jsonl",
    ".jsonl": "jsonl",
    ".json": "json",
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
}
_PARQUET = b"PAR1"
_BLANKS = b"\xef\xbb\xbf \t\r\n"  # what may be before the first character
_LOOK = 20  # lines of a file that are looked at to see what it is


def is_event_log(place: str, encoding: str | None = None) -> bool:
    """Return whether a file, or the first file of a folder, is an event log, from its first bytes."""
    try:
        first = next(iter(files_of(place)), place)
        source = Input.at(first, encoding)
        names = _names(source, kind_of(source))
    except (AssayError, OSError):
        return False
    if names is None or (has_any(names, SAMPLE["answer"]) and has_any(names, SAMPLE["question"], SAMPLE["contexts"])):
        return False
    if looks_like_ubi(names):
        return not isinstance(names, dict) or len(names) > 1 or _is_bulk_action(*names.values())
    others = (EVENT[name] for name in ("query_id", "user", "time", "doc_id"))
    return has_any(names, EVENT["action"]) and sum(has_any(names, one) for one in others) > 1


def _is_bulk_action(inner: object) -> bool:
    """Return whether this is what a bulk action says of its document, and not grades of a query called index."""
    return isinstance(inner, dict) and (not inner or any(name.startswith("_") for name in inner))


def _names(source: Input, kind: str) -> Iterable[str] | None:
    """Names of columns or of the fields of the first object; None where there are none."""
    if kind == "parquet":
        known = source.path is not None and is_sound_file(source.path, source.label)
        return list(pl.read_parquet_schema(source.path)) if known and source.path else None
    if kind in {"json", "jsonl"}:
        return first_object(source.head)
    line = source.head.lstrip(_BLANKS).split(b"\n", 1)[0].decode("utf-8", "replace").rstrip("\r")
    return [name.strip().strip('"') for name in line.split("\t" if kind == "tsv" else ",")]


def first_object(data: bytes) -> dict[str, Any] | None:
    """The first line that is a JSON object."""
    for line in data.split(b"\n", _LOOK)[:_LOOK]:
        try:
            found = msgspec.json.decode(line.strip(_BLANKS))
        except (msgspec.DecodeError, RecursionError, UnicodeError):
            continue
        if isinstance(found, dict):
            return found
    return None


def files_of(place: str | os.PathLike[str]) -> list[str | os.PathLike[str]]:
    """A file, or the files of a folder and its folders whose suffix is known."""
    folder = Path(place)
    if not is_there(place) or not folder.is_dir():
        return [place]
    found = sorted(one for one in folder.rglob("*") if one.is_file() and _kind_of_name(one.name) is not None)
    shown = [one for one in found if not one.name.startswith((".", "_"))]
    if not shown:
        raise InputError(
            say("this folder has no event logs"),
            path=os.fspath(place),
            hint=say("expected files that end in {suffixes:or}", suffixes=list(_SUFFIXES)),
        )
    return list(shown)


def kind_of(source: Input) -> str:
    """The format of a file, by its suffix or by its first bytes."""
    return _kind_of_name(source.label) or _kind_of_content(source.head.lstrip(_BLANKS))


def is_list(source: Input) -> bool:
    """Return whether a file of JSON is one list."""
    return source.head.lstrip(_BLANKS).startswith(b"[")


def _kind_of_name(name: str) -> str | None:
    return _SUFFIXES.get(Path(name.lower().removesuffix(".gz")).suffix)


def _kind_of_content(start: bytes) -> str:
    if start.startswith(_PARQUET):
        return "parquet"
    if start.startswith((b"{", b"[")):
        return "json"
    return "tsv" if b"\t" in start.split(b"\n", 1)[0] else "csv"
