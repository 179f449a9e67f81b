"""Looking after the cache: what is in it, whether it is sound, and making it smaller."""

from __future__ import annotations

import itertools
import os
import sqlite3
import time
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.errors import InputError, cause
from assay.llm import claims
from assay.llm.records import from_json
from assay.llm.store import add_rows, checksum_of, code_of, connect_any, connect_bare, drop_oldest, used_bytes
from assay.messages import say

if TYPE_CHECKING:
    from collections.abc import Iterator

_PATIENCE = 20.0
_NAMES = "key, value, sum, reason, host, model, created"
_COLUMNS = "id, " + ", ".join(
    f"CAST({name} AS BLOB)" if name != "created" else name for name in _NAMES.split(", ")
)  # damaged text cannot be read as text
_ALL = f"SELECT {_COLUMNS} FROM replies"  # noqa: S608 - fixed names
_NEXT = f"{_ALL} WHERE id > ? ORDER BY id LIMIT 1"
# What SQLite says of a damaged file: pages, the schema, an index with a key twice. A lock, a full disk or a missing
# right is none of these.
_DAMAGE = {
    *(sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT),
    *(sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CONSTRAINT),
}
_MAGIC, _HEADER = b"SQLite format 3\0", 4096
_CLOSE, _MOST_FAILURES = 64, 100  # failures to read one after the other


@dataclass(frozen=True)
class Share:
    """Replies of one model on one host."""

    host: str
    model: str
    replies: int
    failed: int
    bytes: int


@dataclass(frozen=True)
class Stats:
    """What a cache holds."""

    path: str
    replies: int
    bytes: int
    oldest: float | None
    newest: float | None
    shares: tuple[Share, ...]


def stats(path: str | os.PathLike[str]) -> Stats:
    """Count what is in a cache."""
    with _open(path) as file:
        total, oldest, newest = file.execute("SELECT count(*), min(created), max(created) FROM replies").fetchone()
        shares = file.execute(
            "SELECT host, model, count(*), sum(reason != ''), sum(length(CAST(value AS BLOB))) FROM replies"
            " GROUP BY host, model ORDER BY count(*) DESC, host, model"
        ).fetchall()
        return Stats(str(path), total, used_bytes(file), oldest, newest, tuple(Share(*row) for row in shares))


def prune(
    path: str | os.PathLike[str],
    *,
    max_bytes: int | None = None,
    days: float | None = None,
    failed: bool = False,
    model: str | None = None,
) -> int:
    """Remove failed replies, those of a model, those older than some days, the oldest beyond a size; says how many."""
    with _open(path) as file:
        file.execute("BEGIN IMMEDIATE")
        gone = 0
        if failed:
            gone += file.execute("DELETE FROM replies WHERE reason != ''").rowcount
        if model is not None:
            gone += file.execute("DELETE FROM replies WHERE model = ?", (model,)).rowcount
        if days is not None:
            gone += file.execute("DELETE FROM replies WHERE created < ?", (time.time() - days * 86_400,)).rowcount
        file.execute("COMMIT")
        while max_bytes is not None and used_bytes(file) > max_bytes:
            count = file.execute("SELECT count(*) FROM replies").fetchone()[0]
            if not count:
                break
            excess = 1 - max_bytes / used_bytes(file)
            gone += drop_oldest(file, max(int(count * excess), 1))
        if gone:
            file.execute("VACUUM")
    with suppress(sqlite3.Error, OSError):
        if claims.place_of(Path(path)).is_file():
            claims.connect(Path(path), patience=_PATIENCE, now=time.time()).close()  # removes those that have ended
    return gone


def verify(path: str | os.PathLike[str]) -> list[str]:
    """Say what is wrong with a cache: damaged pages, damaged or unreadable replies; nothing when it is sound."""
    found: list[str] = []
    try:
        with _open(path) as file:
            found += _find_damage(file)
            for row in file.execute(_ALL):
                wrong = _wrong(row)
                if wrong:
                    found.append(say("reply {key}: {fault}", key=_text(row[1]) or row[0], fault=wrong))
    except _Damaged as error:
        found.append(error.message)
    return found


def repair(path: str | os.PathLike[str]) -> tuple[int, int]:
    """Remove damaged replies; says how many are left, and how many were removed or could not be read.

    Where pages are damaged, what can still be read goes into a new file in its place, and the damaged one stays beside
    it with the ending .damaged (.damaged1 if there is one). No other process should use the cache meanwhile.
    """
    place = Path(path)
    _restore_length(place)
    try:
        with _open(place) as file:
            before = file.execute("SELECT count(*) FROM replies").fetchone()[0]
            bad = [row[0] for row in file.execute(_ALL) if _wrong(row)]
            file.executemany("DELETE FROM replies WHERE id = ?", [(number,) for number in bad])
            file.execute("REINDEX")
            if not _find_damage(file):
                return before - len(bad), len(bad)
    except _Damaged:
        pass
    return _rescue(place)


