"""Adding a query to an evaluation set: completely or not at all, and each only once."""

from __future__ import annotations

import json
import os
import threading
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.errors import InputError, UnknownName, UsageError, cause
from assay.formats.files import Input, write_atomically
from assay.formats.set_folders import (
    FOLLOWING,
    KINDS,
    MADE_BY,
    MANIFEST,
    find_changes,
    hash_of,
    read_manifest,
    refuse_changes,
    version_of,
    write_manifest,
)
from assay.formats.tables import read_jsonl
from assay.messages import say

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from assay.formats.set_folders import Manifest

_LONGEST = 20_000  # characters of a query
_threads = threading.Lock()


@dataclass(frozen=True)
class AddedQuery:
    """The id of a query in a set and the version of the set; `is_new` says that it was not there before."""

    query_id: str
    version: str
    is_new: bool


def add_query(
    folder: str | os.PathLike[str], row: Mapping[str, Any], *, made_by: str = "log", source: str = ""
) -> AddedQuery:
    """Add a query to a set: a row with query_id, text and whatever else is known, such as a reference.

    A query whose id or whose text is in the set already is not added again. `made_by` and `source` say where it came
    from. Readers see the set before or after, whatever moment the process is killed at.

    >>> import assay
    >>> _ = assay.write_set("tea", queries=[{"query_id": "q1", "text": "green tea"}])
    >>> assay.add_query("tea", {"query_id": "q2", "text": "why is it bitter"}).is_new
    True
    >>> again = assay.add_query("tea", {"query_id": "q3", "text": "why is it bitter"})
    >>> again.query_id, again.is_new
    ('q2', False)
    """
    fresh = _check(row, made_by)
    line = _line_of(fresh)
    with _hold_lock(Path(folder)):
        manifest = read_manifest(folder)
        refuse_changes(folder, manifest, find_changes(folder, manifest))
        if (Path(folder) / FOLLOWING).exists():  # of a process that was killed: what counts now is the manifest
            write_manifest(Path(folder), manifest)
        path = Path(folder) / _queries_of(manifest, folder)
        known = _find(path, fresh)
        if known is not None:
            return AddedQuery(known, manifest.version, is_new=False)
        return AddedQuery(fresh["query_id"], _commit(path, manifest, line, (made_by, source)), is_new=True)


def _check(row: Mapping[str, Any], made_by: str) -> dict[str, Any]:
    query, text = str(row.get("query_id") or "").strip(), str(row.get("text") or "").strip()
    if not query or not text:
        raise UsageError(say("a query of a set has a query_id and a text"))
    if len(text) > _LONGEST:
        raise UsageError(say("a query has at most {most:,} characters", most=_LONGEST))
    if made_by not in KINDS:
        raise UnknownName(MADE_BY, made_by, KINDS, hint=say("expected one of {names}", names=list(KINDS)))
    return {**row, "query_id": query, "text": text, MADE_BY: made_by}


def _queries_of(manifest: Manifest, folder: str | os.PathLike[str]) -> str:
    name = manifest.name_of("queries")
    if name is None or not name.endswith(".jsonl"):
        raise InputError(
            say("queries are added to sets whose queries are in a file .jsonl"), path=os.fspath(folder)
        )  # fmt: skip
    return name


def _find(path: Path, fresh: Mapping[str, Any]) -> str | None:
    """The id of the query that is the same."""
    for _, row in read_jsonl(Input.at(path)) if path.stat().st_size else ():
        if str(row.get("query_id")) == fresh["query_id"] or str(row.get("text") or "").strip() == fresh["text"]:
            return str(row.get("query_id"))
    return None


def _line_of(row: Mapping[str, Any]) -> bytes:
    try:
        return json.dumps(row, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace") + b"\n"
    except (TypeError, ValueError):
        raise UsageError(say("a column of the query holds what JSON cannot hold")) from None


def _commit(path: Path, manifest: Manifest, line: bytes, origin: tuple[str, str]) -> str:
    """Write the queries and the manifest; the set is the new one from the moment on at which the queries are in place.

    The manifest that will hold then is written beside the old one before: whoever reads takes the one that fits.
    """
    maker, source = origin
    data = path.read_bytes()
    whole = data + (b"" if data.endswith(b"\n") or not data else b"\n") + line
    draft = path.with_name(f".{path.name}.next")
    write_atomically(draft, whole)
    before = manifest.files[path.name]
    made_by = {**before.made_by, maker: before.made_by.get(maker, 0) + 1}
    sources = tuple(dict.fromkeys([*before.sources, *([source] if source else [])]))
    now = replace(before, sha256=hash_of(draft), rows=before.rows + 1, made_by=made_by, sources=sources)
    files = {**manifest.files, path.name: now}
    following = replace(manifest, files=files, version=version_of(files))
    write_manifest(path.parent, following, FOLLOWING)
    try:
        draft.replace(path)
    except OSError as error:
        raise InputError(say("cannot be written: {reason}", reason=cause(error)), path=str(path)) from None
    write_manifest(path.parent, following)
    with suppress(OSError):  # it says what the manifest says
        (path.parent / FOLLOWING).unlink()
    return following.version


@contextmanager
def _hold_lock(folder: Path) -> Iterator[None]:
    """Let one thread of one process at a time add to a set; the lock is free when the process ends."""
    with _threads:
        try:
            import fcntl

            handle = os.open(folder / MANIFEST if os.name == "nt" else folder, os.O_RDONLY)
        except ImportError:  # on Windows only the threads of one process are kept apart
            yield
            return
        except OSError:
            yield  # what is wrong with the folder is said by who reads it
            return
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)
