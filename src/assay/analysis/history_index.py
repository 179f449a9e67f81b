"""What the history shows of each result, kept beside the labels of a folder, so that no result is read twice.

The results are the truth. A row counts as long as its file has the size and the time of change that it was read with,
and its own checksum is right; an index that is damaged is thrown away and made again. It is read in steps: a folder
with thousands of results shows the first of them at once.
"""

from __future__ import annotations

import json
import sqlite3
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, TypeVar

from assay.analysis.evidence import load
from assay.analysis.history import BrokenFile, HistoryEntry, describe_result
from assay.analysis.workspace import give_back_memory
from assay.errors import AssayError
from assay.results.codec import decode, encode, read_json, write_json

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from assay.analysis.workspace import WorkFile, Workspace

INDEX = "history.sqlite"
_SCHEMA = "1"
_MOST = 1_000_000
_TREND = 24  # of the latest means of a series
_BUDGET = 2.0  # seconds of processor time in which one page reads results
_PATIENCE = 10.0
_LONG = 0.1  # seconds of reading that needed memory for a moment
_KEPT = 1000  # rows that were read from the index and need not be decoded again
_TABLES = """
CREATE TABLE IF NOT EXISTS made_by (one INTEGER PRIMARY KEY CHECK (one = 1), version TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS entries (
    name TEXT PRIMARY KEY, changed INTEGER NOT NULL, size INTEGER NOT NULL, date TEXT NOT NULL, entry TEXT NOT NULL,
    fault TEXT NOT NULL, sought TEXT NOT NULL, parts TEXT NOT NULL, series TEXT NOT NULL, mean REAL, sum TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS by_date ON entries (fault, date DESC, name DESC);
CREATE INDEX IF NOT EXISTS by_series ON entries (series, date DESC, name DESC, mean);
"""
_ADD = "INSERT OR REPLACE INTO entries VALUES (?,?,?,?,?,?,?,?,?,?,?)"
_COLUMNS = "name, changed, size, date, entry, fault, sought, parts, series, mean, sum"
_LISTED = f"SELECT {_COLUMNS} FROM entries WHERE fault = ''"  # noqa: S608 - fixed names
_ORDER = " ORDER BY date DESC, name DESC"
_SERIES = "SELECT mean FROM entries WHERE series = ? AND (date, name) <= (?, ?) ORDER BY date DESC, name DESC LIMIT ?"

T = TypeVar("T")


@dataclass(frozen=True)
class HistoryPage:
    """Some results of a folder, the newest first: those that match, of all; `waiting` are not read yet."""

    entries: tuple[HistoryEntry, ...]
    matching: int
    total: int
    broken: tuple[BrokenFile, ...]
    waiting: int = 0


class _Damage(Exception):
    """A row is not as it was written."""


def index_of(space: Workspace) -> HistoryIndex:
    """The index of a folder of work, one for all who ask."""
    found: HistoryIndex = space.beside.setdefault(INDEX, HistoryIndex(space, space.own / INDEX))
    return found


def read_history(space: Workspace) -> HistoryPage:
    """All results of a folder, the newest first; what cannot be read is named."""
    return index_of(space).page("", 1, _MOST)


