"""The cache's file: an SQLite database of replies with checksums, opened so that several processes may share it."""

from __future__ import annotations

import errno
import hashlib
import os
import sqlite3
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.errors import InputError
from assay.llm.records import to_json
from assay.messages import say

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from assay.llm.records import Reply

_APPLICATION = 0x41535359  # "ASSY": identifies our file among databases
_VERSION = 1
# Older versions can corrupt a database in WAL mode (sqlite.org/wal.html#walresetbug).
_SAFE_WAL = (3, 51, 3)
_TABLE = """
CREATE TABLE IF NOT EXISTS replies (
    id INTEGER PRIMARY KEY,
    key TEXT NOT NULL UNIQUE,
    value TEXT NOT NULL,
    sum TEXT NOT NULL,
    reason TEXT NOT NULL,
    host TEXT NOT NULL,
    model TEXT NOT NULL,
    created REAL NOT NULL
)"""
_NAMES = "key, value, sum, reason, host, model, created"
_ADD = f"INSERT OR REPLACE INTO replies ({_NAMES}) VALUES (?,?,?,?,?,?,?)"  # noqa: S608 - fixed names
_MANY = 500  # keys of one look-up
# What a file says that can be read but not written: its mode, its folder, its disk.
_UNWRITABLE = {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_FULL, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_IOERR}
_DENIED = {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT}


def default_path() -> Path:
    """Where the cache is unless a path is given: ASSAY_CACHE, else the user's cache folder."""
    if os.environ.get("ASSAY_CACHE"):
        return Path(os.environ["ASSAY_CACHE"])
    folder = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(folder) / "assay" / "llm.sqlite"


def cache_file(place: str) -> Path:
    """The file of the cache that a place names: itself, or a file of ours in a folder."""
    path = Path(place)
    return path / "llm.sqlite" if path.is_dir() or (not path.suffix and not path.exists()) else path


