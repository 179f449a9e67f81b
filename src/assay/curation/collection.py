"""Documents that are read several times, one after the other, without keeping all of them in memory."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from assay.data.limits import LINE, MEGABYTE, long_line
from assay.errors import InputError, UsageError, excerpt
from assay.formats import columns
from assay.formats.decoding import decode, refusal
from assay.messages import say
from assay.pipeline.documents import read_collection

ProgressCallback = Callable[[str, int, int], object]
Opener = Callable[[], Iterable[tuple[str, str]]]
Documents = str | os.PathLike[str] | Mapping[str, str] | Iterable[tuple[str, str]] | Opener
_LARGE = 64 * MEGABYTE  # files of JSON lines above this size are read line by line


def open_collection(documents: Documents) -> Opener:
    """Return a function that yields (id, text) of every document from the start, as often as it is called."""
    if isinstance(documents, (str, os.PathLike)):
        return _open_place(Path(documents))
    if callable(documents):
        return documents
    if isinstance(documents, Iterator):
        raise UsageError(
            say("documents are read several times: give a list, or a function that returns a new iterator")
        )
    pairs: Any = list(documents.items()) if isinstance(documents, Mapping) else list(documents)
    if not any(text.strip() for _, text in pairs):
        raise InputError(say("no document has text"), hint=say("expected at least one"))
    return lambda: pairs


def _open_place(place: Path) -> Opener:
    corpus = place / "corpus.jsonl"
    file = corpus if corpus.is_file() else place
    if file.suffix.lower() in {".jsonl", ".ndjson"} and file.is_file() and file.stat().st_size > _LARGE:
        return lambda: _stream(file)
    found = [(one.id, one.text) for one in read_collection(place)]
    return lambda: found


def _stream(file: Path) -> Iterator[tuple[str, str]]:
    """Read JSON lines one by one; ids must differ, as in files that are read whole."""
    names: dict[tuple[str, ...], tuple[str, str, str | None]] = {}
    seen: set[int] = set()
    for number, row in _rows(file):
        keys = tuple(row)
        if keys not in names:
            names[keys] = _name_columns(keys, str(file))
        doc, body, title = names[keys]
        if row[doc] is None or not isinstance(row[body] or "", str):
            raise InputError(say("row {number} lacks a text or an id", number=number), path=str(file), line=number)
        if hash(str(row[doc])) in seen:
            raise InputError(say("document {doc} occurs twice", doc=excerpt(row[doc])), path=str(file), line=number)
        seen.add(hash(str(row[doc])))
        head = row.get(title) if title else None
        yield str(row[doc]), f"{head}\n\n{row[body] or ''}" if head else row[body] or ""


def _rows(file: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    most = LINE.value * MEGABYTE
    with file.open("rb") as lines:
        for number, raw in enumerate(iter(lambda: lines.readline(most + 1), b""), 1):
            if len(raw) > most:
                raise long_line(str(file))
            try:
                line = raw.decode("utf-8-sig" if number == 1 else "utf-8").strip()
            except UnicodeDecodeError:
                raise InputError(
                    say("line {line} is not UTF-8 text", line=number), path=str(file), hint=say("convert it to UTF-8")
                ) from None
            if line:
                yield number, _decode(line, file, number)


def _decode(line: str, file: Path, number: int) -> dict[str, Any]:
    try:
        found = decode(line)
    except ValueError as error:
        raise refusal(error, line, str(file), number) from None
    if not isinstance(found, dict):
        raise InputError(say("expected a JSON object, not {line}", line=excerpt(line)), path=str(file), line=number)
    return found


def _name_columns(keys: tuple[str, ...], label: str) -> tuple[str, str, str | None]:
    doc = columns.find(keys, columns.DOCUMENT_ID, path=label, needed=say("documents"))
    rest = [name for name in keys if name != doc]
    body = columns.find(rest, columns.DOCUMENT_TEXT, path=label, needed=say("documents"))
    assert doc is not None
    assert body is not None
    return doc, body, columns.find(rest, columns.TITLE, path=label)