class HistoryIndex:
    """The index of one folder, for any number of threads."""

    def __init__(self, space: Workspace, path: Path) -> None:
        self.space, self.path = space, path
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._version = -1
        self._waiting: list[WorkFile] = []
        self._broken: tuple[BrokenFile, ...] = ()

    def close(self) -> None:
        """Close the database."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
            self._connection = None

    def page(self, sought: str, at: int, size: int) -> HistoryPage:
        """One page of the results whose names, systems or measure hold a text; the first page has the number 1."""
        return self._ask(lambda rows: self._page(rows, sought.strip().lower(), at, size))

    def with_part(self, part: str) -> tuple[HistoryEntry, ...]:
        """All results with a part, the newest first."""
        return self._ask(lambda rows: _with_part(rows, part))

    def _ask(self, question: Callable[[sqlite3.Connection], T]) -> T:
        """Answer from the index after it took in what is new; one that is damaged is made again."""
        with self._lock:
            for last in (False, True):
                try:
                    connection = self._open()
                    self._take_in(connection)
                    return question(connection)
                except (sqlite3.Error, _Damage):
                    self._throw_away(keep_file=last)
                    if last:
                        raise
        raise AssertionError

    # Asking ---------------------------------------------------------------------------------------------------------

    def _page(self, rows: sqlite3.Connection, sought: str, at: int, size: int) -> HistoryPage:
        (total,) = rows.execute("SELECT count(*) FROM entries WHERE fault = ''").fetchone()
        matching, where, values = total, "", list[Any]()
        if sought:
            where, values = " AND instr(sought, ?)", [sought]
            (matching,) = rows.execute(
                "SELECT count(*) FROM entries WHERE fault = '' AND instr(sought, ?)", values
            ).fetchone()
        at = min(max(at, 1), max(-(-matching // size), 1))
        listed = rows.execute(_LISTED + where + _ORDER + " LIMIT ? OFFSET ?", [*values, size, (at - 1) * size])
        entries = tuple([_entry_of(row, _trend_of(rows, row)) for row in listed.fetchall()])
        return HistoryPage(entries, matching, total, self._broken, len(self._waiting))

    # Keeping up -----------------------------------------------------------------------------------------------------

    def _take_in(self, rows: sqlite3.Connection) -> None:
        """Read what came or changed, as long as one page may take; forget what is gone."""
        version = self.space.look()
        if self._version == version and not self._waiting:
            return
        files = self.space.files()
        if self._version != version:
            self._compare(rows, files)
            self._version = version
        if not self._waiting:
            return
        begun = time.thread_time()
        with rows:
            rows.execute(_ADD, _row_of(self._waiting.pop()))
            while self._waiting and time.thread_time() - begun < _BUDGET:
                rows.execute(_ADD, _row_of(self._waiting.pop()))
        if time.thread_time() - begun > _LONG:
            give_back_memory()
        self._name_broken(rows, files)

    def _compare(self, rows: sqlite3.Connection, files: Sequence[WorkFile]) -> None:
        known = {
            name: (changed, size) for name, changed, size in rows.execute("SELECT name, changed, size FROM entries")
        }
        results = {one.name: one for one in files if one.kind == "result"}
        gone = known.keys() - results.keys()
        if gone:
            with rows:
                rows.executemany("DELETE FROM entries WHERE name = ?", [(name,) for name in gone])
        new = [one for name, one in results.items() if known.get(name) != one.stamp]
        self._waiting = sorted(new, key=lambda one: one.stamp)  # the latest is read first
        self._name_broken(rows, files)

    def _name_broken(self, rows: sqlite3.Connection, files: Sequence[WorkFile]) -> None:
        found = [BrokenFile(one.name, one.fault) for one in files if one.fault and one.path.suffix == ".json"]
        faults = rows.execute("SELECT name, fault FROM entries WHERE fault > '' ORDER BY name")
        self._broken = (*found, *(BrokenFile(name, read_json(fault)) for name, fault in faults))

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            try:
                self._connection = _connect(str(self.path))
            except sqlite3.Error:
                if not self.path.exists():  # a folder that takes nothing: what is known is known while we run
                    self._connection = _connect(":memory:")
                else:
                    raise
        return self._connection

    def _throw_away(self, *, keep_file: bool) -> None:
        self.close()
        self._version = -1
        for ending in () if keep_file else ("", "-journal"):
            with suppress(OSError):
                self.path.with_name(self.path.name + ending).unlink(missing_ok=True)


def _connect(place: str) -> sqlite3.Connection:
    connection = sqlite3.connect(place, timeout=_PATIENCE, check_same_thread=False)
    try:
        connection.executescript(_TABLES)
        made = f"{_SCHEMA} {version('assay-eval')}"
        known = connection.execute("SELECT version FROM made_by").fetchone()
        if known != (made,):
            with connection:
                connection.execute("DELETE FROM entries")
                connection.execute("INSERT OR REPLACE INTO made_by VALUES (1, ?)", [made])
        _check(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _check(connection: sqlite3.Connection) -> None:
    """Refuse an index of which anything is not as it was written."""
    if connection.execute("PRAGMA integrity_check(1)").fetchone() != ("ok",):
        raise _Damage
    for row in connection.execute(f"SELECT {_COLUMNS} FROM entries"):  # noqa: S608 - fixed names
        if row[-1] != _sum_of(row[:-1]):
            raise _Damage


def _with_part(rows: sqlite3.Connection, part: str) -> tuple[HistoryEntry, ...]:
    found = rows.execute(_LISTED + " AND instr(parts, ?)" + _ORDER, [f" {part} "])
    return tuple(_entry_of(row, ()) for row in found)


def _trend_of(rows: sqlite3.Connection, row: Sequence[Any]) -> tuple[float, ...]:
    """The latest means of results that the one of a row can be compared with, its own last."""
    if not row[8]:
        return ()
    found = rows.execute(_SERIES, (row[8], row[3], row[0], _TREND)).fetchall()
    return tuple([mean for (mean,) in found])[::-1]


@lru_cache(maxsize=_KEPT)
def _entry_of(row: tuple[Any, ...], trend: tuple[float, ...]) -> HistoryEntry:
    """What a row says, which must be as it was written; a row that was read before is known by all that it holds."""
    if row[-1] != _sum_of(row[:-1]):
        raise _Damage
    plain = read_json(row[4]) if '"text":' in row[4] else json.loads(row[4])  # without a message: at once
    return decode({**plain, "trend": trend}, HistoryEntry, place="")


def _row_of(file: WorkFile) -> tuple[Any, ...]:
    """What the history shows of a result, or why it cannot be read."""
    try:
        entry = describe_result(load(str(file.path)).result, file.key, file.name)
    except AssayError as error:
        told = write_json(encode(error.message), indent=None)
        fault: tuple[Any, ...] = (file.name, *file.stamp, "", "", told, "", "", "", None)
        return (*fault, _sum_of(fault))
    sought = f"{entry.name} {' '.join(entry.systems)} {entry.measure}".lower()
    mean = entry.mean.estimate if entry.mean is not None else None
    row = (
        file.name, *file.stamp, entry.date, write_json(encode(entry), indent=None), "", sought,
        f" {' '.join(entry.parts)} ", _series_of(entry) if mean is not None else "", mean,
    )  # fmt: skip
    return (*row, _sum_of(row))


def _series_of(entry: HistoryEntry) -> str:
    """What results have in common whose means can be compared."""
    return write_json([entry.system, entry.measure, entry.judgments], indent=None)


def _sum_of(row: Sequence[Any]) -> str:
    return blake2b(repr(tuple(row)).encode("utf-8", "backslashreplace"), digest_size=8).hexdigest()