def _restore_length(place: Path) -> None:
    """Give a file that lost its end the length that its header names: SQLite reads no page of it otherwise.

    A text file is refused: it is not a damaged cache, but some other file that was named by mistake.
    """
    try:
        with place.open("rb+") as file:
            head = file.read(_HEADER)
            if head and b"\0" not in head:
                raise InputError(say("this is not a cache of replies: the file is not a database"), path=str(place))
            if not head.startswith(_MAGIC):  # the rest of the header is just as unreliable
                return
            page = int.from_bytes(head[16:18], "big")
            whole = (1 << 16 if page == 1 else page) * int.from_bytes(head[28:32], "big")
            if file.seek(0, os.SEEK_END) < whole:
                file.truncate(whole)
    except OSError as error:
        raise InputError(say("the cache cannot be used: {reason}", reason=cause(error)), path=str(place)) from None


def _rescue(place: Path) -> tuple[int, int]:
    """Copy sound replies out of a file with damaged pages; a page that cannot be read is stepped over.

    The file is locked until the new one is in its place.
    """
    new, old = place.with_name(place.name + ".new"), _free_name(place)
    kept = lost = 0
    with _explain_errors(place), closing(_lock(place)) as source:
        try:
            _unlink(new)
            with _open(new, make=True) as target:
                target.execute("BEGIN IMMEDIATE")
                for row in _readable(source):
                    if row is None or _wrong(row):
                        lost += 1
                        continue
                    values = [_text(part) if isinstance(part, bytes) else part for part in row[1:]]
                    add_rows(target, [values])
                    kept += 1
                target.execute("COMMIT")
            for ending in ("-wal", "-shm", "-journal"):
                place.with_name(place.name + ending).unlink(missing_ok=True)
            place.replace(old)
            new.replace(place)
        finally:
            _unlink(new)
    return kept, lost


def _free_name(place: Path) -> Path:
    """A name for the damaged file that no earlier one has."""
    names = (f"{place.name}.damaged{number or ''}" for number in itertools.count())
    return next(free for name in names if not (free := place.with_name(name)).exists())


def _unlink(new: Path) -> None:
    for ending in ("", "-wal", "-shm", "-journal"):
        new.with_name(new.name + ending).unlink(missing_ok=True)


def _lock(place: Path) -> sqlite3.Connection:
    """Open a damaged file so that no other process can write it; one that is no database is opened unlocked."""
    file = sqlite3.connect(place, timeout=_PATIENCE, isolation_level=None)
    try:
        file.execute("BEGIN EXCLUSIVE")
    except sqlite3.Error as error:
        file.close()
        if not _is_damage(error):
            raise
        return connect_bare(place)
    return file


def _readable(source: sqlite3.Connection) -> Iterator[tuple[Any, ...] | None]:
    """Rows of a damaged file one by one; None for a place that cannot be read."""
    number, failures = 0, 0
    while failures < _MOST_FAILURES:
        try:
            row = source.execute(_NEXT, (number,)).fetchone()
            if row is not None and row[0] <= number:
                raise sqlite3.DatabaseError("out of order")
        except (sqlite3.Error, OverflowError) as error:
            if isinstance(error, sqlite3.Error) and not _is_damage(error):
                raise
            failures += 1
            number += 1 << max(failures - _CLOSE, 0)  # first a row at a time, then over ever larger gaps
            yield None
        else:
            if row is None:
                return
            number, failures = row[0], 0
            yield row


def _find_damage(file: sqlite3.Connection) -> list[str]:
    return [str(row[0]) for row in file.execute("PRAGMA integrity_check") if row[0] != "ok"]


def _wrong(row: tuple[Any, ...]) -> str:
    """Say what is wrong with a row, as the cache sees it when it reads."""
    _, key, value, wanted, *_ = row
    if key is None or value is None or wanted != checksum_of(value).encode():
        return say("its value was changed")
    return "" if from_json(value.decode(), _text(key)) is not None else say("its value cannot be read")


def _text(raw: Any) -> str:
    return raw.decode("utf-8", "replace") if isinstance(raw, bytes) else ""


class _Damaged(InputError):
    """SQLite cannot use the file."""


def _is_damage(error: sqlite3.Error) -> bool:
    short = getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_IOERR_SHORT_READ  # the end is missing
    return short or code_of(error) in {0, *_DAMAGE}


@contextmanager
def _explain_errors(place: Path) -> Iterator[None]:
    """Report errors in one line, distinguishing damage from temporary trouble such as a lock or a full disk."""
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        damaged = isinstance(error, sqlite3.Error) and _is_damage(error)
        raise (_Damaged if damaged else InputError)(
            say("the cache cannot be used: {reason}", reason=cause(error)), path=str(place)
        ) from None


@contextmanager
def _open(path: str | os.PathLike[str], *, make: bool = False) -> Iterator[sqlite3.Connection]:
    place = Path(path)
    if not make and not place.is_file():
        raise InputError(say("there is no cache here"), path=str(place))
    with _explain_errors(place), closing(connect_any(place, patience=_PATIENCE)[0]) as file:
        yield file