def connect(path: Path, *, patience: float) -> sqlite3.Connection:
    """Open the file, making it if need be; raises sqlite3.Error, OSError, or InputError for another program's."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # What was judged may be confidential: the file is its owner's alone. One that is there is not opened here: closing
    # it would end the locks that other connections of this process hold.
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    connection = sqlite3.connect(path, timeout=patience, isolation_level=None, check_same_thread=False)
    try:
        _prepare(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def connect_bare(path: Path, *, immutable: bool = False) -> sqlite3.Connection:
    """Open a file for reading without checks; `immutable`: if not even a lock is possible."""
    options = "mode=ro&immutable=1" if immutable else "mode=ro"
    return sqlite3.connect(f"{path.absolute().as_uri()}?{options}", uri=True, isolation_level=None)


def connect_reading(path: Path, *, patience: float) -> sqlite3.Connection:
    """Open a file that cannot be written; raises as `connect` does."""
    try:
        return _check_layout(connect_bare(path), path, patience)
    except sqlite3.Error as error:
        if not unwritable(error):
            raise
        return _check_layout(connect_bare(path, immutable=True), path, patience)  # in WAL mode reading writes, too


def connect_any(path: Path, *, patience: float) -> tuple[sqlite3.Connection, bool]:
    """Open the file, and say whether it can be written; raises as `connect` does."""
    try:
        return connect(path, patience=patience), True
    except (sqlite3.Error, OSError) as error:
        if unwritable(error) and path.is_file():
            with suppress(sqlite3.Error, InputError):
                return connect_reading(path, patience=patience), False
        raise


def unwritable(error: Exception) -> bool:
    """Return whether an error means that the file, its folder or its disk cannot be written; it may be readable."""
    if isinstance(error, sqlite3.Error):
        return code_of(error) in _UNWRITABLE
    return isinstance(error, OSError) and error.errno in _DENIED


def code_of(error: sqlite3.Error) -> int:
    """SQLite's primary result code; 0 for an error that Python's module raises by itself."""
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF


def _check_layout(connection: sqlite3.Connection, path: Path, patience: float) -> sqlite3.Connection:
    try:
        connection.execute(f"PRAGMA busy_timeout = {int(patience * 1000)}")
        _check(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    connection.execute("BEGIN IMMEDIATE")
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    if application == 0 and not connection.execute("SELECT 1 FROM sqlite_master").fetchone():
        connection.execute(_TABLE)
        connection.execute(f"PRAGMA application_id = {_APPLICATION}")
        connection.execute(f"PRAGMA user_version = {_VERSION}")
    else:
        _check(connection, path)
    connection.execute("COMMIT")
    # Truncating the journal is cheaper than deleting it; only WAL is a property of the file.
    safe = sqlite3.sqlite_version_info >= _SAFE_WAL
    mode = connection.execute(f"PRAGMA journal_mode = {'wal' if safe else 'truncate'}").fetchone()[0]
    if mode == "wal" and not safe:
        raise InputError(
            say("another process keeps the file in WAL mode, which this SQLite may corrupt"), path=str(path)
        )
    # After a crash of the machine WAL may lose the last answers but never the file; a killed process loses nothing.
    connection.execute(f"PRAGMA synchronous = {'NORMAL' if safe else 'FULL'}")


def _check(connection: sqlite3.Connection, path: Path) -> None:
    """Make sure that the file is one of ours, and that its text is what we wrote."""
    application, version, encoding = (
        connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version", "encoding")
    )
    if application != _APPLICATION:
        raise InputError(say("this is a database of another program"), path=str(path), hint=say("name another file"))
    if version != _VERSION:
        raise InputError(
            say("the cache has version {version}, but this assay reads {expected}", version=version, expected=_VERSION),
            path=str(path),
        )
    if encoding != "UTF-8":
        raise InputError(
            say("the cache is damaged: its text encoding is {encoding}", encoding=encoding), path=str(path)
        )


def used_bytes(connection: sqlite3.Connection) -> int:
    """Bytes of the file that hold data."""
    pages, free, size = (
        connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count", "page_size")
    )
    return int((pages - free) * size)


# Rows ----------------------------------------------------------------------------------------------------------------


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Commit what is done inside, or nothing of it."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def row_of(key: str, reply: Reply, host: str, model: str) -> tuple[Any, ...]:
    """The row of a reply, with the sum by which damage is found."""
    value = to_json(reply)
    return key, value, checksum_of(value.encode()), reply.reason, host, model, time.time()


def add_rows(connection: sqlite3.Connection, rows: Sequence[Sequence[Any]]) -> None:
    """Keep rows; one with the same key is replaced."""
    connection.executemany(_ADD, rows)


def read_rows(connection: sqlite3.Connection, keys: Sequence[str]) -> tuple[dict[str, str], set[str]]:
    """Values by their keys, and the keys whose value is not the one that its checksum was made of.

    The key is read beside the value: a damaged index could lead to the sound value of another question. All are read
    as bytes, since damaged text cannot be read as text. Raises sqlite3.DatabaseError if index and replies disagree.
    One transaction holds all of it: a reply that another process replaces in between would look damaged.
    """
    outer = connection.in_transaction
    if not outer:
        connection.execute("BEGIN")
    try:
        return _read_rows(connection, keys)
    finally:
        if not outer:
            connection.execute("COMMIT")


def _read_rows(connection: sqlite3.Connection, keys: Sequence[str]) -> tuple[dict[str, str], set[str]]:
    found: dict[str, str] = {}
    damaged: set[str] = set()
    for start in range(0, len(keys), _MANY):
        part = keys[start : start + _MANY]
        marks = ",".join("?" * len(part))
        places = connection.execute(f"SELECT id, key FROM replies WHERE key IN ({marks})", part).fetchall()  # noqa: S608 - question marks only
        marks = ",".join("?" * len(places))
        columns = "id, CAST(key AS BLOB), CAST(value AS BLOB), CAST(sum AS BLOB)"
        rows = connection.execute(
            f"SELECT {columns} FROM replies WHERE id IN ({marks})",  # noqa: S608 - question marks only
            [number for number, _ in places],
        )
        written = {number: rest for number, *rest in rows}
        for number, key in places:
            stored, value, wanted = written.get(number, (None, None, None))
            if stored != key.encode():
                raise sqlite3.DatabaseError("its index and its replies disagree")
            if value is not None and wanted == checksum_of(value).encode():
                found[key] = value.decode()
            else:
                damaged.add(key)
    return found, damaged - found.keys()


def drop_oldest(connection: sqlite3.Connection, count: int) -> int:
    """Remove the oldest replies."""
    return connection.execute(
        "DELETE FROM replies WHERE id IN (SELECT id FROM replies ORDER BY id LIMIT ?)", (count,)
    ).rowcount


def checksum_of(value: bytes) -> str:
    """A short sum by which a damaged value is found."""
    return hashlib.sha256(value).hexdigest()[:16]
