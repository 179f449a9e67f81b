"""The index of a log of labels: an SQLite database beside it that is made again from the log whenever the two differ.

The log is the truth. The index answers quickly, and its lock lets one process at a time write to the log; what another
process added, or one that was killed left in the log, is taken in before anything else happens.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from contextlib import contextmanager, suppress
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from assay.data.label import Label
from assay.errors import InputError, cause
from assay.formats.label_log import sound_lines
from assay.messages import say

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

_PATIENCE = 30.0  # seconds that another process may hold the lock
_TAIL = 256  # bytes before the place up to which the log is known
_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_SCHEMA, sqlite3.SQLITE_ERROR}
_TABLES = """
CREATE TABLE IF NOT EXISTS labels (
    number INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, at TEXT NOT NULL, by TEXT NOT NULL, task TEXT NOT NULL,
    kind TEXT NOT NULL, item TEXT NOT NULL, value TEXT NOT NULL, note TEXT NOT NULL, shown TEXT NOT NULL,
    undoes TEXT, undone INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX IF NOT EXISTS by_item ON labels (task, by, item);
CREATE TABLE IF NOT EXISTS known (one INTEGER PRIMARY KEY CHECK (one = 1), upto INTEGER NOT NULL, tail TEXT NOT NULL,
    chain TEXT NOT NULL);
"""
_NAMES = "key, at, by, task, kind, item, value, note, shown, undoes"
_ADD = f"INSERT OR IGNORE INTO labels ({_NAMES}) VALUES (?,?,?,?,?,?,?,?,?,?)"  # noqa: S608 - fixed names


class LabelIndex:
    """The index of one log, for any number of threads; `hold_lock` holds off all other threads and processes."""

    def __init__(self, log: Path) -> None:
        self.log, self.path = log, log.with_suffix(".sqlite")
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None

    def close(self) -> None:
        """Close the database."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    @contextmanager
    def hold_lock(self) -> Iterator[sqlite3.Connection]:
        """Hold the lock, with an index that knows all of the log; what is done inside is kept, or nothing of it."""
        with self._lock:
            connection = self._begin()
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")
                raise

    def _begin(self) -> sqlite3.Connection:
        """Begin, and catch up with the log; an index that is damaged is thrown away first."""
        try:
            return self._catch_up()
        except sqlite3.DatabaseError as error:
            if getattr(error, "sqlite_errorcode", 0) & 0xFF not in _DAMAGED:
                raise _unusable(self.path, error) from None
        self.close()
        for ending in ("", "-journal"):
            self.path.with_name(self.path.name + ending).unlink(missing_ok=True)
        try:
            return self._catch_up()
        except sqlite3.Error as error:
            raise _unusable(self.path, error) from None

    def _catch_up(self) -> sqlite3.Connection:
        fresh = self._connection is None
        connection = self._connection = self._connection or _connect(self.path)
        connection.execute("BEGIN IMMEDIATE")
        try:
            if fresh:
                self._verify(connection)
            self.take_in(connection)
        except BaseException:
            connection.execute("ROLLBACK")
            raise
        return connection

    def _verify(self, connection: sqlite3.Connection) -> None:
        """Forget an index that was not made of these very lines."""
        upto, _, chain = _read_position(connection)
        if _link("", _read(self.log, 0)[:upto]) != chain:
            connection.execute("DELETE FROM known")

    def take_in(self, connection: sqlite3.Connection) -> None:
        """Read what the log has more than the index; where they differ, all of it."""
        upto, tail, chain = _read_position(connection)
        size = self.log.stat().st_size if self.log.exists() else 0
        if upto > size or _tail(self.log, upto) != tail:
            upto, chain = 0, ""
        elif upto == size and upto:
            return
        if not upto:
            connection.execute("DELETE FROM labels")
        data = _read(self.log, upto)
        add_lines(connection, sound_lines(data))
        # What a killed process left without an end may go on: it is read again.
        whole = upto + len(data) if data.endswith(b"\n") else upto + data.rfind(b"\n") + 1
        known = (whole, _tail(self.log, whole), _link(chain, data[: whole - upto]))
        connection.execute("INSERT OR REPLACE INTO known VALUES (1, ?, ?, ?)", known)


def add_lines(connection: sqlite3.Connection, labels: Iterable[Label]) -> None:
    """Put labels into the index; one whose key is there is the same request once more."""
    for one in labels:
        row = (one.key, one.at, one.by, one.task, one.kind, json.dumps(one.item), json.dumps(one.value), one.note,
               one.shown, one.undoes)  # fmt: skip
        if connection.execute(_ADD, _storable(row)).rowcount and one.undoes is not None:
            connection.execute("UPDATE labels SET undone = 1 WHERE key = ?", (one.undoes,))


def label_of(row: tuple[Any, ...]) -> Label:
    """The label of a row of the index."""
    key, at, by, task, kind, item, value, note, shown, undoes = row
    return Label(key, at, by, task, kind, tuple(json.loads(item)), json.loads(value), note, shown, undoes)


def select(connection: sqlite3.Connection, where: str, values: Iterable[object] = ()) -> list[Label]:
    """The labels for which a condition holds."""
    rows = connection.execute(f"SELECT {_NAMES} FROM labels WHERE {where}", _storable(tuple(values)))  # noqa: S608 - conditions are our own
    return [label_of(row) for row in rows]


def _storable(row: tuple[object, ...]) -> tuple[object, ...]:
    """Texts as SQLite takes them: half a surrogate pair has no bytes."""
    return tuple(one.encode("utf-8", "replace").decode() if isinstance(one, str) else one for one in row)


def _connect(path: Path) -> sqlite3.Connection:
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False)
    try:
        connection.execute("PRAGMA synchronous = OFF")  # after a crash of the machine it is made again
        connection.execute("PRAGMA journal_mode = truncate")
        connection.executescript(_TABLES)
    except BaseException:
        connection.close()
        raise
    return connection


def _read(path: Path, start: int) -> bytes:
    if not path.exists():
        return b""
    with path.open("rb") as log:
        log.seek(start)
        return log.read()


def _read_position(connection: sqlite3.Connection) -> tuple[int, str, str]:
    """Up to where the log is in the index, and sums of its end and of all its lines."""
    found = connection.execute("SELECT upto, tail, chain FROM known").fetchone()
    return found or (0, "", "")


def _link(chain: str, data: bytes) -> str:
    """The sum of lines before and these ones, however many are added at a time."""
    for line in data.split(b"\n")[:-1]:
        chain = sha256(chain.encode() + line).hexdigest()
    return chain


def _tail(path: Path, upto: int) -> str:
    """A sum of the last bytes up to a place, which tells another log from the known one."""
    if not upto:
        return ""
    with path.open("rb") as log:
        log.seek(max(upto - _TAIL, 0))
        return sha256(log.read(min(_TAIL, upto))).hexdigest()


def _unusable(path: Path, error: sqlite3.Error) -> InputError:
    return InputError(
        say("the index of the labels cannot be used: {reason}", reason=cause(error)),
        path=str(path),
        hint=say("it holds nothing of its own: close other programs that use it, or delete it"),
    )
